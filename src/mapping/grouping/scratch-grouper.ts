import type { LinkFault, RecordMember, RowLinks, RowScratch } from '../../model/mapped-record.ts';
import type { Reason } from '../../model/reason.ts';
import type { BoundTable, RecordRows, SourceRow } from '../record-rows.ts';
import type { Expression } from '../values/cell.ts';
import { type Grouper, recordOf, repeatedRow, spansOf, tooManyRows } from './grouping.ts';

const BATCH = 200;

/** A row of a record. */
interface Member extends RecordMember {
  readonly row: SourceRow;
  /** Whether it adds no values to the record. */
  readonly isAside: boolean;
}

/** A row as the scratch has it; in JSON, null is a column that the file lacks. */
type StoredRow = [
  table: number,
  line: number,
  cells: (string | null)[],
  isAside: boolean,
  misaligned: SourceRow['misaligned'] | null,
  currencies: SourceRow['currencies'] | null,
];

/**
 * Rows of one record may be anywhere: all of them are kept until the source has ended, but those that repeat the row before
 * them and belong to a record are left out.
 */
export function scratchGrouper(
  scratch: RowScratch,
  linksOf: (row: SourceRow) => RowLinks,
  finish: (record: GatheredRecord) => RecordRows,
  mostRows: number,
): Grouper {
  const tables: BoundTable[] = [];
  const memberOf = (member: RecordMember): Member => {
    const [number, line, cells, isAside, misaligned, currencies]: StoredRow = JSON.parse(member.text);
    const table = tables[number];
    if (table === undefined) throw new Error('a row of the scratch is not as it was written');
    const row = {
      table,
      seq: member.seq,
      line,
      cells: cells.map((cell) => cell ?? undefined),
      currencies: currencies ?? undefined,
      misaligned: misaligned ?? undefined,
      chars: member.text.length,
    };
    return { ...member, row, isAside };
  };
  const gathered = (members: readonly Member[], tooMany: Reason | undefined): RecordRows => {
    const found = members[0] && scratch.faultOf(members[0].record);
    const misaligned = members.flatMap(({ row }) => (row.misaligned === undefined ? [] : [row]));
    const own = members.filter(({ isAside, row }) => !isAside && row.misaligned === undefined);
    const readable = found?.keyIsKnown === false ? [] : own;
    return finish({
      head: readable.find(({ isHead }) => isHead)?.row,
      members: readable.filter(({ isHead }) => !isHead).map(({ row }) => row),
      misaligned,
      fault: tooMany ?? (found && reasonOf(found.fault)) ?? misaligned[0]?.misaligned?.reason,
      spans: spansOf(distinct(members)),
      counted: new Set(members.flatMap(({ isCounted, seq }) => (isCounted ? [seq] : []))).size,
    });
  };
  /** The records. One with too many rows comes in pieces, all of which are rejected. */
  function* records(): Iterable<RecordRows> {
    let members: Member[] = [];
    let tooMany: Reason | undefined;
    for (const stored of scratch.members()) {
      const member = memberOf(stored);
      const [first] = members;
      const next = first !== undefined && first.record !== member.record;
      if (next || members.length >= mostRows) {
        tooMany ??= next ? undefined : tooManyRows(first?.row.line ?? member.row.line, mostRows);
        yield gathered(members, tooMany);
        members = [];
        tooMany = next ? undefined : tooMany;
      }
      members.push(member);
    }
    if (members.length > 0) yield gathered(members, tooMany);
  }
  return {
    startTable() {
      // Rows of one record may be in several files.
    },
    add(rows) {
      const repeated: RecordRows[] = [];
      for (const row of rows) {
        const links = linksOf(row);
        const { seq, line, table, cells, misaligned, currencies } = row;
        if (row.isCopy === true && misaligned === undefined && links.belongs !== null) {
          repeated.push(repeatedRow(row, links.belongs));
          continue;
        }
        const isAside = links.silent || links.stray !== undefined;
        const known = tables.lastIndexOf(table);
        const number = known < 0 ? tables.push(table) - 1 : known;
        const text = JSON.stringify([number, line, cells, isAside, misaligned, currencies]);
        scratch.add({ seq, line, text }, links);
      }
      return repeated;
    },
    *end() {
      let batch: RecordRows[] = [];
      for (const record of records()) {
        batch.push(record);
        if (batch.length < BATCH) continue;
        yield batch;
        batch = [];
      }
      yield batch;
    },
  };
}

function reasonOf(fault: Reason | LinkFault): Reason {
  if ('message' in fault) return fault;
  const { problem, line, name, from } = fault;
  const quoted = JSON.stringify(name);
  const messages = {
    'parent-ambiguous': `another product has the same name ${quoted}, to which the row in line ${from} refers`,
    'parent-missing': `the parent ${quoted} is not in the source`,
    'child-missing': `the child ${quoted} is not in the source`,
    'child-ambiguous': `several rows have the name ${quoted}`,
    undescribed: `no row describes ${quoted}, which this one adds to`,
  };
  const code = problem === 'undescribed' ? 'parent-missing' : problem;
  return { code, message: messages[problem], line };
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
  head: Expression<boolean> | undefined,
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
