import { delimiterName } from '../model/delimiters.ts';
import type { PlanSource } from '../model/plan.ts';
import type { Page } from './wording/page.ts';
import { printable } from './wording/printable.ts';
import { counted, grouped } from './wording/words.ts';

const FILES_SHOWN = 10;
const COLUMNS_SHOWN = 30;

/** What was read, and how: files, rows, delimiter, encoding, and the columns that have no place. */
export function saySource(page: Page, { files, columnsNotUsed }: PlanSource, rows: number): void {
  page.say(`${counted(rows, 'row')} in ${counted(files.length, 'file')}`, { indent: 2 });
  for (const file of files.slice(0, FILES_SHOWN)) {
    const blank = file.blankLines > 0 ? `, ${counted(file.blankLines, 'blank line')} passed over` : '';
    const separated = `separated by ${delimiterWord(file.delimiter)}`;
    const details = `${counted(file.rows, 'row')}, ${separated}, ${file.encoding}${blank}`;
    page.say(`${printable(file.name)}: ${details}`, { indent: 2 });
  }
  if (files.length > FILES_SHOWN) {
    page.say(`and ${counted(files.length - FILES_SHOWN, 'more file')}`, { indent: 2, tone: 'quiet' });
  }
  if (columnsNotUsed.length === 0) return;
  const named = columnsNotUsed.slice(0, COLUMNS_SHOWN).map(printable).join(', ');
  const more =
    columnsNotUsed.length > COLUMNS_SHOWN
      ? ` and ${grouped(columnsNotUsed.length - COLUMNS_SHOWN)} more`
      : '';
  page.say(`Columns not used: ${named}${more}`, { indent: 2 });
}

/** The name of a delimiter, such as `semicolon`; one without a name as JSON writes it. */
export function delimiterWord(delimiter: string): string {
  return delimiterName(delimiter) ?? JSON.stringify(delimiter);
}
