import { z } from 'zod';
import type { ImportJob } from '../../config/job/job.ts';
import type { StoreConfig } from '../../config/store-config.ts';
import type { Drift, Run } from '../../model/run.ts';
import { StateError, UsageError } from '../../model/storeferry-error.ts';
import { findJson, type RunFolder } from '../../state/artifacts.ts';
import { importTarget, type Lock } from '../../state/state.ts';
import { readProbe } from '../kept-probe.ts';
import type { RunContext } from '../run-context.ts';
import { sampleLedger } from '../verify/sample-ledger.ts';

/** Which records of a job are compared. */
export interface DriftSelection {
  /** At most this many, drawn at random; null: all. */
  readonly sample: number | null;
  /** Only the keys of these parts. */
  readonly slice?: Drift['slice'];
}

/** A comparison of the store with the ledger, for a run. */
export interface DriftSearch extends DriftSelection {
  readonly run: Run;
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The lock of the target, which allows writing. */
  readonly lock: Lock;
  /** In [0, 1), like Math.random. */
  readonly random: () => number;
}

/** `reading`: by lists. `touching`: by updates that change nothing and are answered with the whole record. */
type DriftMethod = Drift['by'];

/**
 * How the records of a store can be compared, by what its last probe has learned.
 *
 * @throws UsageError where there is no way, or none is known.
 */
export async function comparisonMethod(
  { artifacts }: RunContext,
  store: StoreConfig,
  { import: resource, name }: ImportJob,
): Promise<DriftMethod> {
  const probe = (await readProbe(artifacts, store))?.properties;
  const isProduct = resource === 'products';
  const [reads, answers] = isProduct
    ? [probe?.readsProducts, probe?.partialProductAnswersWhole === true && probe.absentFieldsStay === true]
    : [probe?.readsContacts, probe?.emptyContactPutAnswersWhole];
  if (reads === true) return 'reading';
  if (answers === true || answers === 'email') return 'touching';
  if (probe === undefined) {
    throw new UsageError(`Nothing is known of how the ${resource} of ${store.name} can be seen.`, {
      hint: `Learn it first: storeferry probe ${store.name}`,
    });
  }
  throw new UsageError(
    `The ${resource} of ${store.name} cannot be seen: its last probe found that it neither lists them nor answers an update that changes nothing with the whole ${isProduct ? 'product' : 'contact'}.`,
    {
      hint: `To probe it again: storeferry probe ${store.name}${isProduct ? '' : ' --contact ID'}. What is lost can be estimated: storeferry verify ${name}`,
    },
  );
}

const SELECTION_FILE = 'drift-keys.json';
const selectionSchema = z.object({
  by: z.enum(['reading', 'touching']),
  sample: z.int().nullable(),
  slice: z.string().default(''),
  known: z.int(),
  notComparable: z.int(),
  keys: z.array(z.string()),
});
export type SelectedKeys = z.infer<typeof selectionSchema>;

/** The keys that a run has chosen to compare; undefined before that, and for a file of another version. */
export async function readSelection(folder: RunFolder): Promise<SelectedKeys | undefined> {
  return await findJson(folder, SELECTION_FILE, selectionSchema);
}

/** Chooses the keys to compare, and stores them for the case that the run is interrupted. */
export async function selectKeys(context: RunContext, search: DriftSearch): Promise<SelectedKeys> {
  const { run, job, store, sample, slice, random } = search;
  const by = await comparisonMethod(context, store, job);
  const { keys, known, notComparable } = await sampleLedger(context.state.ledger(importTarget(run)), {
    job: job.name,
    resource: job.import,
    size: sample ?? Number.MAX_SAFE_INTEGER,
    includes: slice && ((key) => isInSlice(key, slice)),
    random,
    signal: context.signal,
  });
  if (keys.length === 0 && slice === undefined) {
    throw new StateError(
      notComparable > 0
        ? `Nothing of the job ${job.name} can be compared: its records are in doubt or have no id.`
        : `The ledger has no acknowledged record of the job ${job.name}.`,
      { hint: `Run it first: storeferry run ${job.name}` },
    );
  }
  const selected = { by, sample, slice: sliceName(slice), known, notComparable, keys: [...keys] };
  await context.artifacts.run(run.id).write(SELECTION_FILE, [JSON.stringify(selected)]);
  return selected;
}

/** The name of these parts of a job's records, by which an interrupted comparison is found again. */
export function sliceName(slice: DriftSelection['slice']): string {
  return slice === undefined ? '' : `${slice.number}+${slice.parts}/${slice.of}`;
}

/**
 * Whether a key belongs to these parts. It depends on the key alone, so that products which come and go move no other one to a part
 * that was compared already.
 */
export function isInSlice(key: string, { number, of, parts }: NonNullable<DriftSelection['slice']>): boolean {
  let sum = 0;
  for (let at = 0; at < key.length; at += 1) sum = (Math.imul(sum, 31) + key.charCodeAt(at)) >>> 0;
  const mixed = Math.imul(sum ^ (sum >>> 15), 0x85ebca6b) >>> 0;
  const part = Math.floor((((mixed ^ (mixed >>> 13)) >>> 0) * of) / 2 ** 32);
  return (part - number + of) % of < parts;
}
