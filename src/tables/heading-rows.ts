import type { Row } from '../model/row.ts';
import { HeaderRowError } from '../model/storeferry-error.ts';

/** The most rows after a supposed header that are compared with it. */
const MAX_COMPARED_ROWS = 50;
/** The most lines above a header. */
const MAX_PREAMBLE_LINES = 20;
const MAX_NAME_LENGTH = 60;

/**
 * The doubt that the first line is the title of a report and the header is further down, among the data; null without
 * doubt.
 */
export function detectTitle(
  first: Row,
  rows: readonly Row[],
  file: string,
  noun: 'line' | 'row' = 'line',
): HeaderRowError | null {
  const header = findHeaderBelow(first, rows);
  if (header === undefined) return null;
  return new HeaderRowError(
    `${noun[0]?.toUpperCase()}${noun.slice(1)} ${first.line} looks like a title, not like a header: the names of ${filledCells(header).length} columns seem to be in ${noun} ${header.line}.`,
    header.line,
    {
      place: { file, line: first.line },
      hint: `Set \`headerRow: ${header.line}\` in the source of the job, or delete the ${noun}s above ${noun} ${header.line}.`,
    },
  );
}

/** The header below a title, or below a comment. */
function findHeaderBelow(first: Row, rows: readonly Row[]) {
  const texts = filledCells(first);
  const named = [...new Set(texts)];
  const isRepeated = texts.length > named.length;
  const isComment = texts.every((text) => /^#\s*\S/.test(text));
  if (named.length > 2 && !isRepeated && !isComment) return undefined;
  // A title in merged cells, as sheets have it: each of them holds it.
  const isMerged = named.length === 1 && isRepeated;
  for (const [index, row] of rows.slice(0, MAX_PREAMBLE_LINES).entries()) {
    const below = rows.slice(index + 1, index + 1 + MAX_COMPARED_ROWS);
    const names = withoutBlankColumns(row, below);
    const { length } = names;
    // A header with a single name is as wide as its rows, and the name is one word.
    const isTitle = isMerged || first.cells.length !== length || named.some((text) => text.includes(' '));
    // Names over groups of columns, in merged cells: Article, Article, Price, Price.
    const isOverGroups = isRepeated && isSecondHeader(row, rows.slice(index + 1));
    if (
      (isComment || isOverGroups || (isTitle && named.length <= 2 && named.length * 2 <= length)) &&
      length >= 2 &&
      below.length > 0 &&
      below.every(({ cells }) => cells.length === row.cells.length) &&
      areNames(names)
    ) {
      return row;
    }
    if (new Set(filledCells(row)).size > 2) return undefined;
  }
  return undefined;
}

/** The cells of a row without those at its end whose columns are blank: a merged title may be wider than the table. */
function withoutBlankColumns({ cells }: Row, below: readonly Row[]): readonly string[] {
  const isBlank = (index: number) =>
    [cells, ...below.map((row) => row.cells)].every((row) => (row[index] ?? '').trim() === '');
  let length = cells.length;
  while (length > 0 && isBlank(length - 1)) length--;
  return cells.slice(0, length);
}

/** Whether cells can be column names: none blank, all different, words. */
function areNames(cells: readonly string[]) {
  const names = new Set(cells.map((cell) => cell.trim().toLowerCase()));
  return (
    names.size === cells.length &&
    [...names].every((name) => name.length <= MAX_NAME_LENGTH && /\p{L}/u.test(name) && !isValue(name))
  );
}

/** Recognises repeated headers: the same names, or, in the first row, words above columns of values. */
export function headingRows(header: Row, rows: readonly Row[]): (row: Row) => boolean {
  const names = header.cells.map((cell) => cell.trim());
  const several = filledCells(header).length > 1;
  const [first, ...others] = rows;
  const second = first !== undefined && isSecondHeader(first, others) ? first : undefined;
  return (row) =>
    row === second ||
    (several &&
      row.cells.length === names.length &&
      row.cells.every((cell, index) => cell === names[index] || cell.trim() === names[index]));
}

const MIN_ROWS_PER_KIND = 3;

/** A second header, such as units: words above at least two columns of values, and no value among them. */
function isSecondHeader(first: Row, others: readonly Row[]) {
  const texts = filledCells(first);
  if (texts.length < 2 || new Set(texts).size < texts.length || texts.some(isValue)) return false;
  const looked = others.slice(0, MAX_COMPARED_ROWS);
  const ofValues = first.cells.filter((text, column) => {
    const cells = looked.map((row) => (row.cells[column] ?? '').trim()).filter((cell) => cell !== '');
    return text.trim() !== '' && cells.length >= MIN_ROWS_PER_KIND && cells.every(isValue);
  });
  return ofValues.length >= 2;
}

/** Numbers, also with currency or unit, dates, web and e-mail addresses. */
function isValue(text: string) {
  return (
    /^[-+]?\p{Sc}?\s?[0-9][0-9.,' /:-]*(?:\s?(?:\p{Sc}|%|[A-Z]{3}|[a-z]{1,3}))?$/u.test(text) ||
    /^(?:https?:)?\/\//i.test(text) ||
    /^[^\s@]+@[^\s@]+$/.test(text)
  );
}

function filledCells(row: Row): readonly string[] {
  return row.cells.map((cell) => cell.trim()).filter((cell) => cell !== '');
}
