import type { Reason } from '../../model/reason.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import { mapDefined, type Scope } from '../scope.ts';
import type { GroupSpec } from '../spec/mapping-spec.ts';
import type { Condition } from '../spec/value.ts';
import { blankIfUnreadable, type Expression, type TypedExpression } from '../values/cell.ts';
import { columnsOf, compileCondition } from '../values/compile-condition.ts';
import { compileAs, headerOf } from '../values/compile-value.ts';
import { compileLinkedRows } from './compile-linked-rows.ts';
import {
  type Grouper,
  type Grouping,
  inFirstColumn,
  keyMissing,
  neighbourMisaligned,
  recordOf,
  repeatedRow,
  tooManyRows,
  trustedKey,
  ungroupedRow,
} from './grouping.ts';

/** Compiles the grouping. `key` identifies a record: the url of a product, the id of a contact. */
export function compileGrouping(scope: Scope, spec: GroupSpec | undefined, key: TypedExpression): Grouping {
  if (spec === undefined) return { open: () => rowGrouper(trustedKey(scope, key)) };
  const head = mapDefined(spec.head, (condition) => compileCondition(scope, ['group', 'head'], condition));
  if (spec.by !== undefined && spec.rows === 'adjacent') {
    const by = compileAs({ ...scope, field: 'key' }, ['group', 'by'], spec.by, 'text');
    return { open: () => adjacentGrouper(scope, by, head) };
  }
  return spec.starts === undefined ? compileLinkedRows(scope, spec, head, key) : byStart(scope, spec.starts);
}

/** Every row is a record. `keyOf` reads the key of a misaligned row, if it can be trusted. */
function rowGrouper(keyOf: (misaligned: SourceRow) => string | null): Grouper {
  return {
    add: (rows) =>
      rows.map((row) =>
        row.misaligned === undefined
          ? recordOf([row], { head: row, rows: [row] })
          : ungroupedRow(row, row.misaligned.reason, keyOf(row)),
      ),
    end: () => [],
    bounds: { endBefore: () => [], begins: () => true },
  };
}

/** The most unplaced rows that are kept until the next row with a key. */
const MAX_UNPLACED = 1000;

/**
 * Consecutive rows with the same key, which `by` reads, are a record. A row whose key cannot be read belongs to the previous or next
 * record if one of its cells names that record; otherwise both are in doubt. A row that repeats the one before it is left out.
 * @param head whether a row describes a record; a block without one is only a part
 */
function adjacentGrouper(scope: Scope, by: TypedExpression, head: Expression<boolean> | undefined): Grouper {
  const mostRows = scope.limits.recordRows;
  const keyOf = blankIfUnreadable(by.read);
  /** Whether the key of a misaligned row can be trusted. */
  const trusted = inFirstColumn(scope.columns, by.sources);
  /** Rows that cannot be placed before the next row with a key is known. */
  const unplaced: SourceRow[] = [];
  let current: Block<string> | undefined;
  /** A doubt about the next record. */
  let nextFault: Reason | undefined;
  const out: RecordRows[] = [];

  const take = () => out.splice(0);
  const flush = () => {
    if (current === undefined) return;
    const described = head && current.rows.find((row) => head(row, 0));
    out.push(current.record(described, described === undefined));
    current = undefined;
  };
  /** The block of the key: the current one, or a new one. */
  const blockOf = (key: string) => {
    let fault = nextFault;
    if (current?.key === key) {
      if (current.size < mostRows) return current;
      fault = tooManyRows(current.firstLine, mostRows);
      current.addFault(fault);
    }
    flush();
    nextFault = undefined;
    current = new Block(key, fault);
    return current;
  };
  const takeUnplaced = () =>
    unplaced.splice(0).map((row) => ({
      row,
      reason: row.misaligned?.reason ?? keyMissing(row.line, headerOf(scope, by.sources, row)),
      doubt: neighbourMisaligned(row.line),
    }));
  /** Places the unplaced rows, now that the next key is known. */
  const place = (nextKey: string | undefined) => {
    for (const { row, reason, doubt } of takeUnplaced()) {
      if (current !== undefined && (nextKey === current.key || isNamed(row, current.key))) {
        current.add(row, reason);
      } else if (nextKey !== undefined && isNamed(row, nextKey)) {
        blockOf(nextKey).add(row, reason);
      } else {
        out.push(ungroupedRow(row, reason));
        // A complete row that describes a record lacks only its own key; any other row may belong to a neighbour.
        if (row.misaligned === undefined && (head === undefined || head(row, 0))) continue;
        current?.addFault(doubt);
        if (nextKey !== undefined) nextFault = doubt;
      }
    }
  };
  const giveUp = () => {
    for (const { row, reason, doubt } of takeUnplaced()) {
      out.push(ungroupedRow(row, reason));
      current?.addFault(doubt);
      nextFault = doubt;
    }
  };
  return {
    add(rows) {
      for (const row of rows) {
        const key = keyOf(row, 0);
        const { misaligned } = row;
        const isCertain = misaligned === undefined || trusted(row) || key === current?.key;
        if (typeof key !== 'string' || !isCertain) {
          unplaced.push(row);
          if (unplaced.length > MAX_UNPLACED) giveUp();
          continue;
        }
        if (row.isCopy === true && misaligned === undefined && key === current?.key) {
          out.push(repeatedRow(row, key));
          continue;
        }
        if (unplaced.length > 0) place(key);
        blockOf(key).add(row, misaligned?.reason);
      }
      return take();
    },
    *end() {
      place(undefined);
      flush();
      yield take();
    },
    bounds: {
      endBefore(isName) {
        if (unplaced.length > 0 || nextFault !== undefined) return undefined;
        if (current !== undefined && isName(current.key)) return undefined;
        flush();
        return take();
      },
      begins(row, isName) {
        const key = row.misaligned === undefined ? keyOf(row, 0) : undefined;
        return typeof key === 'string' && !isName(key);
      },
    },
  };
}

