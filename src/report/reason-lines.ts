import type { ReasonGroup } from '../model/plan.ts';
import { LINES_KEPT } from '../model/reason-tally.ts';
import type { Page } from './wording/page.ts';
import { printable } from './wording/printable.ts';
import { counted, listed } from './wording/words.ts';

/** Every reason with its count and first lines; `files` names the files where there are several. */
export function sayReasons(page: Page, groups: readonly ReasonGroup[], files: readonly string[]): void {
  for (const group of groups) {
    const { records, rows, code } = group;
    const amount =
      records === rows || records === 0
        ? counted(rows, 'row')
        : `${counted(records, 'record')} (${counted(rows, 'row')})`;
    const about = [group.field, group.column === null ? null : `column "${printable(group.column)}"`].filter(
      (part) => part !== null,
    );
    const where = about.length === 0 ? '' : ` [${about.join(', ')}]`;
    page.say(`${amount}: ${printable(group.message)}${where}`, { indent: 2 });
    page.say(`${linesOf(group, files)}${code}`, { indent: 4, tone: 'quiet' });
  }
}

function linesOf({ lines, rows }: ReasonGroup, files: readonly string[]): string {
  if (lines.length === 0) return '';
  const more = lines.length === LINES_KEPT && rows > LINES_KEPT;
  const inOrder = lines.toSorted((a, b) => a.file - b.file || a.line - b.line);
  const places = inOrder.map(({ file, line }) =>
    files.length > 1 ? `${printable(files[file] ?? `file ${file + 1}`)}:${line}` : String(line),
  );
  const word = files.length > 1 ? '' : lines.length === 1 ? 'line ' : 'lines ';
  return `${word}${more ? `${places.join(', ')} …` : listed(places)} · `;
}
