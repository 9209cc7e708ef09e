import type { StoreConfig } from '../../config/store-config.ts';
import { storeIdentity } from '../../model/store-identity.ts';
import type { StoreProbe } from '../../storefront/storefront.ts';
import type { Finding, OnlineCheck } from './finding.ts';

/** The stores that have answered, by what they answered. */
export type AnsweredStores = Map<string, StoreConfig>;

/**
 * Whether a store is reached at its address and takes the key, by one read-only request; `unset` variables prevent it.
 * `answered` is shared by the checks of all stores: one that answers like another may be the same site.
 */
export function storeCheck(
  store: StoreConfig,
  unset: readonly string[],
  version: string,
  answered: AnsweredStores,
): OnlineCheck {
  const { name, baseUrl, apiKey } = store;
  const userAgent = `storeferry/${version}`;
  return {
    subject: `store ${name}`,
    async look(signal) {
      if (unset.length > 0) {
        const message = `${[...new Set(unset)].join(' and ')} not set`;
        return [{ verdict: 'not-checked', message, hint: 'Set it in .env or in the environment.' }];
      }
      // Loads undici, which only a check that asks the store needs.
      const { probeStore } = await import('../../storefront/storefront.ts');
      const probe = await probeStore({ baseUrl, apiKey, userAgent, signal });
      return [...judgeStore(probe, store), ...judgeLikeness(probe, store, answered)];
    },
  };
}

/** Whether another store has answered alike; writes down what this one answered. */
export function judgeLikeness(
  probe: StoreProbe,
  store: StoreConfig,
  answered: AnsweredStores,
): Omit<Finding, 'subject'>[] {
  if (probe.kind !== 'answers' || probe.listsDigest === null) return [];
  const other = answered.get(probe.listsDigest);
  if (other === undefined) {
    answered.set(probe.listsDigest, store);
    return [];
  }
  // What stores.yaml says is one store may answer alike, and with an id for each it says that they are two.
  const saidToDiffer = store.id !== undefined && other.id !== undefined;
  if (saidToDiffer || storeIdentity(store) === storeIdentity(other)) return [];
  return [
    {
      verdict: 'warning',
      message: `${store.name} and ${other.name} answer with the same subscriber lists: they may be one site with two addresses`,
      hint: 'If so, give both the same id: in stores.yaml, or two runs may write to it at once and make products twice; else an id: of its own to each.',
    },
  ];
}

/** A clock that far off makes dates of the store and of this machine tell different stories. */
const CLOCKS_DIFFER_MS = 60_000;
const SLOW_MS = 2_000;

/** What a probe means for whoever set the store up. */
export function judgeStore(
  probe: StoreProbe,
  { name, baseUrl }: Pick<StoreConfig, 'name' | 'baseUrl'>,
): Omit<Finding, 'subject'>[] {
  const address = `baseUrl of ${name} in stores.yaml`;
  const error = (message: string, hint: string) => [{ verdict: 'error', message, hint } as const];
  switch (probe.kind) {
    case 'answers': {
      const { ms, lists, aheadMs } = probe;
      const answered = `${baseUrl} answers in ${ms} ms and takes the key (${lists} subscriber ${lists === 1 ? 'list' : 'lists'})`;
      const findings: Omit<Finding, 'subject'>[] = [
        ms < SLOW_MS
          ? { verdict: 'ok', message: answered }
          : { verdict: 'warning', message: answered, hint: 'That is slow: imports will take long.' },
      ];
      if (aheadMs !== null && Math.abs(aheadMs) > CLOCKS_DIFFER_MS) {
        findings.push({
          verdict: 'warning',
          message: `its clock and that of this machine differ by ${Math.round(Math.abs(aheadMs) / 1000)} seconds`,
          hint: 'Set the clock of this machine (NTP): schedules and dated prices go by it.',
        });
      }
      return findings;
    }
    case 'wrong-key': {
      const said = probe.message === '' ? '' : `: ${probe.message}`;
      return error(
        `${baseUrl} answers, and refuses the key (${probe.status}${said})`,
        `Correct the variable of apiKey of ${name} in .env; perhaps the key was revoked, or is that of another site.`,
      );
    }
    case 'not-the-api':
      return error(
        `${baseUrl} answers ${probe.status} with ${probe.what}, which is not the API`,
        `Correct ${address}: the address of the site itself, without /api/site, with its path if it has one.`,
      );
    case 'redirect':
      return error(
        `${baseUrl} sends elsewhere (${probe.status}${probe.to === '' ? '' : ` to ${probe.to}`}); redirects are not followed, since the key would go with them`,
        `Set ${address} to the address that answers itself.`,
      );
    case 'unwell': {
      const said = probe.message === '' ? '' : `: ${probe.message}`;
      return error(
        `${baseUrl} answers ${probe.status}${said}`,
        probe.status === 429
          ? 'It takes no more requests just now: try again in a while.'
          : 'The store has trouble of its own: try again later.',
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
      `Is it spelt right in ${address}? Does this machine reach its name server?`,
    ];
  }
  if (code === 'ECONNREFUSED') {
    return [
      `nothing listens at ${host}`,
      `Check ${address}, and that the store runs (the sandbox: storeferry sandbox).`,
    ];
  }
  if (/CERT|SIGNATURE|ISSUER|SELF_SIGNED/.test(code)) {
    const why =
      code === 'CERT_HAS_EXPIRED'
        ? 'its certificate has expired'
        : code === 'ERR_TLS_CERT_ALTNAME_INVALID'
          ? 'its certificate is for another name'
          : 'its certificate is signed by nobody this machine knows';
    return [
      `${host} cannot be trusted: ${why} (${code})`,
      'Have the certificate mended; for an authority of your own, name its file in NODE_EXTRA_CA_CERTS.',
    ];
  }
  if (/SSL|TLS|EPROTO|HPE_/.test(code)) {
    return [
      `${host} does not speak the protocol of ${baseUrl.split(':')[0]} (${code})`,
      `Is it http where ${address} says https, or the other way round?`,
    ];
  }
  if (/TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(code)) {
    return [`${host} cannot be reached (${code})`, 'Is a firewall, a proxy or a VPN in between?'];
  }
  return [`the connection to ${host} failed (${code})`, `Check ${address}, and that the store runs.`];
}
