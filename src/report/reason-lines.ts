import type { ReasonGroup } from '../model/plan.ts';
import { LINES_KEPT } from '../model/reason-tally.ts';
import type { Page } from './wording/page.ts';
import { printable } from './wording/printable.ts';
import { counted, listed } from './wording/words.ts';

/** Every reason with its count and first lines; `files` names the files where there are several. */
export function sayReasons(page: Page, groups: readonly ReasonGroup[], files: readonly string[]): void {
  for (const group of groups) {
    const about = reasonSubject(group);
    const where = about.length === 0 ? '' : ` [${about.join(', ')}]`;
    page.say(`${reasonAmount(group)}: ${printable(group.message)}${where}`, { indent: 2 });
    const places = reasonPlaces(group, files);
    page.say(`${places === '' ? '' : `${places} · `}${group.code}`, { indent: 4, tone: 'quiet' });
  }
}

/** `3 records (7 rows)`; `7 rows` or, where no rows are known, `3 records` where that is all there is to say. */
export function reasonAmount({ records, rows }: Pick<ReasonGroup, 'records' | 'rows'>): string {
  if (rows === 0) return counted(records, 'record');
  return records === rows || records === 0
    ? counted(rows, 'row')
    : `${counted(records, 'record')} (${counted(rows, 'row')})`;
}

/** The field and the column that a reason is about, as far as they are known. */
export function reasonSubject({ field, column }: Pick<ReasonGroup, 'field' | 'column'>): string[] {
  return [field, column === null ? null : `column "${printable(column)}"`].filter((part) => part !== null);
}

/** `lines 3, 8 and 14`, with the names of files where there are several; empty where no line is known. */
export function reasonPlaces({ lines, rows }: ReasonGroup, files: readonly string[]): string {
  if (lines.length === 0) return '';
  const more = lines.length === LINES_KEPT && rows > LINES_KEPT;
  const inOrder = lines.toSorted((a, b) => a.file - b.file || a.line - b.line);
  const places = inOrder.map(({ file, line }) =>
    files.length > 1 ? `${printable(files[file] ?? `file ${file + 1}`)}:${line}` : String(line),
  );
  const word = files.length > 1 ? '' : lines.length === 1 ? 'line ' : 'lines ';
  return `${word}${more ? `${places.join(', ')} …` : listed(places)}`;
}
