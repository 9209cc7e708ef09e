import type { ImportJob } from '../../config/job/job.ts';
import type { StoreConfig } from '../../config/store-config.ts';
import { isJsonObject, type JsonObject, member } from '../../model/json-object.ts';
import { SHARD_SIZE } from '../../model/operation.ts';
import type { Run } from '../../model/run.ts';
import { importTarget, type Ledger, type Lock } from '../../state/state.ts';
import { changedFields, type Storefront } from '../../storefront/storefront.ts';
import type { RunContext } from '../run-context.ts';
import { type ShardOperation, sendOperations } from '../send-operations.ts';
import { isComparable } from './sample-ledger.ts';
import type { VerificationTally } from './verification-tally.ts';

/** A verification on its way to the store. */
export interface Resending {
  readonly run: Run;
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The lock that lets this process write: nothing is sent or recorded once it is lost. */
  readonly lock: Lock;
  readonly keys: readonly string[];
  /** Counts the answers that are recorded, also when sending ends early. */
  readonly tally: VerificationTally;
}

/** Sends the acknowledged bodies of the keys again, as a run does: same limits, same ledger, same stops. */
export async function resendSample(context: RunContext, resending: Resending): Promise<void> {
  const { run, job, store, lock, keys, tally } = resending;
  const ledger = context.state.ledger(importTarget(run));
  const altered = new Map<string, readonly string[]>();
  const storefront = await context.openStorefront(store);
  await sendOperations(context, {
    ...{ run, store, lock },
    operations: sampledOperations(ledger, job, keys),
    firstShard: 1,
    storefront: listening(storefront, (key, fields) => altered.set(key, fields)),
    onRecorded(results) {
      for (const { operation, outcome } of results) {
        tally.add(operation, outcome, altered.get(operation.key) ?? []);
        altered.delete(operation.key);
      }
    },
    onProgress: ({ applied, rejected }) =>
      context.onEvent({
        type: 'progress',
        step: 'apply',
        done: applied + rejected,
        total: keys.length,
        unit: 'requests',
        records: { applied, rejected },
      }),
  });
}

/** The operations that say again what the ledger holds, so that recording them changes nothing but a changed id. */
async function* sampledOperations(
  ledger: Ledger,
  { import: resource }: ImportJob,
  sampled: readonly string[],
): AsyncGenerator<readonly ShardOperation[]> {
  for (let from = 0, shard = 1; from < sampled.length; from += SHARD_SIZE, shard++) {
    const keys = sampled.slice(from, from + SHARD_SIZE);
    const [marks, bodies] = await Promise.all([ledger.marks(keys), ledger.bodies(keys)]);
    const operations: ShardOperation[] = [];
    for (const [index, key] of keys.entries()) {
      const mark = marks[index];
      const body = bodies[index];
      if (!isComparable(mark, resource) || body === undefined) continue;
      const { fingerprint, memo } = mark;
      const operation = { index, key, rows: 0, spans: [], body, fingerprint, memo, shard };
      if (resource === 'contacts') operations.push({ kind: 'update-contact', ...operation });
      else operations.push({ kind: 'upsert-product', ...operation, knownId: mark.id });
    }
    yield operations;
  }
}

/** The storefront, which reports the fields in which the latest answer for a key differs from what was sent. */
function listening(
  storefront: Storefront,
  onAnswer: (key: string, altered: readonly string[]) => void,
): Pick<Storefront, 'upsertProduct' | 'updateContact' | 'deleteProduct' | 'subscriberLists'> {
  return {
    upsertProduct: (product, options) =>
      storefront.upsertProduct(product, {
        ...options,
        onAnswer: (answer) => onAnswer(product.url, alteredFields(product.body, answer)),
      }),
    updateContact: (id, body, options) =>
      storefront.updateContact(id, body, {
        ...options,
        onAnswer: (answer) => onAnswer(id, alteredFields(body, answer)),
      }),
    deleteProduct: (id, options) => storefront.deleteProduct(id, options),
    subscriberLists: (options) => storefront.subscriberLists(options),
  };
}

/** The fields of a sent body that the parsed answer repeats with another value. */
export function alteredFields(body: string, answer: unknown): string[] {
  const sent: unknown = JSON.parse(body);
  if (!isJsonObject(sent) || !isJsonObject(answer)) return [];
  return changedFields(sent, { ...answer, ...arranged(sent, answer) });
}

/** Lists of a contact in the order in which they were sent: a store may sort them, and has more properties than were sent. */
function arranged(sent: JsonObject, answer: JsonObject): JsonObject {
  const lists = ['tags', 'subscriberLists'].flatMap((name) => {
    const [before, after] = [member(sent, name), member(answer, name)];
    if (!Array.isArray(before) || !Array.isArray(after)) return [];
    const places = new Map(before.map((value, index) => [String(value), index]));
    const placeOf = (value: unknown) => places.get(String(value)) ?? before.length;
    return [[name, after.toSorted((one, other) => placeOf(one) - placeOf(other))] as const];
  });
  const [before, after] = [member(sent, 'properties'), member(answer, 'properties')];
  if (!Array.isArray(before) || !Array.isArray(after)) return Object.fromEntries(lists);
  const held = new Map(after.filter(isJsonObject).map((property) => [member(property, 'name'), property]));
  const properties = before.map((property) =>
    isJsonObject(property) ? held.get(member(property, 'name')) : undefined,
  );
  return { ...Object.fromEntries(lists), properties };
}