function isNamed(row: SourceRow, key: string) {
  return row.misaligned?.cells.includes(key) ?? false;
}

/**
 * A row that meets the condition begins a record, and the following rows that do not meet it continue it; one that repeats the row
 * before it is left out. After an unreadable row, the next rows belong to an unknown record, until a record begins again.
 */
function byStart(scope: Scope, condition: Condition): Grouping {
  const starts = compileCondition(scope, ['group', 'starts'], condition);
  const decidedByFirst = inFirstColumn(scope.columns, columnsOf(condition));
  return { open: () => startsGrouper(starts, decidedByFirst, scope.limits.recordRows) };
}

/** `decidedByFirst`: whether a misaligned row shows if it begins a record. */
function startsGrouper(
  starts: Expression<boolean>,
  decidedByFirst: (row: SourceRow) => boolean,
  mostRows: number,
): Grouper {
  let current: Block<null> | undefined;
  const out: RecordRows[] = [];

  const flush = () => {
    if (current !== undefined) out.push(current.record(undefined, false));
    current = undefined;
  };
  const begin = (row: SourceRow, fault: Reason | undefined) => {
    flush();
    current = new Block(null, fault);
    current.add(row, fault);
  };
  const addMisaligned = (row: SourceRow, reason: Reason) => {
    const { firstSlots } = row.table;
    const fits = row.misaligned?.firstFits !== false;
    const cells = row.cells.map((cell, slot) => (fits && firstSlots.has(slot) ? cell : undefined));
    const doesBegin = starts({ ...row, cells }, 0);
    if (!doesBegin && decidedByFirst(row) && current !== undefined) {
      current.add(row, reason);
      return;
    }
    if (!doesBegin && !decidedByFirst(row)) current?.addFault(neighbourMisaligned(row.line));
    begin(row, reason);
  };
  const add = (row: SourceRow) => {
    if (row.misaligned !== undefined) {
      addMisaligned(row, row.misaligned.reason);
    } else if (starts(row, 0)) {
      begin(row, undefined);
    } else if (current === undefined) {
      const message = 'the row continues the product above it, but there is none';
      out.push(ungroupedRow(row, { code: 'nothing-to-continue', message, line: row.line }));
    } else if (row.isCopy === true) {
      out.push(repeatedRow(row, null));
    } else if (current.size >= mostRows) {
      // Rejected piece by piece, so that it need not be kept as a whole.
      const fault = tooManyRows(current.firstLine, mostRows);
      current.addFault(fault);
      begin(row, fault);
    } else {
      current.add(row, current.rows.length > 0 ? undefined : current.fault);
    }
  };
  const take = () => out.splice(0);
  const endAll = () => {
    flush();
    return take();
  };
  return {
    startTable: flush,
    add(rows) {
      for (const row of rows) add(row);
      return take();
    },
    *end() {
      yield endAll();
    },
    bounds: {
      endBefore: endAll,
      begins: (row) => row.misaligned === undefined && starts(row, 0),
    },
  };
}

/** Consecutive rows of one record. */
class Block<Key extends string | null> {
  /** The key, where they have one. */
  readonly key: Key;
  /** Those whose cells can be trusted. */
  readonly rows: SourceRow[] = [];
  readonly #all: SourceRow[] = [];
  fault: Reason | undefined;

  constructor(key: Key, fault: Reason | undefined) {
    this.key = key;
    this.fault = fault;
  }

  /** @param reason why its cells cannot be trusted; undefined where they can. */
  add(row: SourceRow, reason: Reason | undefined) {
    this.#all.push(row);
    if (reason === undefined) this.rows.push(row);
    else this.fault ??= reason;
  }

  get size(): number {
    return this.#all.length;
  }

  get firstLine(): number {
    return this.#all[0]?.line ?? 0;
  }

  addFault(reason: Reason) {
    this.fault ??= reason;
  }

  /** @param partial whether it may be only a part of a record. */
  record(head: SourceRow | undefined, partial: boolean) {
    const [rows, all] = [this.rows, this.#all];
    return recordOf(all, { head: head ?? rows[0], rows, fault: this.fault, key: this.key, partial });
  }
}
