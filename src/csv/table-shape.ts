import { CsvError } from '../model/errors.ts';
import type { Row } from '../model/row.ts';

/** So many rows behind a supposed header show whether it is one. */
const ROWS_LOOKED_AT = 50;
/** So many lines may stand above a header. */
const MOST_PREAMBLE = 20;
const LONGEST_NAME = 60;

/**
 * Why a first line is likely no header but the title of a report, with the header further down; null where it is one.
 * Read as it is, the file has its own header among its data.
 */
export function titleAbove(first: Row, rows: readonly Row[], file: string): CsvError | null {
  const header = headerBelow(first, rows);
  if (header === undefined) return null;
  return new CsvError(
    `Line ${first.line} looks like a title, not like a header: the names of ${header.cells.length} columns seem to stand on line ${header.line}.`,
    {
      place: { file, line: first.line },
      hint: `Delete the lines above line ${header.line}, or export the table without a title.`,
    },
  );
}

/** The row that is the header where the first line is none. */
function headerBelow(first: Row, rows: readonly Row[]): Row | undefined {
  const named = filled(first);
  if (named.length > 2) return undefined;
  for (const [index, row] of rows.slice(0, MOST_PREAMBLE).entries()) {
    const { length } = row.cells;
    const below = rows.slice(index + 1, index + 1 + ROWS_LOOKED_AT);
    // A header with one name only is as wide as its rows, and the name is not a sentence.
    const isTitle = first.cells.length !== length || named.some((text) => text.includes(' '));
    if (
      isTitle &&
      length >= 2 &&
      named.length * 2 <= length &&
      below.length > 0 &&
      below.every(({ cells }) => cells.length === length) &&
      areNames(row.cells)
    ) {
      return row;
    }
    if (filled(row).length > 2) return undefined;
  }
  return undefined;
}

/** Whether cells can be the names of columns: all there, all different, words. */
function areNames(cells: readonly string[]): boolean {
  const names = new Set(cells.map((cell) => cell.trim().toLowerCase()));
  return (
    names.size === cells.length &&
    [...names].every((name) => name.length <= LONGEST_NAME && /\p{L}/u.test(name) && !isValue(name))
  );
}

/** Recognises rows that are a header again: the same names, or, in the first row, words above columns of values. */
export function headingRows(header: Row, rows: readonly Row[]): (row: Row) => boolean {
  const names = header.cells.map((cell) => cell.trim());
  const several = filled(header).length > 1;
  const [first, ...others] = rows;
  const second = first !== undefined && isSecondHeader(first, others) ? first : undefined;
  return (row) =>
    row === second ||
    (several &&
      row.cells.length === names.length &&
      row.cells.every((cell, index) => cell === names[index] || cell.trim() === names[index]));
}

const ROWS_FOR_A_KIND = 3;

/** Units or explanations under the names: words in at least two columns of values, and not one value. */
function isSecondHeader(first: Row, others: readonly Row[]): boolean {
  const texts = filled(first);
  if (texts.length < 2 || new Set(texts).size < texts.length || texts.some(isValue)) return false;
  const looked = others.slice(0, ROWS_LOOKED_AT);
  const ofValues = first.cells.filter((text, column) => {
    const cells = looked.map((row) => (row.cells[column] ?? '').trim()).filter((cell) => cell !== '');
    return text.trim() !== '' && cells.length >= ROWS_FOR_A_KIND && cells.every(isValue);
  });
  return ofValues.length >= 2;
}

/** Numbers with a currency or a unit, dates, addresses on the web and of e-mail. */
function isValue(text: string): boolean {
  return (
    /^[-+]?\p{Sc}?\s?[0-9][0-9.,' /:-]*(?:\s?(?:\p{Sc}|%|[A-Z]{3}|[a-z]{1,3}))?$/u.test(text) ||
    /^(?:https?:)?\/\//i.test(text) ||
    /^[^\s@]+@[^\s@]+$/.test(text)
  );
}

function filled(row: Row): readonly string[] {
  return row.cells.map((cell) => cell.trim()).filter((cell) => cell !== '');
}
