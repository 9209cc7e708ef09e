import { z } from 'zod';
import { GUARD_ACTIONS, guardHitSchema } from './guard.ts';
import { type Stored, sumOf } from './json-object.ts';
import { IMPORT_MODES, RESOURCES } from './mapped-record.ts';
import { countSchema, NO_PRICE, reasonGroupSchema, reasonSchema } from './reason.ts';
import { isSheet, rowSpanSchema, tablePlacesSchema } from './row.ts';
import { editedFoundSchema } from './run.ts';
import { movesSchema, SAFETY_RULE_NAMES, safetyRule } from './safety-limits.ts';

const text = z.string();
const integer = z.int();
/** The first of many keys. */
const keysShown = z.array(text);
const recordsOfField = z.object({ field: text, records: integer });

/** A key as an example, with the first line of its rows (null for keys that the source no longer has). */
const keyExample = z.object({ key: text, file: integer.nullable(), line: integer.nullable() });
export type KeyExample = Stored<typeof keyExample>;

/** `records = new + changed + resent + unchanged + rejected + skipped + held`; the same sum holds in rows. */
const planCounts = z.object({
  rows: integer,
  /** Distinct keys, plus groups whose key cannot be read. Another copy of a key counts in rows only. */
  records: integer,
  new: countSchema,
  changed: countSchema,
  /** Equal to what the store last acknowledged, but sent again (`--resend`). */
  resent: countSchema,
  unchanged: countSchema,
  rejected: countSchema,
  skipped: countSchema,
  /** New or changed, and kept back: by a guard, an edit in the store, or an uncertain url. */
  held: countSchema,
  /** Keys that this job last sent and the source no longer has; counted in mirror mode only. */
  removed: integer,
  /** Planned delete operations. */
  deletes: integer,
});

/** In how many changed records a field differs. */
const fieldChanges = z.object({
  /** With its path, such as `variants.price`; `variants` itself if some were added, removed or reordered. */
  field: text,
  records: integer,
  /** Old and new values, shortened for people and masked if personal; null is an absent field. */
  samples: z.array(z.object({ key: text, old: text.nullable(), new: text.nullable() })),
});
export type FieldChanges = Stored<typeof fieldChanges>;

/** New records that are known products under other keys. */
const continuedProducts = z.object({
  records: integer,
  /** The store changes their urls: a shard of renames has pairs, each of an upsert and the delete that needs no request. */
  byId: z.boolean(),
  /** Held, because they may be one of several. */
  waiting: integer,
  /** The first of them. */
  examples: z.array(z.object({ from: text, to: text, by: text })),
});

/** The old and new urls of products that the store has renamed, in the folder of the run. */
export const REDIRECTS_FILE = 'redirects.csv';
/** All findings of a comparison with the store, in the folder of the run. */
export const DRIFT_FILE = 'drift.csv';

/** Records of this plan whose key another job last sent. */
const takeover = z.object({
  job: text,
  /** This job takes these over when they are applied. */
  sent: integer,
  /** These are unchanged: nothing is sent, and they still belong to the other job. */
  left: integer,
  examples: keysShown,
});
export type Takeover = Stored<typeof takeover>;

/** A field that other jobs of the same store send as well. */
const sharedField = z.object({
  /** As reports name it, such as `variants.quantity`. */
  field: text,
  /** The other jobs that send it; empty where this job keeps a field that none of the workspace sends. */
  jobs: z.array(text),
  /** Whether this job keeps it: then the others own it. */
  kept: z.boolean(),
  /** How many records of this plan change it. */
  records: integer,
});

/** One safety limit compared with a plan. */
const safetyVerdict = z.object({
  /**
   * The setting of the job. `key` is not a setting: keys are made differently, and everything may be created a second
   * time.
   */
  limit: z.enum(SAFETY_RULE_NAMES),
  exceeded: z.boolean(),
  /** Of a guard: its condition in words. */
  guard: text.exactOptional(),
  /** The joined table whose rows are counted. */
  table: text.exactOptional(),
  /** The counted figure, and the basis of a percentage; null if nothing is known to compare with. */
  figure: integer,
  base: integer.nullable(),
  /** The limit as the job sets it, such as `5%`, and its value here; absent if there is no limit. */
  allowed: z.object({ text, amount: z.number() }).exactOptional(),
  /** If exceeded: the worst examples, worst first, one line each; absent if examples have no names. */
  examples: z.array(text).exactOptional(),
  /** Limit, figure, basis and, if exceeded, the first examples and what to do. */
  message: text,
});
export type SafetyVerdict = Stored<typeof safetyVerdict>;

