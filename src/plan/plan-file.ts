import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { type GuardHit, guardHitSchema } from '../model/guard.ts';
import { isJsonObject, type JsonObject, type Stored } from '../model/json-object.ts';
import type { Operation } from '../model/operation.ts';
import {
  type Plan,
  type PlannedRejection,
  planSchema,
  rejectionSchema,
  type SafetyVerdict,
} from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import type { RowSpan } from '../model/row.ts';
import type { SafetyFigures, SafetyLimits } from '../model/safety-limits.ts';
import { StateError } from '../model/storeferry-error.ts';
import { type RunFolder, readLines, sealedFile, sha256Of, sha256OfFile } from '../state/artifacts.ts';
import { IN_DOUBT, type Ledger } from '../state/state.ts';
import { valueChanges } from './changes/field-changes.ts';
import { judgeLimit } from './judge-safety.ts';
import {
  parsedLine,
  parseShardLine,
  readShard,
  SHARD_FILE,
  shardLine,
  type UnplacedOperation,
} from './shard-writer.ts';

// What differs between two versions of a record, also for the history.
export { fieldChanges, type VariantPairs, variantName } from './changes/field-changes.ts';
export { readShard, verifyShard } from './shard-writer.ts';

/** The blocks of the source, in the folder of its run: words of 32 bits, as `encodeBlock` makes them. */
export const BLOCKS_FILE = 'blocks.bin';

/** The file of the plan in the folder of its run. */
export const PLAN_FILE = 'plan.json';

/**
 * Writes the plan as the last of its files, so that its presence shows that it is complete; and reads it, undefined if it was not
 * finished. StateError if it cannot be read or was changed.
 */
export const { write: writePlan, find: readPlan } = sealedFile(
  PLAN_FILE,
  planSchema,
  'is not a plan of this version',
  'The file was damaged or edited, or another version wrote it. Run the job again: it makes a new plan.',
);

/**
 * Removes the files of an earlier attempt. The plan itself is removed first, because its shards must exist as long as
 * it does.
 */
export async function removePlanFiles(folder: RunFolder): Promise<void> {
  await folder.remove([PLAN_FILE]);
  const shards = (await folder.list()).filter((name) => SHARD_FILE.test(name));
  await folder.remove([...shards, REJECTIONS_FILE, LIKENESSES_FILE, HELD_FILE, REPLACED_FILE, BLOCKS_FILE]);
}

/**
 * Whether the plan and the store together have rejected too many records; null if not, or if the limit is off. Call
 * after a rejection.
 */
export function judgeRejectsWhileApplying(
  { maxRejects }: Pick<SafetyLimits, 'maxRejects'>,
  { resource, rejected, records }: Pick<SafetyFigures, 'resource' | 'rejected' | 'records'>,
  run: string,
): SafetyVerdict | null {
  const measured = { figure: rejected, base: records };
  const verdict = judgeLimit({ name: 'maxRejects', setting: maxRejects, measured, resource, run });
  return verdict?.exceeded === true ? verdict : null;
}

/** Every rejection of a plan in batches, in order; StateError if the file is missing or damaged. */
export function readRejections(folder: RunFolder): AsyncGenerator<readonly PlannedRejection[]> {
  return readParsed(folder, REJECTIONS_FILE, parseRejectionLine);
}

const leftOutSchema = z.object({
  key: z.string(),
  kind: z.enum(['rejected', 'skipped']),
  likeness: z.record(z.string(), z.unknown()),
});

/** A product that a mirror leaves out, with what identifies it under an earlier url. */
export type LeftOutProduct = Stored<typeof leftOutSchema>;

/** Why a product is left out. */
export type LeftOutKind = LeftOutProduct['kind'];

/** While a mirror is planned: the products that it leaves out, as lines of JSON. */
export const LIKENESSES_FILE = 'likenesses.jsonl';

/** All of them, in batches; StateError if the file is damaged. */
export async function* readLeftOut(folder: RunFolder): AsyncGenerator<readonly LeftOutProduct[]> {
  if (await folder.exists(LIKENESSES_FILE))
    yield* readParsed(folder, LIKENESSES_FILE, (line) => leftOutSchema.parse(JSON.parse(line)));
}

/** Every held record of a plan in batches, in order; StateError if the file is missing or damaged. */
export async function* readHeld(
  folder: RunFolder,
  { counts }: { readonly counts: Pick<Plan['counts'], 'held'> },
): AsyncGenerator<readonly HeldRecord[]> {
  if (counts.held.records === 0) return;
  yield* readParsed(folder, HELD_FILE, parseHeldLine);
}

/** What somebody wrote in the store into fields that the run sent for the first time. */
export const REPLACED_FILE = 'replaced.jsonl';
const replacedSchema = z.object({ key: z.string(), values: z.record(z.string(), z.unknown()) });

