import type { Guard, GuardHit } from './guard.ts';
import type { ImportMode, Resource } from './mapped-record.ts';
import type { Count, Reason, ReasonGroup } from './reason.ts';
import { isSheet, type RowSpan, type TablePlaces } from './row.ts';
import type { Moves, SafetyRuleName } from './safety-limits.ts';

/** How a job treats repeated keys in one source; of identical copies all but one are always skipped. */
export type DuplicatesPolicy = 'reject' | 'first' | 'last' | 'merge';

/** One safety limit compared with a plan. */
export interface SafetyVerdict {
  /**
   * The setting of the job. `key` is not a setting: keys are made differently, and everything may be created a second
   * time.
   */
  readonly limit: SafetyRuleName;
  readonly exceeded: boolean;
  /** Of a guard: its condition in words. */
  readonly guard?: string;
  /** The counted figure, and the basis of a percentage; null if nothing is known to compare with. */
  readonly figure: number;
  readonly base: number | null;
  /** The limit as the job sets it, such as `5%`, and its value here; absent if there is no limit. */
  readonly allowed?: { readonly text: string; readonly amount: number };
  /** If exceeded: the worst examples, worst first, one line each; absent if examples have no names. */
  readonly examples?: readonly string[];
  /** Limit, figure, basis and, if exceeded, the first examples and what to do. */
  readonly message: string;
}

/** `records = new + changed + resent + unchanged + rejected + skipped + held`; the same sum holds in rows. */
export interface PlanCounts {
  readonly rows: number;
  /** Distinct keys, plus groups whose key cannot be read. Another copy of a key counts in rows only. */
  readonly records: number;
  readonly new: Count;
  readonly changed: Count;
  /** Equal to what the store last acknowledged, but sent again (`--resend`). */
  readonly resent: Count;
  readonly unchanged: Count;
  readonly rejected: Count;
  readonly skipped: Count;
  /** New or changed, and kept back by a guard. */
  readonly held: Count;
  /** Keys that this job last sent and the source no longer has; counted in mirror mode only. */
  readonly removed: number;
  /** Planned delete operations. */
  readonly deletes: number;
}

/** A key as an example, with the first line of its rows (null for keys that the source no longer has). */
export interface KeyExample {
  readonly key: string;
  readonly file: number | null;
  readonly line: number | null;
}

/** An old and a new value of a field, shortened for people and masked if personal; null is an absent field. */
export interface ChangeSample {
  readonly key: string;
  readonly old: string | null;
  readonly new: string | null;
}

/** In how many changed records a field differs. */
export interface FieldChanges {
  /** With its path, such as `variants.price`; `variants` itself if some were added, removed or reordered. */
  readonly field: string;
  readonly records: number;
  readonly samples: readonly ChangeSample[];
}

/** Records of this plan whose key another job last sent. */
export interface Takeover {
  readonly job: string;
  /** This job takes these over when they are applied. */
  readonly sent: number;
  /** These are unchanged: nothing is sent, and they still belong to the other job. */
  readonly left: number;
  readonly examples: readonly string[];
}

/** A field that other jobs of the same store send as well. */
export interface SharedField {
  /** As reports name it, such as `variants.quantity`. */
  readonly field: string;
  /** The other jobs that send it; empty where this job keeps a field that none of the workspace sends. */
  readonly jobs: readonly string[];
  /** Whether this job keeps it: then the others own it. */
  readonly kept: boolean;
  /** How many records of this plan change it. */
  readonly records: number;
}

/** What a guard of the job has found in a plan. */
export interface GuardFinding {
  /** Its condition in words. */
  readonly guard: string;
  readonly action: Guard['action'];
  /** In percent; null if it acts on every record that it hits. */
  readonly share: number | null;
  /** How many records it hits, of how many that it could hit. */
  readonly records: number;
  readonly of: number;
  /** Whether it holds the records, stops the run, or warns: there are hits, and more than its share. */
  readonly acts: boolean;
  /** The first of them; of each the first value that is hit. */
  readonly examples: readonly (GuardHit & { readonly key: string })[];
}

/** Keys that occurred more than once in the source. */
export interface DuplicatesFound {
  readonly policy: DuplicatesPolicy;
  readonly keys: number;
  /** Records and rejections with those keys, including the first of each. */
  readonly copies: number;
  /** Copies that are left out because an identical one is sent. */
  readonly identical: number;
  readonly examples: readonly KeyExample[];
}

/** Why a mirror plan deletes nothing, or not everything: the first reason that applies. */
export type DeletesWithheld = 'key-unreadable' | 'ledger-empty' | 'retry' | 'sample';

/** A file of operations. */
export interface PlannedShard {
  /** Counts from 1 over all shards of the plan, deletes last; the shard's number in `Runs.record`. */
  readonly number: number;
  readonly name: string;
  readonly kind: 'upserts' | 'deletes';
  readonly operations: number;
  readonly bytes: number;
  /** Over the bytes, in hexadecimal; absent in plans of earlier versions, which are no longer sent. */
  readonly sha256?: string;
}

/**
 * Sale prices of a source begin and end: a plan is correct from `since` until just before `until`, in milliseconds
 * since the epoch; null if no date limits it.
 */
export interface JudgedDates {
  readonly since: number | null;
  readonly until: number | null;
}

/** What a join of the mapping found in its table. */
export interface JoinFacts {
  /** Of the lookup. */
  readonly name: string;
  readonly file: string;
  /** Records that have a key to look for, and those of them that have one without a row. */
  readonly records: number;
  readonly without: number;
  /** Some of the keys without a row; none of contacts. */
  readonly examples: readonly string[];
  /** Keys of the table, and those that no record has. */
  readonly keys: number;
  readonly unused: number;
}