/** The figure of a limit, without the limit: `52 of 100 products would be deleted`. */
export function safetyFound(
  { limit, guard, ...measured }: SafetyVerdict,
  { resource }: { readonly resource: string },
): string {
  const found = safetyRule(limit).found(measured, resource === 'contacts' ? 'contacts' : 'products');
  return guard === undefined ? found : `${found}: ${guard}`;
}

/** What a guard of the job has found in a plan. */
const guardFinding = z.object({
  /** Its condition in words. */
  guard: text,
  action: z.enum(GUARD_ACTIONS),
  /** In percent; null if it acts on every record that it hits. */
  share: z.number().nullable(),
  /** How many records it hits, of how many that it could hit. */
  records: integer,
  of: integer,
  /** Whether it holds the records, stops the run, or warns: there are hits, and more than its share. */
  isTriggered: z.boolean(),
  /** The first of them; of each the first value that is hit. */
  examples: z.array(guardHitSchema.extend({ key: text })),
});
export type GuardFinding = Stored<typeof guardFinding>;

/** How a job treats repeated keys in one source; of identical copies all but one are always skipped. */
const duplicatesPolicy = z.enum(['reject', 'first', 'last', 'merge']);
export type DuplicatesPolicy = z.infer<typeof duplicatesPolicy>;

/** Keys that occurred more than once in the source. */
const duplicatesFound = z.object({
  policy: duplicatesPolicy,
  keys: integer,
  /** Records and rejections with those keys, including the first of each. */
  copies: integer,
  /** Copies that are left out because an identical one is sent. */
  identical: integer,
  examples: z.array(keyExample),
});
export type DuplicatesFound = Stored<typeof duplicatesFound>;

/** A file of operations. */
const plannedShard = z.object({
  /** Counts from 1 over all shards of the plan, deletes last; the shard's number in `Runs.record`. */
  number: integer,
  name: text,
  kind: z.enum(['upserts', 'renames', 'deletes']),
  /** Counts from 1; absent where the job sends in one go. */
  wave: integer.exactOptional(),
  operations: integer,
  bytes: integer,
  /** Over the bytes, in hexadecimal. */
  sha256: text,
});
export type PlannedShard = Stored<typeof plannedShard>;

/** The number of operations in the shards. */
export function operationsIn(shards: readonly PlannedShard[]): number {
  return sumOf(shards, ({ operations }) => operations);
}

/**
 * Sale prices of a source begin and end: a plan is correct from `since` until just before `until`, in milliseconds
 * since the epoch; null if no date limits it.
 */
const judgedDates = z.object({ since: z.number().nullable(), until: z.number().nullable() });
export type JudgedDates = Stored<typeof judgedDates>;

/** What a join of the mapping found in its table. */
const joinFacts = z.object({
  /** Of the lookup. */
  name: text,
  file: text,
  /** Records that have a key to look for, and those of them that have one without a row. */
  records: integer,
  without: integer,
  /** Some of the keys without a row; none of contacts. */
  examples: keysShown,
  /** Keys of the table, and those that no record has. */
  keys: integer,
  unused: integer,
});
export type JoinFacts = Stored<typeof joinFacts>;

/** Facts about the source that was read. */
const planSource = z.object({
  files: z.array(
    z.object({
      name: text,
      rows: integer,
      /** The delimiter itself, such as `;`. */
      delimiter: text,
      encoding: text,
      blankLines: integer,
      /** Set if the file has no text lines. */
      places: tablePlacesSchema.exactOptional(),
      /** Of corrected rejects: the rows of the source by their lines here, such as `Prices row 17`; those of the first rows. */
      sourceRows: z.record(text, text).exactOptional(),
    }),
  ),
  /** Headers of columns that the mapping does not use. */
  columnsNotUsed: z.array(text),
  /** How many more there are, which no mapping names: in a file of contacts they may be the data of a person. */
  columnsNotNamed: integer.exactOptional(),
  /** Columns of the mapping, by its names, that a file has. */
  columnsFound: z.array(text).exactOptional(),
  /** What the last completed run read and this source lacks, or reads elsewhere; absent: nothing, or unknown. */
  sinceLastRun: z
    .object({
      run: text,
      /** The headers that the mapping names for each column. */
      columnsGone: z.array(text),
      /** The sheet that was read then; absent if it is the same. */
      sheetBefore: text.exactOptional(),
    })
    .exactOptional(),
  /** The second tables that the mapping joins; absent where it joins none. */
  joins: z.array(joinFacts).exactOptional(),
  /** Null if no record depends on the time of staging. */
  dates: judgedDates.nullable(),
  /** Set for the corrected rejects of a workbook. */
  ofWorkbook: z.literal(true).exactOptional(),
});
export type PlanSource = Stored<typeof planSource>;

