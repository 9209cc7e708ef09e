import { withoutUndefined } from '../model/json-object.ts';
import type { MappedRecord } from '../model/mapped-record.ts';
import type { Reason } from '../model/reason.ts';
import { booleanWord, DATE_CELL, isErrorValue, isMark, type Row, SHOWN_AS } from '../model/row.ts';
import type { Binding } from './columns/bind-table.ts';
import {
  type BoundTable,
  type Misalignment,
  type RecordRows,
  type SourceRow,
  withRows,
} from './record-rows.ts';
import { baseField, namedAt, type Scope } from './scope.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import type { Condition } from './spec/value.ts';
import { spellingsOf } from './transforms/boolean.ts';
import { compilePattern, rememberingLast } from './transforms/compile-pattern.ts';
import { cleanCell, refuse } from './values/cell.ts';
import { columnsOf, compileCondition } from './values/compile-condition.ts';

/** Finds out why the cells of a row may not belong to their headers; `cells` are those by slot. */
export type AlignmentCheck = (row: Row, cells: Cells, binding: Binding) => Misalignment | undefined;

type Cells = readonly (string | undefined)[];

/** Compiles the signs of a shifted row: its length, cells that do not fit, and cells that contradict each other. */
export function compileAlignment(scope: Scope, spec: MappingSpec): AlignmentCheck {
  const checks = [compileExpectations(scope, spec.expect ?? {}), compileShifted(scope, spec.misaligned)];
  const padsShortRows = spec.csv?.shortRows === 'pad';
  const contradiction = (cells: Cells, table: BoundTable, line: number, only?: ReadonlySet<number>) => {
    for (const check of checks) {
      const reason = check(cells, table, line, only);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
  return (row, cells, binding) => {
    const { table } = binding;
    const reason = wrongLength(row, binding, padsShortRows) ?? contradiction(cells, table, row.line);
    if (reason === undefined) return undefined;
    return {
      reason,
      cells: row.cells.map((cell) => cell.trim()),
      firstFits: contradiction(cells, table, row.line, table.firstSlots) === undefined,
    };
  };
}

/**
 * An extra cell counts even if it is blank: if the last columns are often blank, it is the only sign of a comma
 * without quotes.
 */
function wrongLength(
  { cells, line }: Row,
  { width, surplus }: Binding,
  padsShortRows: boolean,
): Reason | undefined {
  const isLong = cells.length > width || surplus.some((index) => cleanCell(cells[index]) !== undefined);
  if (!isLong && (cells.length === width || padsShortRows)) return undefined;
  return {
    code: isLong ? 'row-too-long' : 'row-too-short',
    message: `the row has ${cells.length} cells under ${width} headers: look for a missing or extra delimiter or quote`,
    line,
  };
}

/** Finds the first cell that does not fit its column. With `only`, among the cells of these slots. */
type CellsCheck = (
  cells: Cells,
  table: BoundTable,
  line: number,
  only?: ReadonlySet<number>,
) => Reason | undefined;

/** Compiles the mapping's expectations about cells. */
function compileExpectations(scope: Scope, spec: NonNullable<MappingSpec['expect']>): CellsCheck {
  const checks = Object.entries(spec).flatMap(([name, expected]) => {
    const named = namedAt(scope, ['expect', name], name);
    if (named === undefined || named.kind === 'param') {
      if (named !== undefined) scope.problems.add(['expect', name], `${name} is not a column`);
      return [];
    }
    const fits = fitting(scope, name, expected);
    const words = typeof expected === 'string' ? '' : ` (${expected.join(', ')})`;
    const slots = named.kind === 'column' ? [named.slot] : named.family.slots;
    return [{ slots, fits, words }];
  });
  if (checks.length === 0) return () => undefined;
  return (cells, table, line, only) => {
    for (const { slots, fits, words } of checks) {
      for (const slot of slots.values()) {
        if (only?.has(slot) === false) continue;
        const text = cleanCell(cells[slot]);
        // The error of a spreadsheet replaces the value: its record is wrong, but the row has not shifted.
        if (text !== undefined && !fits(text) && !isErrorValue(text)) {
          return withoutUndefined({
            code: 'cell-unexpected',
            message: `${scope.quote(text)} does not fit this column${words}: has the row shifted?`,
            line,
            column: table.headers[slot],
          });
        }
      }
    }
    return undefined;
  };
}

/** Compiles the condition that only a shifted row meets. With `only`: if it uses one of these slots. */
function compileShifted(scope: Scope, condition: Condition | undefined): CellsCheck {
  if (condition === undefined) return () => undefined;
  const test = compileCondition(scope, ['misaligned'], condition);
  const slots = columnsOf(condition).map((name) => scope.columns.declared.get(name)?.slot ?? -1);
  return (cells, table, line, only) =>
    (only === undefined || slots.some((slot) => only.has(slot))) &&
    test({ table, seq: 0, line, cells, misaligned: undefined, chars: 0 }, 0)
      ? {
          code: 'row-shifted',
          message: 'the cells of this row do not fit together: has the row shifted?',
          line,
        }
      : undefined;
}

function fitting(scope: Scope, name: string, expected: string | readonly (string | number | boolean)[]) {
  if (typeof expected !== 'string') {
    const words = new Set(expected.flatMap((word) => [...spellingsOf(word)]));
    return rememberingLast((text) => words.has(booleanWord(text)));
  }
  const pattern = compilePattern(expected, scope.limits.patternLength, (message) =>
    scope.problems.add(['expect', name], message),
  );
  return rememberingLast((text) => pattern?.testExact(text) ?? false);
}

/** Finds damaged cells among those that a record is made of. */
export type DamageCheck = ReturnType<typeof compileDamageCheck>;

/** Fields of long text, in which a lost character damages only a word. */
const LONG_TEXT: ReadonlySet<string> = new Set(['description', 'note', 'properties', 'images']);
/** Fields of text for people, which keep their meaning without control characters. */
const PROSE: ReadonlySet<string> = new Set(
  [...LONG_TEXT].concat('title name categories tags address city state zip country companyName'.split(' ')),
);
/** Codes, which must not lose a digit. `group`: the references between rows. */
const CODES: ReadonlySet<string> = new Set(['url', 'id', 'key', 'group', 'match', 'sku', 'phone']);
/** The places that decide the key of a record. */
const KEYS: ReadonlySet<string> = new Set(['url', 'id', 'key', 'match']);
/** The places that are read only from the row that describes the record. */
const OF_HEAD: ReadonlySet<string> = new Set(['title', 'description', 'hidden', 'categories', 'type']);
/** Places that test cells but take no value from them. */
const LOOKS_ONLY: ReadonlySet<string> = new Set(['expect', 'inherit']);

/** All characters of the class Cc except tabs and line ends. */
const CONTROLS = /[^\P{Cc}\t\n\r]/u;
const EVERY_CONTROL = new RegExp(CONTROLS, 'gu');
/** Nearly every cell is intact: one test excludes it. */
const SUSPECT = /[^\P{Cc}\t\n\r]|\ufffd|^\s*(?:#|NaN|Err:)|[eE]\+|[.,][0-9]+[eE][0-9]|\(shown\u00a0as/u;
/** Without a sign only after a fraction, because `5E10` may be a code. */
const EXPONENT = /^[-+]?[0-9](?:(?:[.,][0-9]+)?[eE]\+|[.,][0-9]+[eE])[0-9]{1,3}$/;

/** A cell that a workbook has as a date or time, as rejects and `readCell` give it. */
const DATE = /^[-+0-9T:.Z]+ \(date\)$/;

const SHOWN_TEXTS: ReadonlySet<string> = new Set(['sku', 'options', 'title', 'match']);

/** Whether a workbook shows only other signs between the digits: no difference in a phone number. */
function isParted(text: string) {
  const [cell = '', shown = ''] = text.split(` ${SHOWN_AS}`);
  const signs = shown.replaceAll(/\[[^[\]]*(?:\]|$)/g, '');
  const hasAllDigits = !signs.includes('0') || digitsOf(signs) === digitsOf(cell);
  return hasAllDigits && !/["+\p{L}]/u.test(signs);
}

function digitsOf(text: string) {
  return text.replaceAll(/\D/g, '');
}

/** The texts of a field that a number must not be alone which a workbook shows otherwise. */
function shownTexts(body: MappedRecord['body'], field: string): readonly unknown[] {
  if (!('variants' in body)) return 'phone' in body && field === 'phone' ? [body.phone] : [];
  if (field === 'title') return [body.title];
  if (field === 'sku') return body.variants.map(({ sku }) => sku);
  return 'options' in body ? body.options.flatMap(({ values }) => values) : [];
}

/** A header under which a date is what it says, or the name of an option: courses are sold by theirs. */
const OF_DATES =
  /(?:dat(?:e|um|a|o)s?|datetime|days?|times?|termine?|zeit|jour|heure|horaire|hora|fecha|дата|日期|日付)(?:[^\p{L}]|$)/iu;

/** The treatment of a damaged cell: refuse the record, send it with a note, or leave it to the reading of the field. */
type Treatment = 'refuse' | 'note' | 'leave';

/** A sign that a program has damaged the value of a cell. */
interface Damage {
  readonly code: string;
  readonly isIn: (text: string) => boolean;
  /** `saysDate`: whether the field is said to have dates. */
  readonly treatment: (field: string, saysDate: (field: string) => boolean, text: string) => Treatment;
  /** Of a refused record, after the value. */
  readonly explanation: string;
  readonly note?: string;
}

const SHOWN_OTHERWISE = 'shown-otherwise';

const DAMAGES: readonly Damage[] = [
  {
    code: 'spreadsheet-error',
    isIn: isErrorValue,
    // Texts that are not addresses are left out and noted anyway.
    treatment: (field) => (field === 'images' ? 'leave' : 'refuse'),
    explanation: 'is the error of a spreadsheet or a program, not a value: correct the cell or its formula',
  },
  {
    code: 'characters-lost',
    isIn: (text) => text.includes('\ufffd'),
    treatment: (field) => (LONG_TEXT.has(field) ? 'note' : 'refuse'),
    explanation:
      'has lost characters (U+FFFD) when its file was converted from another charset: export it again',
    note: 'characters were lost when the file was converted (U+FFFD), sent as it is',
  },
  {
    code: 'control-characters',
    isIn: (text) => CONTROLS.test(text),
    treatment: (field) => (PROSE.has(field) ? 'note' : 'refuse'),
    explanation: 'contains control characters, which no text has: correct it, or export it again',
    note: 'control characters, removed',
  },
  {
    code: 'digits-lost',
    isIn: (text) => EXPONENT.test(text),
    treatment: (field) => (CODES.has(field) ? 'refuse' : 'leave'),
    explanation:
      'is a number that a spreadsheet has shortened, so that its digits are lost: export it again, and format the column as text',
  },
  {
    code: SHOWN_OTHERWISE,
    isIn: (text) => text.includes(` ${SHOWN_AS}`) && text.endsWith(')'),
    treatment: (field, _, text) =>
      SHOWN_TEXTS.has(field) || (field === 'phone' && !isParted(text))
        ? 'refuse'
        : PROSE.has(field)
          ? 'note'
          : 'leave',
    explanation:
      'is a number that the workbook shows otherwise: make its format General, or format the cell as text and type what is to be sent',
    note: 'a number without what the workbook shows beside it, sent as it is',
  },
  {
    code: 'made-a-date',
    isIn: (text) => DATE.test(text),
    treatment: (field, saysDate) =>
      (CODES.has(field) || field === 'options') && !saysDate(field) ? 'refuse' : 'leave',
    explanation:
      'is a date or time in the workbook, which spreadsheets make of 2-3 and 1:87: format the column as text, and type the value again',
  },
];

function isSuspect(cell: string) {
  return cell.endsWith(DATE_CELL) || SUSPECT.test(cell);
}

/** The text of a cell, with its mark. */
function readCell({ cells, currencies }: SourceRow, slot: number) {
  const cell = cells[slot];
  return cell && withMark(cell, currencies?.[slot]);
}

function withMark(cell: string, named: string | undefined) {
  const mark = named?.split(' ').find(isMark);
  return mark === undefined ? cell : `${cell} ${mark}`;
}

/** Refuses a cell of a lookup table that would be refused in the source, in a column with this header. */
export function refuseDamaged(
  { field, quote }: Pick<Scope, 'field' | 'quote'>,
  table: string,
  header: string,
  cell: string,
  named: string | undefined,
): void {
  const text = withMark(cell, named);
  if (!isSuspect(text)) return;
  for (const { code, explanation, treatment } of damagesOf(text))
    if (treatment(baseField(field), () => OF_DATES.test(header), text) === 'refuse')
      refuse(code, `${quote(printed(text))} in the lookup table ${table}, column ${header}, ${explanation}`);
}

/** Damaged cells that a reason names. */
const MAX_FAULTS = 100;

function damagesOf(cell: string): readonly Damage[] {
  const text = cell.trim();
  const [bare = ''] = text.split(` ${SHOWN_AS}`);
  return DAMAGES.filter(({ code, isIn }) => isIn(code === SHOWN_OTHERWISE ? text : bare));
}

/** Compiles the check, after everything that reads columns, because only used columns matter. */
export function compileDamageCheck(scope: Scope) {
  const { columns, reads, notes, quote } = scope;
  const fieldsBySlot = new Map<number, ReadonlySet<string>>();
  let keySlots: readonly number[] = [];
  let known = -1;
  /** Numbers that the workbook shows otherwise, of the record that was checked last: refused where a text is nothing else. */
  let shown: { readonly text: string; readonly fields: readonly string[]; readonly reason: Reason }[] = [];
  // Families of columns and the rest get their slots when files are opened.
  const learn = () => {
    if (known !== columns.slotCount) {
      known = columns.slotCount;
      for (const [name, fields] of reads) {
        const column = columns.declared.get(name);
        const slots = column?.family?.slots.values() ?? (column?.slot === undefined ? [] : [column.slot]);
        for (const one of slots) fieldsBySlot.set(one, fields);
      }
      for (const one of columns.rest.values()) fieldsBySlot.set(one, new Set(['properties']));
      keySlots = [...fieldsBySlot].flatMap(([slot, fields]) =>
        [...fields].some((field) => KEYS.has(field)) ? [slot] : [],
      );
    }
  };
  const readFrom = (row: SourceRow, slot: number, isHead: boolean) =>
    [...(fieldsBySlot.get(slot) ?? [])].filter(
      (field) => !LOOKS_ONLY.has(field) && (isHead || !OF_HEAD.has(field)) && row.cells[slot] !== undefined,
    );
  const keyIsDamaged = (row: SourceRow) => {
    learn();
    return keySlots.some((slot) => {
      const cell = readCell(row, slot);
      if (cell === undefined || !isSuspect(cell)) return false;
      const isOfDates = OF_DATES.test(row.table.headers[slot] ?? '');
      return damagesOf(cell).some(({ treatment }) => treatment('key', () => isOfDates, cell) === 'refuse');
    });
  };
  /** Whether a cell of the record has the name of an option with dates. */
  const hasOptionOfDates = ({ head }: RecordRows) =>
    head?.cells.some(
      (cell = '', slot) =>
        fieldsBySlot.get(slot)?.has('options') === true && OF_DATES.test(cell) && !cell.endsWith(DATE_CELL),
    ) === true;
  return {
    /** Whether the cell that names the record is damaged: then its key is unknown. */
    keyIsDamaged,
    /** Why the record cannot be sent; otherwise its rows, without characters that no text may have (which is noted). */
    check(rows: RecordRows): RecordRows | { readonly refused: Reason; readonly keyIsKnown: boolean } {
      learn();
      const cleaned = new Map<SourceRow, SourceRow>();
      const faults: Reason[] = [];
      shown = [];
      let keyIsKnown = true;
      for (const row of rows.rows) {
        // Pairs of `entries` were a tenth of the garbage of a plan.
        for (let slot = 0; slot < row.cells.length; slot++) {
          const cell = readCell(row, slot);
          if (cell === undefined || cell === '' || !isSuspect(cell)) continue;
          const fields = readFrom(row, slot, row === rows.head);
          for (const damage of damagesOf(cell)) {
            const { code, treatment, explanation, note } = damage;
            const column = row.table.headers[slot];
            const saysDate = (field: string) =>
              OF_DATES.test(column ?? '') || (field === 'options' && hasOptionOfDates(rows));
            const treatedAs = (wanted: Treatment) =>
              fields.filter((field) => treatment(field, saysDate, cell) === wanted);
            const refusing = treatedAs('refuse');
            if (refusing.length > 0) {
              const message = `${quote(printed(cell.trim()))} ${explanation}`;
              const reason: Reason = withoutUndefined({ code, message, line: row.line, column });
              const text = row.cells[slot]?.trim() ?? '';
              if (code === SHOWN_OTHERWISE && refusing[0] !== 'match' && !text.includes(SHOWN_AS)) {
                shown.push({ text, fields: refusing, reason });
                continue;
              }
              keyIsKnown &&= !refusing.some((field) => KEYS.has(field));
              if (faults.length >= MAX_FAULTS) continue;
              faults.push(reason);
              continue;
            }
            const [noted] = treatedAs('note');
            if (noted !== undefined) {
              notes.push(`${noted}: ${note}`);
              cleaned.set(row, withoutControls(cleaned.get(row) ?? row, slot));
            }
          }
        }
      }
      const refused = joined(faults);
      if (refused !== undefined) return { refused, keyIsKnown };
      return cleaned.size === 0 ? rows : withRows(rows, (row) => cleaned.get(row) ?? row);
    },
    /** Why what was made of the rows that were checked last cannot be sent. */
    refusalOf(body: MappedRecord['body']): Reason | undefined {
      const isSent = (text: string) => (sent: unknown) =>
        sent === text || (typeof sent === 'string' && sent !== '' && Number(sent) === Number(text));
      const refused = shown.filter(({ text, fields }) =>
        fields.some((field) => shownTexts(body, field).some(isSent(text))),
      );
      return joined(refused.slice(0, MAX_FAULTS).map(({ reason }) => reason));
    },
  };
}

function joined([first, ...also]: readonly Reason[]): Reason | undefined {
  return first === undefined || also.length === 0 ? first : { ...first, also };
}

/** Control characters in a form that a terminal may show. */
function printed(text: string) {
  return text.replaceAll(EVERY_CONTROL, '\ufffd');
}

function withoutControls(row: SourceRow, slot: number): SourceRow {
  const cells = [...row.cells];
  cells[slot] = cells[slot]?.replaceAll(EVERY_CONTROL, '');
  return { ...row, cells };
}
