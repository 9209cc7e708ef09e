import type { StoreConfig } from '../../config/store-config.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import type { StoreProbe } from '../../storefront/storefront.ts';
import { errorFinding, type Facts, type OnlineCheck, okFinding, warningFinding } from '../run-context.ts';

/** The stores that have answered, by their answer. */
export type AnsweredStores = Map<string, StoreConfig>;

/** Whether each store can be reached, accepts the key and has the time of this machine, tested by one read-only request. */
export const storeCheck: OnlineCheck = ({ stores, unsetOf, version }) => {
  // Shared by all stores: two stores with equal answers may be the same site.
  const answered: AnsweredStores = new Map();
  return stores.map((store) => {
    const { name, baseUrl, apiKey } = store;
    const unset = new Set(unsetOf(name));
    return {
      subject: `store ${name}`,
      async look(signal) {
        if (unset.size > 0) {
          const message = `${[...unset].join(' and ')} not set`;
          return [{ verdict: 'not-checked', message, hint: 'Set it in .env or in the environment.' }];
        }
        // Loads undici, which only this check needs.
        const { probeStore } = await import('../../storefront/storefront.ts');
        const probe = await probeStore({ baseUrl, apiKey, userAgent: `storeferry/${version}`, signal });
        return [...judgeStore(probe, store), ...judgeLikeness(probe, store, answered)];
      },
    };
  });
};

/** A warning if another store has given the same answer; remembers this one's answer. */
export function judgeLikeness(probe: StoreProbe, store: StoreConfig, answered: AnsweredStores): Facts[] {
  if (probe.kind !== 'answers' || probe.listsDigest === null) return [];
  const other = answered.get(probe.listsDigest);
  if (other === undefined) {
    answered.set(probe.listsDigest, store);
    return [];
  }
  // Entries of one store may answer alike; different ids declare two stores.
  const saidToDiffer = store.id !== undefined && other.id !== undefined;
  if (saidToDiffer || storeIdentity(store) === storeIdentity(other)) return [];
  return [
    warningFinding(
      `${store.name} and ${other.name} answer with the same subscriber lists: they may be one site with two addresses`,
      'If they are one site, give both the same `id` in stores.yaml; otherwise two runs may write to it at once and create products twice. If they are two sites, give each its own `id`.',
    ),
  ];
}

/** With a larger difference between the clocks, schedules and dated prices begin at another time than that of the store. */
const CLOCKS_DIFFER_MS = 60_000;
const SLOW_MS = 2_000;

/** The meaning of a probe for the person who configured the store. */
export function judgeStore(
  probe: StoreProbe,
  { name, baseUrl }: Pick<StoreConfig, 'name' | 'baseUrl'>,
): Facts[] {
  const address = `baseUrl of ${name} in stores.yaml`;
  const error = (message: string, hint: string) => [errorFinding(message, hint)];
  switch (probe.kind) {
    case 'answers': {
      const { ms, lists, aheadMs } = probe;
      const answered = `${baseUrl} answers in ${ms} ms and takes the key (${lists} subscriber ${lists === 1 ? 'list' : 'lists'})`;
      const findings: Facts[] = [
        ms < SLOW_MS
          ? okFinding(answered)
          : warningFinding(answered, 'The store is slow: imports will take long.'),
      ];
      if (aheadMs !== null && Math.abs(aheadMs) > CLOCKS_DIFFER_MS) {
        findings.push(
          warningFinding(
            `its clock and that of this machine differ by ${Math.round(Math.abs(aheadMs) / 1000)} seconds`,
            'Set the clock of this machine (NTP): schedules and dated prices go by it.',
          ),
        );
      }
      return findings;
    }
    case 'wrong-key': {
      const said = probe.message === '' ? '' : `: ${probe.message}`;
      return error(
        `${baseUrl} answers, and refuses the key (${probe.status}${said})`,
        `Correct the variable of apiKey of ${name} in .env; perhaps the key was revoked, or belongs to another site.`,
      );
    }
    case 'not-the-api':
      return error(
        `${baseUrl} answers ${probe.status} with ${probe.what}, which is not the API`,
        `Correct ${address}: the address of the site itself, without /api/site, with its path if it has one.`,
      );
    case 'redirect':
      return error(
        `${baseUrl} redirects (${probe.status}${probe.to === '' ? '' : ` to ${probe.to}`}); redirects are not followed, because they would pass on the key`,
        `Set ${address} to ${probe.base ?? 'the address that it redirects to'}, if that is your store.`,
      );
    case 'failing': {
      const said = probe.message === '' ? '' : `: ${probe.message}`;
      return error(
        `${baseUrl} answers ${probe.status}${said}`,
        probe.status === 429
          ? 'The store limits requests: try again later.'
          : 'The store has a problem: try again later.',
      );
    }
    case 'unreachable':
      return error(...unreachable(probe.code, baseUrl, address));
    default:
      return probe satisfies never;
  }
}

function unreachable(code: string, baseUrl: string, address: string): [message: string, hint: string] {
  const { hostname, host } = new URL(baseUrl);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return [
      `the name ${hostname} cannot be resolved (${code})`,
      `Check the spelling in ${address}, and the name server of this machine.`,
    ];
  }
  if (code === 'ECONNREFUSED') {
    return [
      `no server listens at ${host}`,
      `Check ${address}, and that the store runs (the sandbox: storeferry sandbox).`,
    ];
  }
  if (/CERT|SIGNATURE|ISSUER|SELF_SIGNED/.test(code)) {
    const why =
      code === 'CERT_HAS_EXPIRED'
        ? 'its certificate has expired'
        : code === 'ERR_TLS_CERT_ALTNAME_INVALID'
          ? 'its certificate is for another name'
          : 'this machine does not trust the authority that signed its certificate';
    return [
      `${host} cannot be trusted: ${why} (${code})`,
      'Renew the certificate. For a private CA set NODE_EXTRA_CA_CERTS to its file.',
    ];
  }
  if (/SSL|TLS|EPROTO|HPE_/.test(code)) {
    return [
      `${host} does not use the protocol of ${baseUrl.split(':')[0]} (${code})`,
      `Check whether ${address} must begin with http or https.`,
    ];
  }
  if (/TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(code)) {
    return [
      `${host} cannot be reached (${code})`,
      'Check firewalls, proxies and VPNs between this machine and the store.',
    ];
  }
  return [`the connection to ${host} failed (${code})`, `Check ${address}, and that the store runs.`];
}