/** Whether rejects are also written as a workbook: those of a sheet, and those of its corrected rejects. */
export function hasRejectsWorkbook({ files, ofWorkbook }: PlanSource): boolean {
  return ofWorkbook === true || isSheet(files[0]?.places);
}

/** A problem that image addresses share. */
const imageProblem = z.object({
  problem: text,
  addresses: integer,
  samples: z.array(z.object({ key: text, address: text })),
});
export type ImageProblem = Stored<typeof imageProblem>;

/** What looking at the image addresses of a plan has found. */
const imageFindings = z.object({
  /** Those that were not found good before. */
  addresses: integer,
  /** Most frequent first. */
  broken: z.array(imageProblem),
  /** The server refuses programs or does not answer, which says nothing of the image. */
  unknown: z.array(imageProblem),
  /** Left when the time was over, or beyond `MAX_CHECKED_IMAGES`. */
  unchecked: integer,
});
export type ImageFindings = Stored<typeof imageFindings>;

/** The most image addresses that a plan checks. */
export const MAX_CHECKED_IMAGES = 50_000;

/** What a plan does with the picture files that its records name. */
const pictureFindings = z.object({
  /** The folder or the zip, and where they are published. */
  from: text,
  to: text,
  /** Different pictures of the records that are sent or held. */
  pictures: integer,
  /** Those of them that were not published before, with their bytes. */
  uploads: integer,
  bytes: integer,
  /** Files that no shop would show, most frequent problem first. */
  broken: z.array(z.object({ problem: text, files: integer, examples: z.array(text) })),
});
export type PictureFindings = Stored<typeof pictureFindings>;

/** What is particular to the plan of an undo. */
const undoFacts = z.object({
  /** The run that is undone. */
  of: text,
  /** When the job runs next by itself would send the same again: its schedule; null if it has none. */
  schedule: text.nullable(),
  /** Set if the undone run was a copy for a store that no job is for: no run sends the same again. */
  hasNoJob: z.literal(true).exactOptional(),
  /** Deleted products that are created again, under new ids; the first of them with their earlier ids. */
  recreated: z.object({
    records: integer,
    examples: z.array(z.object({ key: text, id: integer.nullable() })),
  }),
  /** Fields that the run added, in so many records: a body without a field may leave it as it is. */
  kept: z.array(recordsOfField),
  /** Records that the undo leaves as they are, by reason, with the first keys; most records first. */
  left: z.array(z.object({ code: text, message: text, records: integer, keys: keysShown })),
});
export type UndoFacts = Stored<typeof undoFacts>;

