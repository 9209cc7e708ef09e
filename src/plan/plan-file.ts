import { isJsonObject } from '../model/json-object.ts';
import type { Operation } from '../model/operation.ts';
import {
  type Plan,
  type PlannedRejection,
  type PlannedShard,
  planSchema,
  type SafetyVerdict,
} from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import type { RowSpan } from '../model/row.ts';
import type { SafetyFigures, SafetyLimits } from '../model/safety-limits.ts';
import { StateError } from '../model/storeferry-error.ts';
import {
  type RunFolder,
  readSealed,
  readWhole,
  sealedJson,
  sha256Of,
  sha256OfFile,
} from '../state/artifacts.ts';
import { IN_DOUBT, type Ledger } from '../state/state.ts';
import { valueChanges } from './changes/field-changes.ts';
import { judgeLimit } from './judge-safety.ts';
import {
  HELD_FILE,
  type HeldRecord,
  parseHeldLine,
  parseRejectionLine,
  REJECTIONS_FILE,
} from './line-writer.ts';
import { packedBodies, parseShardLine, shardLines } from './shard-writer.ts';

// What differs between two versions of a record, also for the history.
export { fieldChanges, type VariantPairs, variantName } from './changes/field-changes.ts';
export type { HeldRecord } from './line-writer.ts';

/** The blocks of the source, in the folder of its run: words of 32 bits, as `encodeBlock` makes them. */
export const BLOCKS_FILE = 'blocks.bin';

/**
 * The file of the plan in the folder of its run. It is written last, so its presence shows that the plan is complete.
 */
export const PLAN_FILE = 'plan.json';

/** Writes the plan with a checksum. It is the last of its files, so its presence shows that the plan is complete. */
export async function writePlan(folder: RunFolder, plan: Plan): Promise<void> {
  await folder.write(PLAN_FILE, [sealedJson(plan)]);
}

/** The plan of a run; undefined if it was not finished. StateError if it cannot be read or was changed. */
export async function readPlan(folder: RunFolder): Promise<Plan | undefined> {
  if (!(await folder.exists(PLAN_FILE))) return undefined;
  return await readSealed(folder, PLAN_FILE, planSchema, [
    'is not a plan of this version',
    'The file was damaged or edited, or another version wrote it. Run the job again: it makes a new plan.',
  ]);
}

/**
 * The operations of a shard in order, each with its index. StateError if its file is missing or differs by a byte
 * from the planned content; then no operation is returned.
 */
export async function readShard(folder: RunFolder, shard: PlannedShard): Promise<Operation[]> {
  const content = await verifiedShard(folder, shard);
  const packed = packedBodies(content);
  return shardLines(content).map((line, index) => {
    try {
      const operation = parseShardLine(line, index);
      return operation.kind === 'delete-product' ? operation : { ...operation, packed: packed[index] };
    } catch (cause) {
      throw damagedLine(folder, shard.name, index + 1, cause);
    }
  });
}

/** The bytes of a shard's file; StateError unless they are those that the plan has written. */
export async function verifiedShard(folder: RunFolder, shard: PlannedShard): Promise<Buffer> {
  const content = await readWhole(folder, shard.name, shard.bytes);
  refuseOther(sha256Of(content), folder, shard);
  return content;
}

/** StateError unless the bytes of a shard's file are those that the plan has written. */
export async function verifyShard(folder: RunFolder, shard: PlannedShard): Promise<void> {
  refuseOther(await sha256OfFile(folder, shard.name), folder, shard);
}

function refuseOther(found: string, folder: RunFolder, { name, sha256 }: PlannedShard): void {
  if (sha256 === found) return;
  throw new StateError(`${folder.location}/${name} was changed after planning: its checksum differs.`, {
    hint: 'Run the job again: it is planned again.',
  });
}