/** Those values by key. */
export async function readReplaced(folder: RunFolder): Promise<ReadonlyMap<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  if (!(await folder.exists(REPLACED_FILE))) return found;
  for await (const batch of readParsed(folder, REPLACED_FILE, (line) =>
    replacedSchema.parse(JSON.parse(line)),
  ))
    for (const { key, values } of batch) found.set(key, values);
  return found;
}

/** StateError if the file of rejections differs by a byte from what the plan has written. */
export async function verifyRejections(folder: RunFolder, { rejectionsSha256 }: Plan): Promise<void> {
  await verifyFile(folder, REJECTIONS_FILE, rejectionsSha256);
}

/** The same for the file of held records. */
export async function verifyHeld(folder: RunFolder, { heldSha256 }: Plan): Promise<void> {
  await verifyFile(folder, HELD_FILE, heldSha256);
}

/**
 * Replaces the file of held records; the plan vouches for the new one if it did for the old. The plan comes first: after a kill between,
 * the records that are to go are still found, and a repeat writes the file that the plan expects.
 */
export async function replaceHeld(folder: RunFolder, before: Uint8Array, after: Uint8Array): Promise<void> {
  const plan = await readPlan(folder).catch(() => undefined);
  if (plan?.heldSha256 === sha256Of(before))
    await writePlan(folder, { ...plan, heldSha256: sha256Of(after) });
  await folder.write(HELD_FILE, [after]);
}

async function verifyFile(folder: RunFolder, name: string, sha256: string | undefined) {
  if ((await sha256OfFile(folder, name)) === sha256) return;
  throw new StateError(`${folder.location}/${name} was changed after planning.`, {
    hint: 'The file was damaged or edited. Run the job again: it makes a new plan.',
  });
}

/** The values of an artifact of lines, in batches; StateError with the number of a line that `parse` cannot read. */
export async function* readParsed<Value>(
  folder: RunFolder,
  name: string,
  parse: (line: string, index: number) => Value,
): AsyncGenerator<readonly Value[]> {
  let index = 0;
  for await (const lines of readLines(folder, name)) {
    const first = index;
    index += lines.length;
    yield lines.map((line, at) => parsedLine(folder, name, first + at, () => parse(line, first + at)));
  }
}

/** What a plan does with a record of the source. */
type PlannedStanding = 'new' | 'changed' | 'resent' | 'unchanged' | 'rejected' | 'skipped' | 'held';

/** What a plan has for a key, beside what the store acknowledged for it. */
export interface PlannedRecord {
  /** Undefined where the plan sends nothing for the key and does not reject it: it is unchanged, or skipped. */
  readonly standing: Exclude<PlannedStanding, 'unchanged' | 'skipped'> | undefined;
  /** The request body, where one is sent. */
  readonly body: object | null;
  /** Why the record is rejected. */
  readonly reason: Reason | null;
  /** How the body differs from the acknowledged one; nothing where the store never acknowledged one. */
  readonly changes: ReturnType<typeof valueChanges>;
  /** A later request may have arrived: what the store holds is not known. */
  readonly inDoubt: boolean;
}

/**
 * Looks a key up in the files of a plan and in the ledger. Reads one shard at a time. `mapped`: the body that the mapping
 * makes, to be compared where the plan sends none. `spans`: its rows, by which a rejection without a key is found.
 */
export async function plannedRecord(
  folder: RunFolder,
  plan: Plan,
  ledger: Ledger,
  {
    key,
    mapped,
    spans,
  }: { readonly key: string; readonly mapped: object | null; readonly spans: readonly RowSpan[] },
): Promise<PlannedRecord> {
  const stateOf = async (one: string) => {
    const [[mark], [stored]] = await Promise.all([ledger.marks([one]), ledger.bodies([one])]);
    const changesOf = (body: object | null) =>
      body === null || stored === undefined ? { changed: [], removed: [] } : valueChanges(stored, body);
    return { mark, changesOf };
  };
  const { mark, changesOf } = await stateOf(key);
  const found = {
    changes: changesOf(mapped),
    inDoubt: mark?.fingerprint === IN_DOUBT,
    body: null,
    reason: null,
    standing: undefined,
  };
  for (const shard of plan.shards.filter(({ kind }) => kind !== 'deletes')) {
    const sent = (await readShard(folder, shard)).filter((one) => one.kind !== 'delete-product');
    const operation = sent.find((one) => one.key === key);
    if (operation === undefined) continue;
    const body = parseBody(operation);
    const renames = operation.kind === 'upsert-product' ? operation.renames : undefined;
    const before = renames === undefined ? { mark, changesOf } : await stateOf(renames);
    const same = before.mark?.fingerprint === operation.fingerprint;
    return {
      ...found,
      body,
      changes: before.changesOf(body),
      standing: before.mark === undefined ? 'new' : same ? 'resent' : 'changed',
    };
  }
  for await (const batch of readHeld(folder, plan)) {
    const operation = batch.find(({ operation: one }) => one.key === key)?.operation;
    if (operation === undefined || operation.kind === 'delete-product') continue;
    const body = parseBody(operation);
    return { ...found, body, changes: changesOf(body), standing: 'held' };
  }
  for await (const batch of readRejections(folder)) {
    const rejected = batch.find(
      (one) =>
        one.key === key ||
        (one.key === null && one.spans.some((span) => spans.some((own) => isWithin(own, span)))),
    );
    if (rejected !== undefined) return { ...found, reason: rejected.reason, standing: 'rejected' };
  }
  return found;
}

