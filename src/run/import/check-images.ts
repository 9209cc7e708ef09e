import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { hideSecrets } from '../../config/edit-file.ts';
import type { ImportJob } from '../../config/job/job.ts';
import { isJsonObject, member } from '../../model/json-object.ts';
import {
  type ImageFindings,
  type ImageProblem,
  MAX_CHECKED_IMAGES,
  type PlannedShard,
} from '../../model/plan.ts';
import { readShard } from '../../plan/plan-file.ts';
import { type ImageChecker, openImageChecker } from '../../remote/remote-kinds.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { CheckedAddresses } from '../../state/state.ts';

/** The dependencies of the check of image addresses. */
interface ImageCheck {
  readonly folder: RunFolder;
  readonly images: NonNullable<ImportJob['images']>;
  readonly checked: CheckedAddresses;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

type ImageVerdict = Awaited<ReturnType<ImageChecker['check']>>;

/** A good address is not requested again for this long; after that the server is asked whether it has changed. */
const REMEMBERED_MS = 30 * 86_400_000;
const AT_ONCE = 32;
const PER_HOST = 4;
const PER_SECOND_AND_HOST = 20;
const SAMPLES = 3;

/** An address to check, with the first record that has it. */
interface Waiting {
  readonly key: string;
  readonly address: string;
  readonly version: string | null;
}

interface Host {
  readonly waiting: Waiting[];
  running: number;
  /** When the next request may start. */
  nextAt: number;
}

/**
 * Looks once at each image address of the records that a plan sends, and remembers the good ones. Changes nothing in the plan's
 * operations. Ends when the time that the job allows is over; the addresses that are left count as unchecked. Rejects with the
 * signal's reason, and with StateError.
 */
export async function checkImages(
  check: ImageCheck,
  shards: readonly PlannedShard[],
): Promise<ImageFindings> {
  const { images, checked, clock, signal } = check;
  const { hosts, addresses, beyond } = await addressesOf(check, shards);
  const broken = new Map<string, ImageProblem>();
  const unknown = new Map<string, ImageProblem>();
  const good: { address: string; version: string | null }[] = [];
  let unchecked = beyond;
  const take = ({ key, address }: Waiting, verdict: ImageVerdict | undefined) => {
    if (verdict === undefined) unchecked++;
    else if (verdict.kind === 'good')
      good.push({ address: addressDigest(address), version: verdict.version });
    else count(verdict.kind === 'broken' ? broken : unknown, verdict.problem, { key, address });
  };
  await using checker = await openImageChecker(images);
  await askAll([...hosts.values()], checker.check, take, signal, images.withinSeconds * 1_000);
  await checked.remember(good, clock());
  return { addresses, broken: byCount(broken), unknown: byCount(unknown), unchecked };
}

/** The addresses that were not found good before, by host. */
async function addressesOf(
  { folder, images: { publish }, checked, clock, signal }: ImageCheck,
  shards: readonly PlannedShard[],
) {
  const seen = new Set<string>();
  const hosts = new Map<string, Host>();
  let addresses = 0;
  let beyond = 0;
  for (const shard of shards) {
    signal.throwIfAborted();
    const found = (await readShard(folder, shard)).flatMap((operation) =>
      operation.kind === 'upsert-product' ? imagesOf(operation.key, operation.body) : [],
    );
    // What this job publishes is there when the products are sent.
    const isPublished = (address: string) => publish !== undefined && address.startsWith(publish.address);
    const fresh = found.filter(
      ({ address }) => !isPublished(address) && !seen.has(address) && seen.add(address),
    );
    const known = await checked.find(fresh.map(({ address }) => addressDigest(address)));
    for (const [index, { key, address }] of fresh.entries()) {
      const before = known[index];
      if (before !== undefined && clock() - before.at < REMEMBERED_MS) continue;
      addresses++;
      if (addresses > MAX_CHECKED_IMAGES) {
        beyond++;
        continue;
      }
      const name = URL.canParse(address) ? new URL(address).host : '';
      const host = hosts.get(name) ?? { waiting: [], running: 0, nextAt: 0 };
      host.waiting.push({ key, address, version: before?.version ?? null });
      hosts.set(name, host);
    }
  }
  return { hosts, addresses, beyond };
}

/** The image addresses of a product, with its key. */
export function imagesOf(
  key: string,
  body: string,
): readonly { readonly key: string; readonly address: string }[] {
  const product: unknown = JSON.parse(body);
  const images = isJsonObject(product) ? member(product, 'images') : undefined;
  return Array.isArray(images)
    ? images.flatMap((address) => (typeof address === 'string' ? [{ key, address }] : []))
    : [];
}

/** 132 bits, as short as the state can keep it. */
export function addressDigest(address: string): string {
  return hash('sha256', address, 'base64url').slice(0, 22);
}

/** Requests every address: few at once of each host, and none any more of a host that asks for fewer requests. */
async function askAll(
  hosts: readonly Host[],
  check: (address: string, version: string | null, signal: AbortSignal) => Promise<ImageVerdict>,
  take: (waiting: Waiting, verdict: ImageVerdict | undefined) => void,
  signal: AbortSignal,
  withinMs: number,
) {
  const timeout = AbortSignal.timeout(withinMs);
  const ending = AbortSignal.any([signal, timeout]);
  const running = new Set<Promise<void>>();
  const askOne = async (host: Host, waiting: Waiting) => {
    try {
      const now = performance.now();
      const startAt = Math.max(now, host.nextAt);
      host.nextAt = startAt + 1_000 / PER_SECOND_AND_HOST;
      await sleep(startAt - now, undefined, { signal: ending });
      const verdict = await check(waiting.address, waiting.version, ending);
      take(waiting, verdict);
      if (verdict.kind === 'busy') for (const other of host.waiting.splice(0)) take(other, verdict);
    } catch (error) {
      if (!ending.aborted) throw error;
      take(waiting, undefined);
    } finally {
      host.running--;
    }
  };
  while (!ending.aborted) {
    const host = hosts
      .filter(({ waiting, running: at }) => waiting.length > 0 && at < PER_HOST)
      .reduce<Host | undefined>(
        (least, one) => (least === undefined || one.running < least.running ? one : least),
        undefined,
      );
    const waiting = running.size < AT_ONCE ? host?.waiting.shift() : undefined;
    if (host !== undefined && waiting !== undefined) {
      host.running++;
      const asked: Promise<void> = askOne(host, waiting).finally(() => running.delete(asked));
      running.add(asked);
    } else if (running.size > 0) await Promise.race(running);
    else return;
  }
  await Promise.all(running);
  signal.throwIfAborted();
  for (const waiting of hosts.flatMap((host) => host.waiting)) take(waiting, undefined);
}

function count(
  problems: Map<string, ImageProblem>,
  problem: string,
  { key, address }: ImageProblem['samples'][number],
) {
  const { addresses, samples } = problems.get(problem) ?? { addresses: 0, samples: [] };
  problems.set(problem, {
    problem,
    addresses: addresses + 1,
    samples: samples.length < SAMPLES ? [...samples, { key, address: hideSecrets(address) }] : samples,
  });
}

function byCount(problems: ReadonlyMap<string, ImageProblem>): readonly ImageProblem[] {
  return [...problems.values()].sort((a, b) => b.addresses - a.addresses);
}