/**
 * Whether the plan and the store together have rejected too many records; null if not, or if the limit is off. Call
 * after every shard.
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
export async function* readRejections(folder: RunFolder): AsyncGenerator<readonly PlannedRejection[]> {
  let line = 0;
  for await (const lines of readLines(folder, REJECTIONS_FILE)) {
    yield lines.map((text) => {
      line++;
      try {
        return parseRejectionLine(text);
      } catch (cause) {
        throw damagedLine(folder, REJECTIONS_FILE, line, cause);
      }
    });
  }
}

/** Every held record of a plan in batches, in order; StateError if the file is missing or damaged. */
export async function* readHeld(
  folder: RunFolder,
  { counts }: Pick<Plan, 'counts'>,
): AsyncGenerator<readonly HeldRecord[]> {
  if (counts.held.records === 0) return;
  let line = 0;
  for await (const lines of readLines(folder, HELD_FILE)) {
    yield lines.map((text) => {
      try {
        return parseHeldLine(text, line++);
      } catch (cause) {
        throw damagedLine(folder, HELD_FILE, line, cause);
      }
    });
  }
}

/** StateError if the file of rejections differs by a byte from what the plan has written. */
export async function verifyRejections(folder: RunFolder, { rejectionsSha256 }: Plan): Promise<void> {
  await verifyFile(folder, REJECTIONS_FILE, rejectionsSha256);
}

/** The same for the file of held records. */
export async function verifyHeld(folder: RunFolder, { heldSha256 }: Plan): Promise<void> {
  await verifyFile(folder, HELD_FILE, heldSha256);
}

async function verifyFile(folder: RunFolder, name: string, sha256: string | undefined): Promise<void> {
  if ((await sha256OfFile(folder, name)) === sha256) return;
  throw new StateError(`${folder.location}/${name} was changed after planning.`, {
    hint: 'The file was damaged or edited. Run the job again: it makes a new plan.',
  });
}

/** The lines of an artifact with one JSON value per line, in batches; StateError if it cannot be read. */
export async function* readLines(folder: RunFolder, name: string): AsyncGenerator<readonly string[]> {
  const stream = await folder.read(name);
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines;
  }
  if (rest !== '') {
    throw new StateError(`${folder.location}/${name} ends in the middle of a line.`, {
      hint: 'The file is incomplete or was edited. Run the job again.',
    });
  }
}

/** The error for a damaged line of an artifact. */
export function damagedLine(folder: RunFolder, name: string, line: number, cause: unknown): StateError {
  return new StateError(`Line ${line} of ${folder.location}/${name} is not a line of a plan.`, {
    cause,
    hint: 'The file was damaged or edited. Run the job again.',
  });
}

/** What a plan does with a record of the source. */
export type PlannedStanding = 'new' | 'changed' | 'resent' | 'unchanged' | 'rejected' | 'skipped' | 'held';

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
  const [[mark], [stored]] = await Promise.all([ledger.marks([key]), ledger.bodies([key])]);
  const changesOf = (body: object | null) =>
    body === null || stored === undefined ? { changed: [], removed: [] } : valueChanges(stored, body);
  const found = {
    changes: changesOf(mapped),
    inDoubt: mark?.fingerprint === IN_DOUBT,
    body: null,
    reason: null,
    standing: undefined,
  };
  for (const shard of plan.shards.filter(({ kind }) => kind === 'upserts')) {
    const operation = (await readShard(folder, shard)).find((one) => one.key === key);
    if (operation === undefined || operation.kind === 'delete-product') continue;
    const parsed: unknown = JSON.parse(operation.body);
    const body = isJsonObject(parsed) ? parsed : null;
    const same = mark?.fingerprint === operation.fingerprint;
    return {
      ...found,
      body,
      changes: changesOf(body),
      standing: mark === undefined ? 'new' : same ? 'resent' : 'changed',
    };
  }
  for await (const batch of readHeld(folder, plan)) {
    const operation = batch.find(({ operation: one }) => one.key === key)?.operation;
    if (operation === undefined || operation.kind === 'delete-product') continue;
    const parsed: unknown = JSON.parse(operation.body);
    const body = isJsonObject(parsed) ? parsed : null;
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

function isWithin({ file, from, to }: RowSpan, whole: RowSpan): boolean {
  return file === whole.file && whole.from <= from && to <= whole.to;
}
