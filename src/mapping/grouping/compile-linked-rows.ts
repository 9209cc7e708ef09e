import type { LinkFault, LinkKind, RecordMember, RowLinks, RowScratch } from '../../model/mapped-record.ts';
import type { Reason } from '../../model/reason.ts';
import type { BoundTable, RecordRows, SourceRow } from '../record-rows.ts';
import { mapDefined, namedAt, type Scope } from '../scope.ts';
import type { ChildrenSpec, GroupSpec } from '../spec/mapping-spec.ts';
import type { Value } from '../spec/value.ts';
import { blankIfUnreadable, type Expression, type TypedExpression } from '../values/cell.ts';
import { compileCondition } from '../values/compile-condition.ts';
import { compileAs, headerOf } from '../values/compile-value.ts';
import {
  type Grouper,
  type Grouping,
  inFirstColumn,
  recordOf,
  repeatedRow,
  spansOf,
  strayLinks,
  tooManyRows,
  trustedKey,
  UNLINKED,
} from './grouping.ts';

/** Compiles a grouping of rows that may be anywhere: by a key that they share, by their parent, or by the children that a row lists. */
export function compileLinkedRows(
  scope: Scope,
  spec: GroupSpec,
  head: Expression<boolean> | undefined,
  key: TypedExpression,
): Grouping {
  const { by, parent, children, names = [] } = spec;
  const alone = mapDefined(spec.alone, (condition) => compileCondition(scope, ['group', 'alone'], condition));
  if (by !== undefined) {
    const read = compileAs({ ...scope, field: 'key' }, ['group', 'by'], by, 'text');
    return byKey(scope, read, key, head, alone);
  }
  const namesOf = compileNames({ ...scope, field: 'group' }, names);
  if (parent !== undefined) return byParent(scope, parent, namesOf);
  if (children !== undefined) return byChildren(scope, children, namesOf, head, alone);
  throw new TypeError('the schema of mappings allows no other group');
}

/** Rows with the same value are a record, wherever they are; those that meet `alone` are records of their own. */
function byKey(
  scope: Scope,
  by: TypedExpression,
  key: TypedExpression,
  head: Expression<boolean> | undefined,
  alone: Expression<boolean> | undefined,
): Grouping {
  const trusted = inFirstColumn(scope.columns, by.sources);
  const keyOf = trustedKey(scope, key);
  const readBy = blankIfUnreadable(by.read);
  return linkedRows(
    scope,
    'key',
    (row) => {
      const key = readBy(row, 0);
      const certain = row.misaligned === undefined || trusted(row);
      if (typeof key !== 'string' || !certain) return strayLinks(row, headerOf(scope, by.sources, row));
      return row.misaligned === undefined && alone?.(row, 0) === true
        ? { ...UNLINKED, alone: true }
        : { ...UNLINKED, belongs: key };
    },
    (gathered) => finishKeyed(gathered, head, keyOf),
  );
}

/** A row that names a parent belongs to the row with that name; a row without a parent is a record. */
function byParent(outer: Scope, parent: string, namesOf: NamesOf): Grouping {
  const scope = { ...outer, field: 'group' };
  const reference = blankIfUnreadable(compileAs(scope, ['group', 'parent'], parent, 'text').read);
  return linkedRows(
    scope,
    'parent',
    (row) => {
      if (row.misaligned !== undefined) return strayLinks(row);
      const named = reference(row, 0);
      return typeof named === 'string'
        ? { ...UNLINKED, belongs: named }
        : { ...UNLINKED, names: namesOf(row) };
    },
    finishReferred,
  );
}

/**
 * A row that lists children is a record with them. A row is also a record if no other row lists it, or if it is sold
 * alone as well.
 */
