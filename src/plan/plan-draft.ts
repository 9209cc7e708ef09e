import type { PlannedShard } from '../model/plan.ts';
import type { MappedRecord, MappedRejection, MappedSkip, Resource } from '../model/record.ts';
import type { RunFolder } from '../state/artifacts.ts';
import type { Ledger, LedgerMark } from '../state/state.ts';
import { fieldChanges } from './field-changes.ts';
import { fingerprintOf } from './fingerprint.ts';
import { PlanTally, type Standing, type TalliedRecord } from './plan-tally.ts';
import { RejectionWriter } from './rejection-writer.ts';
import type { UnplacedOperation } from './shard-line.ts';
import { ShardWriter } from './shard-writer.ts';

/**
 * One question to the ledger asks about this many records, or about fewer when their bodies are large. With 500 more of
 * them outlived the nursery: a tenth more time and 100 MiB more memory; with 100 nothing was gained.
 */
const RECORDS_A_QUESTION = 200;
const LETTERS_A_QUESTION = 4 * 1024 * 1024;

/** What a draft needs to know about the import. */
export interface DraftOptions {
  readonly folder: RunFolder;
  readonly ledger: Ledger;
  readonly job: string;
  readonly resource: Resource;
  /** Send what is unchanged as well. */
  readonly resend: boolean;
}

/**
 * A record with its body serialised, and without the body itself: a thousand of them wait for the ledger at a time,
 * and whatever they hold on to is copied by the garbage collector, twice (a third of all time was spent on that).
 */
interface Prepared extends TalliedRecord {
  readonly body: string;
  readonly fingerprint: string;
}

interface Question {
  readonly batch: readonly Prepared[];
  readonly marks: Promise<(LedgerMark | undefined)[]>;
}

/**
 * A plan in the making: compares records with the ledger in batches, and writes operations and rejections to their
 * files as they come. While the ledger looks up one batch, the next is prepared.
 */
export class PlanDraft {
  readonly tally: PlanTally;
  readonly #options: DraftOptions;
  readonly #shards: ShardWriter;
  readonly #rejections: RejectionWriter;
  #batch: Prepared[] = [];
  #letters = 0;
  #asked: Question | undefined;

  constructor(options: DraftOptions) {
    this.#options = options;
    this.tally = new PlanTally(options.resource);
    this.#shards = new ShardWriter(options.folder, 'upserts');
    this.#rejections = new RejectionWriter(options.folder);
  }

  /** Takes a record whose key is no other record's. Serialised once: what is fingerprinted is what is sent. */
  record(record: MappedRecord): void {
    const body = JSON.stringify(record.body);
    const { key, rows, spans, notes } = record;
    this.#batch.push({ key, rows, spans, notes, body, fingerprint: fingerprintOf(body) });
    this.#letters += body.length;
  }

  /** `records` is 0 for a further copy of a key that was counted already. */
  reject(rejection: MappedRejection, records: 0 | 1): void {
    this.tally.rejected(rejection, records);
    const { key, rows, spans, reason } = rejection;
    this.#rejections.add({ key, records, rows, spans, reason });
  }

  skip(skip: MappedSkip, records: 0 | 1): void {
    this.tally.skipped(skip, records);
  }

  /** Whether `drain` should be awaited before taking more. */
  get full(): boolean {
    return (
      this.#batch.length >= RECORDS_A_QUESTION || this.#letters >= LETTERS_A_QUESTION || this.#rejections.full
    );
  }

  /** Asks the ledger about what was taken, works off what it has answered before, and waits for the disk. */
  async drain(): Promise<void> {
    if (this.#batch.length > 0) await this.#ask();
    await this.#shards.room();
    await this.#rejections.room();
  }

  /** Everything taken is compared and on disk; gives the shards of upserts. */
  async finish(): Promise<PlannedShard[]> {
    try {
      await this.drain();
      await this.#workOff(this.#asked);
      const shards = await this.#shards.finish();
      await this.#rejections.finish();
      return shards;
    } catch (error) {
      await this.abandon();
      throw error;
    }
  }

  /** Waits for what is being written; shards may be left. */
  async abandon(): Promise<void> {
    await this.#rejections.abandon();
    await this.#shards.abandon();
  }

  async #ask(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#letters = 0;
    const marks = this.#options.ledger.marks(batch.map(({ key }) => key));
    marks.catch(() => {}); // told when it is awaited, which is after the batch before
    const asked = this.#asked;
    this.#asked = { batch, marks };
    await this.#workOff(asked);
  }

  async #workOff(asked: Question | undefined): Promise<void> {
    if (asked === undefined) return;
    const marks = await asked.marks;
    const differing = asked.batch.filter(
      ({ fingerprint }, index) => (marks[index]?.fingerprint ?? fingerprint) !== fingerprint,
    );
    const bodies = await this.#acknowledgedBodies(differing);
    for (const [index, prepared] of asked.batch.entries()) {
      const mark = marks[index];
      this.#place(prepared, mark, this.#standing(prepared, mark, bodies));
    }
  }

  async #acknowledgedBodies(
    differing: readonly Prepared[],
  ): Promise<ReadonlyMap<Prepared, string | undefined>> {
    if (differing.length === 0) return new Map();
    const bodies = await this.#options.ledger.bodies(differing.map(({ key }) => key));
    return new Map(differing.map((prepared, index) => [prepared, bodies[index]]));
  }

  #standing(
    prepared: Prepared,
    mark: LedgerMark | undefined,
    bodies: ReadonlyMap<Prepared, string | undefined>,
  ): Standing {
    if (mark === undefined) return 'new';
    const same = this.#options.resend ? 'resent' : 'unchanged';
    if (mark.fingerprint === prepared.fingerprint) return same;
    const acknowledged = bodies.get(prepared);
    if (acknowledged === undefined) return 'changed';
    const changes = fieldChanges(acknowledged, prepared.body, (variants) =>
      this.tally.moves.add(prepared.key, variants),
    );
    if (changes.length === 0) return same;
    return this.tally.changes.add(prepared.key, changes) ? 'changed' : same;
  }

  #place(prepared: Prepared, mark: LedgerMark | undefined, standing: Standing): void {
    this.tally.record(prepared, standing);
    if (mark !== undefined && mark.job !== this.#options.job) {
      this.tally.takenOver(mark.job, prepared.key, standing);
    }
    if (standing !== 'unchanged') this.#shards.add(this.#operation(prepared, mark));
  }

  #operation(prepared: Prepared, mark: LedgerMark | undefined): UnplacedOperation {
    const { key, rows, spans, body, fingerprint } = prepared;
    switch (this.#options.resource) {
      case 'products':
        return { kind: 'upsert-product', key, rows, spans, body, fingerprint, knownId: mark?.id ?? null };
      case 'contacts':
        return { kind: 'update-contact', key, rows, spans, body, fingerprint };
      default:
        return this.#options.resource satisfies never;
    }
  }
}