/** Facts about the source that was read. */
export interface PlanSource {
  readonly files: readonly {
    readonly name: string;
    readonly rows: number;
    /** The delimiter itself, such as `;`. */
    readonly delimiter: string;
    readonly encoding: string;
    readonly blankLines: number;
    /** Set if the file has no text lines. */
    readonly places?: TablePlaces;
  }[];
  /** Headers of columns that the mapping does not use. */
  readonly columnsNotUsed: readonly string[];
  /** The second tables that the mapping joins; absent where it joins none. */
  readonly joins?: readonly JoinFacts[];
  /** Null if no record depends on the time of staging. */
  readonly dates: JudgedDates | null;
  /** Set for the corrected rejects of a workbook. */
  readonly ofWorkbook?: true;
}

/** Whether rejects are also written as a workbook: those of a sheet, and those of its corrected rejects. */
export function hasRejectsWorkbook({ files, ofWorkbook }: PlanSource): boolean {
  return ofWorkbook === true || isSheet(files[0]?.places);
}

/** A problem that image addresses share. */
export interface ImageProblem {
  readonly problem: string;
  readonly addresses: number;
  readonly samples: readonly { readonly key: string; readonly address: string }[];
}

/** What looking at the image addresses of a plan has found. */
export interface ImageFindings {
  /** Those that were not found good before. */
  readonly addresses: number;
  /** Most frequent first. */
  readonly broken: readonly ImageProblem[];
  /** The server refuses programs or does not answer, which says nothing of the image. */
  readonly unknown: readonly ImageProblem[];
  /** Left when the time was over. */
  readonly unchecked: number;
}

/** Records that an undo leaves as they are, for one reason. */
export interface LeftByUndo {
  readonly code: string;
  readonly message: string;
  readonly records: number;
  /** The first of them. */
  readonly keys: readonly string[];
}

/** What is particular to the plan of an undo. */
export interface UndoFacts {
  /** The run that is undone. */
  readonly of: string;
  /** When the job runs next by itself would send the same again: its schedule; null if it has none. */
  readonly schedule: string | null;
  /** Deleted products that are created again, under new ids; the first of them with their earlier ids. */
  readonly recreated: {
    readonly records: number;
    readonly examples: readonly { readonly key: string; readonly id: number | null }[];
  };
  /** Fields that the run added, in so many records: a body without a field may leave it as it is. */
  readonly kept: readonly { readonly field: string; readonly records: number }[];
  /** Most records first. */
  readonly left: readonly LeftByUndo[];
}

/** The effects of applying a source; nothing has been sent. */
export interface Plan {
  readonly job: string;
  readonly resource: Resource;
  readonly mode: ImportMode;
  readonly counts: PlanCounts;
  /** Most frequent first. */
  readonly fieldsChanged: readonly FieldChanges[];
  /** Of products; empty for contacts. */
  readonly moves: Moves;
  /** Products with at least one price move (safety-limits.ts): there may be more than `moves` names. */
  readonly priceMoves: number;
  /**
   * Fields that are now empty in the source but that the store keeps, because the API cannot clear a contact's
   * fields.
   */
  readonly emptied: readonly { readonly field: string; readonly records: number }[];
  readonly rejections: readonly ReasonGroup[];
  readonly skips: readonly ReasonGroup[];
  /** Changes that the mapping made to values, such as negative stock that is sent as 0: records per sentence. */
  readonly notices: readonly { readonly message: string; readonly records: number }[];
  readonly examples: {
    readonly new: readonly KeyExample[];
    readonly changed: readonly KeyExample[];
    readonly removed: readonly KeyExample[];
  };
  readonly duplicates: DuplicatesFound | null;
  readonly takeovers: readonly Takeover[];
  /** Fields that other jobs of the store send as well; empty in plans of earlier versions. */
  readonly sharedFields: readonly SharedField[];
  /** Whether bodies were merged with what the store had acknowledged: then they are right until another job changes that. */
  readonly merged: boolean;
  /** Rows whose key cannot be read: while there are any, nothing is deleted. */
  readonly unreadableKeys: number;
  readonly deletesWithheld: DeletesWithheld | null;
  /** Removed keys whose id the store never answered, or not again when required: they cannot be deleted. */
  readonly deletesWithoutId: number;
  /**
   * Removed keys that were in flight when a run died, and were never acknowledged: the store may have them, from this
   * job or created by hand. They are named, and never deleted.
   */
  readonly unconfirmed: { readonly keys: number; readonly examples: readonly string[] };
  readonly safety: readonly SafetyVerdict[];
  /** One for each guard of the job, in its order. */
  readonly guards: readonly GuardFinding[];
  /** Set where the job has image addresses checked. */
  readonly images?: ImageFindings;
  /** Set if it undoes a run. */
  readonly undo?: UndoFacts;
  readonly shards: readonly PlannedShard[];
  /** Over the file of held records, in hexadecimal; absent if none is held. */
  readonly heldSha256?: string;
  /** Over the file of rejections, in hexadecimal; absent in plans of earlier versions. */
  readonly rejectionsSha256?: string;
  readonly source: PlanSource;
}

/** One line of a plan's rejections: rows that are not sent, and why. */
export interface PlannedRejection {
  readonly key: string | null;
  /** 1, or 0 for a further copy of a key that was counted already. */
  readonly records: 0 | 1;
  readonly rows: number;
  readonly spans: readonly RowSpan[];
  readonly reason: Reason;
}
