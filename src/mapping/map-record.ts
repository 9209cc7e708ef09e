import type { DeferredRecord, Mapped } from '../model/mapped-record.ts';
import type { Reason } from '../model/reason.ts';
import type { Joins } from './compile-joins.ts';
import type { DamageCheck } from './damage-check.ts';
import type { Clock } from './product/pricing.ts';
import { memoOf, type RecordRows } from './record-rows.ts';
import { slugify } from './transforms/slug.ts';
import { attempt, type Cell, type Expression, type Faults, Unreadable } from './values/cell.ts';

/** A body that can be sent, or why the record is left out on purpose. */
export type Built =
  | { readonly body: Extract<Mapped, { kind: 'record' }>['body'] }
  | { readonly skipped: Reason };

/** Builds records from rows. */
export interface RecordMapper {
  readonly key: Expression<Cell, RecordRows>;
  /** The name of the key: `url` or `id`. */
  readonly keyField: string;
  readonly skips: readonly { readonly test: Expression<boolean>; readonly reason: string }[];
  readonly damage: DamageCheck;
  readonly joins: Joins;
  /** Emptied before each record; notes from building a record belong to that record. */
  readonly notes: string[];
  readonly faults: Faults;
  /** Reset before each record: whether the record depends on the time of the import. */
  readonly clock: Clock;
  /** Throws Unreadable if the rows make no record. */
  readonly build: (rows: RecordRows, key: string) => Built;
}

/**
 * Makes a record, a rejection or a skip from the rows. The key is read first, so that it is known even if the rest
 * fails. The record keeps the memo if it is valid: nothing was noted, and no date was judged.
 */
export function mapRecord(mapper: RecordMapper, rows: RecordRows, memo?: string): Mapped {
  return mapWithKey(mapper, rows, beginRecord(mapper, rows), memo);
}

/** Forgets the notes of the previous record, and reads the key; undefined if it is blank, or no row can be read. */
function beginRecord(mapper: RecordMapper, rows: RecordRows): Cell | Unreadable {
  mapper.notes.length = 0;
  mapper.clock.asked = false;
  return rows.head === undefined ? undefined : keyOf(mapper, rows);
}

function mapWithKey(
  mapper: RecordMapper,
  rows: RecordRows,
  read: Cell | Unreadable,
  memo: string | undefined,
): Mapped {
  const { head, fault, isLeftOut, spans, counted, partial } = rows;
  const key = typeof read === 'string' ? read : rows.key;
  const from = partial ? ({ spans, rows: counted, partial } as const) : { spans, rows: counted };
  const reject = (reason: Reason): Mapped => ({ kind: 'rejected', key, reason, ...from });
  if (fault !== undefined)
    return isLeftOut ? { kind: 'skipped', key, reason: fault, ...from } : reject(fault);
  const skip = head && mapper.skips.find(({ test }) => test(head, 0));
  if (skip !== undefined) {
    const reason = { code: slugify(skip.reason), message: skip.reason, line: head?.line ?? 0 };
    return { kind: 'skipped', key, reason, ...from };
  }
  const sound = mapper.damage.check(rows);
  if ('refused' in sound) {
    return { kind: 'rejected', key: sound.keyIsKnown ? key : null, reason: sound.refused, ...from };
  }
  if (key === null || typeof read !== 'string') {
    const why = read instanceof Unreadable ? read : new Unreadable('key-missing', 'the key is blank');
    return reject(why.in(mapper.keyField).reason(head?.line));
  }
  const unjoined = mapper.joins.fault(rows);
  if (unjoined !== undefined) return reject(unjoined);
  const built = attempt((all: RecordRows) => mapper.build(all, key), sound, 0);
  if (built instanceof Unreadable) {
    return reject(mapper.faults.all(built.reason(head?.line), () => mapper.build(sound, key), head?.line));
  }
  if ('skipped' in built) return { kind: 'skipped', key, reason: built.skipped, ...from };
  return {
    kind: 'record',
    key,
    body: built.body,
    ...from,
    // Notes are counted per record, even if several cells of a record give the same note.
    ...(mapper.notes.length === 0 ? {} : { notes: [...new Set(mapper.notes)] }),
    ...(memo === undefined || mapper.notes.length > 0 || mapper.clock.asked ? {} : { memo }),
  };
}

/** The key of a record, or why it cannot be read. */
export function keyOf({ key }: RecordMapper, rows: RecordRows): Cell | Unreadable {
  return attempt(key, rows, 0);
}

/**
 * Defers the mapping of the rows until the plan needs it. Rows that are certainly no record, or may be only a part of
 * one, are mapped at once. `context` is a digest of everything besides the rows.
 */
export function deferRecord(
  mapper: RecordMapper,
  rows: RecordRows,
  context: string,
): Mapped | DeferredRecord {
  const { head, fault, spans, counted, partial } = rows;
  const key = beginRecord(mapper, rows);
  if (
    head === undefined ||
    fault !== undefined ||
    partial ||
    typeof key !== 'string' ||
    mapper.skips.some(({ test }) => test(head, 0)) ||
    mapper.damage.keyIsDamaged(head) ||
    mapper.joins.fault(rows) !== undefined
  ) {
    return mapWithKey(mapper, rows, key, undefined);
  }
  const memo = memoOf(context, rows);
  return {
    kind: 'deferred',
    key,
    spans,
    rows: counted,
    memo,
    chars: rows.rows.reduce((sum, row) => sum + row.chars, 0),
    map: () => mapRecord(mapper, rows, memo),
  };
}
