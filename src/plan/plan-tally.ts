import type { MappedRecord, MappedRejection, MappedSkip, Resource } from '../model/mapped-record.ts';
import type { KeyExample, Takeover } from '../model/plan.ts';
import { type Count, ReasonTally } from '../model/reason.ts';
import { ChangeTally } from './changes/change-tally.ts';
import { MoveTally } from './changes/move-tally.ts';

/**
 * The ledger's verdict on a record. `resent`: equal to what the store acknowledged, but sent again, on request or
 * because it is in doubt.
 */
export type Standing = 'new' | 'changed' | 'resent' | 'unchanged';

/** The counted facts of a record. */
export interface TalliedRecord extends Pick<MappedRecord, 'key' | 'rows' | 'spans'> {
  readonly notes?: MappedRecord['notes'] | undefined;
}

type Counted = Standing | 'rejected' | 'skipped' | 'held';
type OpenCount = { -readonly [Figure in keyof Count]: Count[Figure] };
type OpenTakeover = { sent: number; left: number; examples: string[] };

const EXAMPLES_KEPT = 5;
/** A mapping has few notes. This limits the memory if a mapping inserts values into them. */
const NOTICES_KEPT = 200;

/** The findings of a plan so far: figures, first examples and reasons, in constant memory. */
export class PlanTally {
  readonly counts: Readonly<Record<Counted, OpenCount>> = {
    new: { records: 0, rows: 0 },
    changed: { records: 0, rows: 0 },
    resent: { records: 0, rows: 0 },
    unchanged: { records: 0, rows: 0 },
    rejected: { records: 0, rows: 0 },
    skipped: { records: 0, rows: 0 },
    held: { records: 0, rows: 0 },
  };
  readonly changes: ChangeTally;
  readonly moves = new MoveTally();
  readonly rejections = new ReasonTally();
  readonly skips = new ReasonTally();
  readonly examples: Readonly<Record<'new' | 'changed' | 'removed', KeyExample[]>> = {
    new: [],
    changed: [],
    removed: [],
  };
  unreadableKeys = 0;
  /** Records that the ledger knows. */
  known = 0;
  readonly #notices = new Map<string, number>();
  readonly #takeovers = new Map<string, OpenTakeover>();

  constructor(resource: Resource) {
    this.changes = new ChangeTally(resource);
  }

  record(record: TalliedRecord, standing: Standing): void {
    this.#count(standing, 1, record.rows);
    if (standing !== 'new') this.known++;
    if (standing === 'new' || standing === 'changed') this.example(standing, record.key, record);
    if (record.notes !== undefined) for (const note of record.notes) this.#notice(note);
  }

  /** A record that a guard keeps back. */
  held(record: TalliedRecord, standing: Standing): void {
    this.#count('held', 1, record.rows);
    if (standing !== 'new') this.known++;
  }

  rejected(rejection: MappedRejection, records: 0 | 1): void {
    this.#count('rejected', records, rejection.rows);
    this.rejections.add({ ...rejection, records });
    if (rejection.key === null) this.unreadableKeys++;
  }

  skipped(skip: MappedSkip, records: 0 | 1): void {
    this.#count('skipped', records, skip.rows);
    this.skips.add({ ...skip, records });
    if (skip.key === null) this.unreadableKeys++;
  }

  /** Skipped rows turn out to share their key with a record or rejection: they count as one record, there. */
  skippedBelongsToOther(): void {
    this.counts.skipped.records--;
  }

  takenOver(job: string, key: string, standing: Standing): void {
    const takeover = this.#takeovers.get(job) ?? { sent: 0, left: 0, examples: [] };
    this.#takeovers.set(job, takeover);
    if (standing === 'unchanged') takeover.left++;
    else takeover.sent++;
    if (takeover.examples.length < EXAMPLES_KEPT) takeover.examples.push(key);
  }

  example(of: 'new' | 'changed' | 'removed', key: string, record?: TalliedRecord): void {
    const examples = this.examples[of];
    if (examples.length === EXAMPLES_KEPT) return;
    const span = record?.spans[0];
    examples.push({ key, file: span?.file ?? null, line: span?.from ?? null });
  }

  /** Most frequent first. */
  notices(): { message: string; records: number }[] {
    return [...this.#notices]
      .map(([message, records]) => ({ message, records }))
      .sort((a, b) => b.records - a.records);
  }

  takeovers(): Takeover[] {
    return [...this.#takeovers].map(([job, takeover]) => ({ job, ...takeover }));
  }

  #count(counted: Counted, records: number, rows: number): void {
    const count = this.counts[counted];
    count.records += records;
    count.rows += rows;
  }

  #notice(message: string): void {
    const known = this.#notices.get(message);
    if (known === undefined && this.#notices.size === NOTICES_KEPT) return;
    this.#notices.set(message, (known ?? 0) + 1);
  }
}