function parseBody({ body }: { readonly body: string }) {
  const parsed: unknown = JSON.parse(body);
  return isJsonObject(parsed) ? parsed : null;
}

function isWithin({ file, from, to }: RowSpan, whole: RowSpan) {
  return file === whole.file && whole.from <= from && to <= whole.to;
}

/** The file of a plan's rejections in the folder of its run. */
export const REJECTIONS_FILE = 'rejections.jsonl';

/** Streams lines or bytes to a file of a plan immediately, because every row of a source may be rejected, or held. */
export class LineWriter {
  readonly #lines = new PassThrough();
  /** Taken since the last `waitForWrites()`: a write for each of them takes longer than to make it. */
  #taken: Uint8Array[] = [];
  readonly #written: Promise<number>;
  readonly #hash = createHash('sha256');

  constructor(folder: RunFolder, name: string) {
    this.#written = folder.write(name, this.#lines);
    this.#written.catch((error: unknown) => this.#lines.destroy(error instanceof Error ? error : undefined));
    // `waitForWrites()` and `finish()` reject with the error of the folder.
    this.#lines.on('error', () => {});
  }

  /** Takes a line with its line break, or bytes. */
  add(line: string | Uint8Array): void {
    this.#taken.push(typeof line === 'string' ? Buffer.from(line) : line);
  }

  #write(): void {
    if (this.#taken.length === 0) return;
    const bytes = Buffer.concat(this.#taken);
    this.#taken = [];
    this.#hash.update(bytes);
    this.#lines.write(bytes);
  }

  /** Waits while more is in memory than the disk has accepted. */
  async waitForWrites(): Promise<void> {
    this.#write();
    if (this.#lines.writableNeedDrain) await Promise.race([once(this.#lines, 'drain'), this.#written]);
  }

  /** Returns the SHA-256 of the file, in hexadecimal, when it is complete on disk. */
  async finish(): Promise<string> {
    this.#write();
    this.#lines.end();
    await this.#written;
    return this.#hash.digest('hex');
  }

  /** Leaves no file. */
  async abandon(): Promise<void> {
    this.#lines.destroy(new Error('the plan was given up'));
    await this.#written.catch(() => {});
  }
}

/** A rejection as a line of JSON. */
export function rejectionLine(rejection: PlannedRejection): string {
  return `${JSON.stringify(rejection)}\n`;
}

/** The rejection of a line. Throws if the line was not made by `rejectionLine`. */
function parseRejectionLine(line: string): PlannedRejection {
  return rejectionSchema.parse(JSON.parse(line));
}

/** The file of held records, in the folder of their run. It stays when the run closes. */
export const HELD_FILE = 'held.jsonl';

/** A held record: a guard hit it, somebody edited the same field in the store, or it may be another product under a new url. */
export interface HeldRecord<Of = Operation> {
  /** What would be sent. */
  readonly operation: Of;
  /** Fingerprint of the body that the store had acknowledged then; null if there was none. */
  readonly before: string | null;
  /** Why it is held: values that guards hit, fields edited in the store, or the urls of products that it may be. */
  readonly hits: readonly GuardHit[];
}

const metaSchema = z.object({ before: z.string().nullable(), hits: z.array(guardHitSchema) });

/** A held record as a line: what is known of it as JSON, a tab, and the line of its operation. */
export function heldLine({ operation, before, hits }: HeldRecord<UnplacedOperation>): string {
  return `${JSON.stringify({ before, hits })}\t${shardLine(operation)}`;
}

/** The held record of a line (without its line break). Throws if the line was not made by `heldLine`. */
function parseHeldLine(line: string, index: number): HeldRecord {
  const tab = line.indexOf('\t');
  const meta = metaSchema.parse(JSON.parse(line.slice(0, tab)));
  return { ...meta, operation: parseShardLine(line.slice(tab + 1), index) };
}
