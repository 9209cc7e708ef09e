import { delimiterWord } from '../../source-lines.ts';
import { counted, grouped } from '../../wording/words.ts';
import { dataTable } from '../data-table.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { foreign } from '../text.ts';

const FILES_SHOWN = 20;
const COLUMNS_SHOWN = 60;
const LONGEST_NAME = 120;

/** What was read, and how; null before anything was. */
export function sourceSection({ plan }: ReportFacts): Markup | null {
  if (plan === null || plan.source.files.length === 0) return null;
  const { files, columnsNotUsed } = plan.source;
  const blank = files.some(({ blankLines }) => blankLines > 0);
  const table = dataTable({
    caption: 'Files of the source',
    captionHidden: true,
    columns: [
      { header: 'File' },
      { header: 'Rows', numeric: true },
      { header: 'Separated by', short: true },
      { header: 'Encoding', short: true },
      ...(blank ? [{ header: 'Blank lines passed over', numeric: true }] : []),
    ],
    rows: files
      .slice(0, FILES_SHOWN)
      .map((file) => [
        foreign(file.name, LONGEST_NAME),
        grouped(file.rows),
        foreign(delimiterWord(file.delimiter)),
        foreign(file.encoding),
        ...(blank ? [grouped(file.blankLines)] : []),
      ]),
  });
  const left = files.length - FILES_SHOWN;
  return section(
    'source',
    'What was read',
    html`${table}${left > 0 && html`<p class="more">And ${counted(left, 'more file')}.</p>`}
${columnsNotUsed.length > 0 && unusedColumns(columnsNotUsed)}`,
  );
}

function unusedColumns(columns: readonly string[]): Markup {
  const left = columns.length - COLUMNS_SHOWN;
  return html`<h3>Columns not used</h3>
<p class="explanation">The mapping has no place for ${columns.length === 1 ? 'this column' : 'these columns'}; what they hold is not sent.</p>
<ul class="chips">${columns.slice(0, COLUMNS_SHOWN).map((column) => html`<li>${foreign(column, LONGEST_NAME)}</li>`)}${left > 0 && html`<li class="more">and ${grouped(left)} more</li>`}</ul>`;
}
