import type { Reason } from '../../model/reason.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import type { Test } from '../values/compile-condition.ts';
import {
  type Grouper,
  type Member,
  type RowLinks,
  type RowScratch,
  recordOf,
  spansOf,
  tooManyRows,
} from './grouping.ts';

const BATCH = 200;

/** Rows of one record may be anywhere: all of them are kept until the source has ended. */
export class ScratchGrouper implements Grouper {
  readonly #scratch: RowScratch;
  readonly #linksOf: (row: SourceRow) => RowLinks;
  readonly #finish: (record: GatheredRecord) => RecordRows;
  readonly #mostRows: number;

  constructor(
    scratch: RowScratch,
    linksOf: (row: SourceRow) => RowLinks,
    finish: (record: GatheredRecord) => RecordRows,
    mostRows: number,
  ) {
    this.#scratch = scratch;
    this.#linksOf = linksOf;
    this.#finish = finish;
    this.#mostRows = mostRows;
  }

  startTable(): void {
    // Rows of one record may be in several files.
  }

  add(rows: readonly SourceRow[]): readonly RecordRows[] {
    for (const row of rows) this.#scratch.add(row, this.#linksOf(row));
    return [];
  }

  *end(): Iterable<readonly RecordRows[]> {
    let batch: RecordRows[] = [];
    for (const { members, tooMany } of this.#records()) {
      batch.push(this.#gathered(members, tooMany));
      if (batch.length === BATCH) {
        yield batch;
        batch = [];
      }
    }
    yield batch;
  }

  /** Members by record. A record with too many rows comes in pieces, all of which are rejected. */
  *#records(): Iterable<{ readonly members: readonly Member[]; readonly tooMany: Reason | undefined }> {
    let members: Member[] = [];
    let tooMany: Reason | undefined;
    for (const member of this.#scratch.members()) {
      const [first] = members;
      const next = first !== undefined && first.record !== member.record;
      if (next || members.length >= this.#mostRows) {
        tooMany ??= next ? undefined : tooManyRows(first?.row.line ?? member.row.line, this.#mostRows);
        yield { members, tooMany };
        members = [];
        tooMany = next ? undefined : tooMany;
      }
      members.push(member);
    }
    if (members.length > 0) yield { members, tooMany };
  }

  #gathered(members: readonly Member[], tooMany: Reason | undefined): RecordRows {
    const addFault = members[0] === undefined ? undefined : this.#scratch.chargeOf(members[0].record);
    const misaligned = members.find(({ row }) => row.misaligned !== undefined)?.row.misaligned?.reason;
    const readable = addFault?.keyKnown ?? true;
    return this.#finish({
      head: readable ? members.find(({ role }) => role === 'head')?.row : undefined,
      members: readable ? members.filter(({ role }) => role === 'member').map(({ row }) => row) : [],
      misaligned: members.flatMap(({ row }) => (row.misaligned === undefined ? [] : [row])),
      fault: tooMany ?? addFault?.reason ?? misaligned,
      spans: spansOf(distinct(members)),
      counted: new Set(members.flatMap(({ counted, row }) => (counted ? [row.seq] : []))).size,
    });
  }
}

function distinct(members: readonly Member[]): readonly SourceRow[] {
  const bySeq = new Map(members.map(({ row }) => [row.seq, row]));
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

/** The rows of a record as the scratch returns them. */
interface GatheredRecord extends Pick<RecordRows, 'fault' | 'spans' | 'counted'> {
  readonly head: SourceRow | undefined;
  readonly members: readonly SourceRow[];
  /** Rows of the record whose cells cannot be trusted. */
  readonly misaligned: readonly SourceRow[];
}

/**
 * A record whose rows share a key. More than one row that describes it is refused: which one is right?
 * @param keyOf the key of a misaligned row, where that can be trusted
 */
export function finishKeyed(
  gathered: GatheredRecord,
  head: Test | undefined,
  keyOf: (misaligned: SourceRow) => string | null,
): RecordRows {
  const { members, fault, spans, counted } = gathered;
  const described = head === undefined ? members.slice(0, 1) : members.filter((row) => head(row, 0));
  const second = described[1];
  const headRow = described[0] ?? members[0];
  const twice = second && {
    code: 'described-twice',
    message: `lines ${headRow?.line} and ${second.line} both describe this record`,
    line: second.line,
  };
  return recordOf([], {
    head: headRow,
    rows: members,
    children: members.filter((row) => row !== headRow),
    fault: fault ?? twice,
    key: gathered.misaligned.map(keyOf).find((key) => key !== null) ?? null,
    spans,
    counted,
  });
}

/** A record whose rows refer to each other. */
export function finishReferred({ head, members, fault, spans, counted }: GatheredRecord): RecordRows {
  const rows = head === undefined ? members : [head, ...members];
  return recordOf([], { head, rows, children: members, fault, spans, counted });
}