function byChildren(
  scope: Scope,
  children: ChildrenSpec,
  namesOf: NamesOf,
  head: Expression<boolean> | undefined,
  alone: Expression<boolean> | undefined,
): Grouping {
  const referring = { ...scope, field: 'group' };
  const slot = slotOf(referring, ['group', 'children', 'cell'], children.cell);
  const labelSlot = mapDefined(children.labels, (name) =>
    slotOf(referring, ['group', 'children', 'labels'], name),
  );
  const referencesOf = (row: SourceRow) => parseChildren(row.cells[slot] ?? '', children);
  return linkedRows(
    scope,
    'children',
    (row) => {
      if (row.misaligned !== undefined) return strayLinks(row);
      const names = namesOf(row);
      const silent = head !== undefined && !head(row, 0);
      if (silent) {
        const [belongs] = names;
        return belongs === undefined ? strayLinks(row) : { ...UNLINKED, belongs, silent: true };
      }
      return {
        ...UNLINKED,
        names,
        wants: referencesOf(row).map(({ name }) => name),
        alone: alone?.(row, 0) ?? false,
      };
    },
    (gathered) => {
      const record = finishReferred(gathered);
      const { head: parent, children: found } = record;
      const references = mapDefined(parent, referencesOf) ?? [];
      const labels = parsePairs(parent?.cells[labelSlot ?? -1] ?? '', children);
      const childOptions = references.map(({ options }) => labelled(options, labels));
      const missing = {
        code: 'child-missing',
        message: `the row lists ${references.length} children, of which ${found.length} are others in the source`,
        ...(parent && { line: parent.line }),
      };
      const fault = record.fault ?? (references.length === found.length ? undefined : missing);
      return { ...record, childOptions, fault };
    },
  );
}

type Names = ReadonlyMap<string, string>;

function labelled(options: Names, labels: Names): Names {
  return new Map([...options].map(([code, value]) => [labels.get(code) ?? code, value]));
}

function slotOf(scope: Scope, path: readonly string[], name: string) {
  const named = namedAt(scope, path, name);
  if (named?.kind === 'column') return named.slot;
  if (named !== undefined) scope.problems.add(path, `${name} is not a single column`);
  return -1;
}

/** The names by which other rows may refer to a row. */
type NamesOf = (row: SourceRow) => readonly string[];

function compileNames(scope: Scope, names: readonly Value[]): NamesOf {
  const reads = names.map((name, index) =>
    blankIfUnreadable(compileAs(scope, ['group', 'names', index], name, 'text').read),
  );
  return (row) =>
    reads.flatMap((read) => {
      const name = read(row, 0);
      return typeof name === 'string' ? [name] : [];
    });
}

/** A child as the cell of its parent names it. */
interface ChildReference {
  readonly name: string;
  /** Its options by code. */
  readonly options: ReadonlyMap<string, string>;
}

/** Reads `sku=A,size=XS|sku=B,size=S`. A piece without `=` belongs to the previous value (`size=10,5 cm`). */
function parseChildren(cell: string, spec: ChildrenSpec): readonly ChildReference[] {
  const references: ChildReference[] = [];
  for (const item of cell.split(spec.items)) {
    if (item.trim() === '') continue;
    if (spec.reference === undefined) {
      references.push({ name: item.trim(), options: new Map() });
      continue;
    }
    const pairs = parsePairs(item, spec);
    const name = pairs.get(spec.reference);
    if (name !== undefined) {
      pairs.delete(spec.reference);
      for (const other of spec.except ?? []) pairs.delete(other);
      references.push({ name, options: pairs });
    }
  }
  return references;
}

/** Reads `code=value,code=value`. */
function parsePairs(text: string, spec: ChildrenSpec) {
  const pairs = new Map<string, string>();
  let last: string | undefined;
  for (const piece of text.split(spec.pairs)) {
    const at = piece.indexOf(spec.equals);
    if (at < 0) {
      if (last !== undefined) pairs.set(last, `${pairs.get(last)}${spec.pairs}${piece.trimEnd()}`);
      continue;
    }
    last = piece.slice(0, at).trim();
    pairs.set(last, piece.slice(at + spec.equals.length).trim());
  }
  return pairs;
}

/** Rows whose links say which record they belong to, gathered in a scratch. */
function linkedRows(
  { limits }: Scope,
  kind: LinkKind,
  linksOf: (row: SourceRow) => RowLinks,
  finish: (record: GatheredRecord) => RecordRows,
): Grouping {
  return { open: (openScratch) => scratchGrouper(openScratch(kind), linksOf, finish, limits.recordRows) };
}

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
function scratchGrouper(
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
  const gathered = (members: readonly Member[], tooMany: Reason | undefined) => {
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
function finishKeyed(
  gathered: GatheredRecord,
  head: Expression<boolean> | undefined,
  keyOf: (misaligned: SourceRow) => string | null,
) {
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
function finishReferred({ head, members, fault, spans, counted }: GatheredRecord) {
  const rows = head === undefined ? members : [head, ...members];
  return recordOf([], { head, rows, children: members, fault, spans, counted });
}