/** The effects of applying a source; nothing has been sent. */
export const planSchema = z.object({
  job: text,
  resource: z.enum(RESOURCES),
  mode: z.enum(IMPORT_MODES),
  counts: planCounts,
  /** Most frequent first. */
  fieldsChanged: z.array(fieldChanges),
  /** Of products; empty for contacts. */
  moves: movesSchema,
  /** Products with at least one price move (safety-limits.ts): there may be more than `moves` names. */
  priceMoves: integer,
  /**
   * Fields that are now empty in the source but that the store keeps: the API cannot clear those of a contact, and a probe has
   * seen that updates of products leave absent fields alone.
   */
  emptied: z.array(recordsOfField),
  rejections: z.array(reasonGroupSchema),
  skips: z.array(reasonGroupSchema),
  /** Records per sentence about them: a value that the mapping changed, such as negative stock sent as 0, or why one is held or not deleted. */
  notices: z.array(z.object({ message: text, records: integer, keys: keysShown.exactOptional() })),
  examples: z.object({
    new: z.array(keyExample),
    changed: z.array(keyExample),
    removed: z.array(keyExample),
  }),
  duplicates: duplicatesFound.nullable(),
  takeovers: z.array(takeover),
  /** Contacts that are created; counted as new. `uncertain`: the store may have some of them, which it updates. Absent if there are none. */
  created: countSchema.extend({ uncertain: z.literal(true).exactOptional() }).exactOptional(),
  /** Products that get a new url; counted as changed. Absent if there are none. */
  renamed: continuedProducts.exactOptional(),
  /** Products that the store had before the first import; counted as changed. Absent if there are none. */
  adopted: continuedProducts.exactOptional(),
  /** Fields that other jobs of the store send as well. */
  sharedFields: z.array(sharedField),
  /** The position of the ledger (`Ledger.position`) before it was read; absent if another run was sending. */
  plannedPosition: text.exactOptional(),
  /** Keys that an earlier run has rejected or held, and that are unchanged in this source; left out: none. */
  confirmed: z.array(text).exactOptional(),
  /** Rows whose key cannot be read: while there are any, nothing is deleted. */
  unreadableKeys: integer,
  /** Why a mirror plan deletes nothing, or not everything: the first reason that applies. */
  deletesWithheld: z.enum(['key-unreadable', 'ledger-empty', 'retry', 'sample']).nullable(),
  /** Removed keys whose id the store never answered, or not again when required: they cannot be deleted. */
  deletesWithoutId: integer,
  /**
   * Removed keys that were in flight when a run died, and were never acknowledged: the store may have them, from this
   * job or created by hand. They are named, and never deleted.
   */
  unconfirmed: z.object({ keys: integer, examples: keysShown }),
  safety: z.array(safetyVerdict),
  /** One for each guard of the job, in its order. */
  guards: z.array(guardFinding),
  /** What is known of edits in the store before anything is sent; absent: nothing. */
  edited: editedFoundSchema.exactOptional(),
  /** Set where the store replaces whole products, so that what somebody edited there is overwritten. */
  replacesEdits: z.literal(true).exactOptional(),
  /** Set where changed products are read in the store, with their stock. */
  readsStore: z.literal(true).exactOptional(),
  /** Set where the store takes whole records alone, so that a release cannot leave the store's value of a field. */
  sendsWhole: z.literal(true).exactOptional(),
  /** Set where the job has image addresses checked. */
  images: imageFindings.exactOptional(),
  /** Set where the job publishes picture files. */
  pictures: pictureFindings.exactOptional(),
  /** Set if it undoes a run. */
  undo: undoFacts.exactOptional(),
  shards: z.array(plannedShard),
  /** Over the file of held records, in hexadecimal; absent if none is held. */
  heldSha256: text.exactOptional(),
  /** The position of the ledger (`Ledger.position`) with which the blocks of the source were compared; absent: there are none. */
  blocksPosition: text.exactOptional(),
  /** Over the file of rejections, in hexadecimal. */
  rejectionsSha256: text,
  source: planSource,
});
export type Plan = Stored<typeof planSchema>;

/** One line of a plan's rejections: rows that are not sent, and why. */
export const rejectionSchema = z.object({
  key: text.nullable(),
  /** 1, or 0 for a further copy of a key that was counted already. */
  records: z.union([z.literal(0), z.literal(1)]),
  rows: integer,
  spans: z.array(rowSpanSchema),
  reason: reasonSchema,
});
export type PlannedRejection = Stored<typeof rejectionSchema>;

/** The code of a record that is not in the sample of its run. */
export const NOT_IN_SAMPLE = 'not-in-sample';

/** Records that are left out although no `skip` of the mapping says so: those without a price. */
export function countUnaskedSkips({ skips }: Pick<Plan, 'skips'>): number {
  const unasked = skips.filter(({ code, field }) => code === NO_PRICE && field !== null);
  return sumOf(unasked, ({ records }) => records);
}

const MANY_PERCENT = 10;
/** One of four is 25 %. */
const FEW_RECORDS = 5;

/** Whether so many records are left out, without a `skip` of the mapping, that somebody should look. */
export function hasManyUnaskedSkips(plan: Pick<Plan, 'counts' | 'skips'>): boolean {
  const records = consideredRecords(plan);
  return records >= FEW_RECORDS && countUnaskedSkips(plan) * 100 > records * MANY_PERCENT;
}

/** The records of a plan that its run considers: all of them, or those of its sample. */
export function consideredRecords({ counts, skips }: Pick<Plan, 'counts' | 'skips'>): number {
  const left = skips.find(({ code }) => code === NOT_IN_SAMPLE)?.records ?? 0;
  return counts.records - left;
}
