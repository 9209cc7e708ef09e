import { withoutAbsent } from '../../model/json-object.ts';
import type { JoinFacts } from '../../model/plan.ts';
import { delimiterName, isSheet, type TablePlaces } from '../../model/row.ts';
import { counted, grouped, wasOrWere } from '../../text/printable.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import { type Block, foreign, onlyIn, type Section, table, type Words } from '../section.ts';
import { resourceNoun } from '../status-words.ts';

const MAX_NAME_LENGTH = 120;

/** What was read: files, rows, delimiter, encoding, and the columns not used. */
export function sourceSection(facts: RunFacts): Section | null {
  const { plan } = facts;
  if (plan === null || plan.source.files.length === 0) return null;
  const { files, columnsNotUsed, columnsNotNamed = 0 } = plan.source;
  const withBlank = files.some(({ blankLines }) => blankLines > 0);
  const unused =
    columnsNotUsed.length + columnsNotNamed === 0 ? [] : [unusedColumns(columnsNotUsed, columnsNotNamed)];
  return {
    id: 'source',
    title: 'What was read',
    ...(!isOnlyPlanned(facts) && { only: 'page' }),
    blocks: [
      table(
        'Files of the source',
        [
          'File',
          ['Rows', 'numeric'],
          ['Separated by', 'short'],
          ['Encoding', 'short'],
          withBlank && ['Blank lines, ignored', 'numeric'],
        ],
        files.map(({ name, rows, delimiter, encoding, blankLines, places }) =>
          withoutAbsent<Words>([
            foreign(name, MAX_NAME_LENGTH),
            grouped(rows),
            ...(places === undefined
              ? [
                  [
                    onlyIn('text', `${rows === 1 ? 'row' : 'rows'}, separated by `),
                    foreign(delimiterName(delimiter) ?? JSON.stringify(delimiter)),
                  ],
                  foreign(encoding),
                ]
              : [
                  [onlyIn('text', rows === 1 ? 'row' : 'rows'), onlyIn('page', '–')],
                  foreign(tableWords(places), MAX_NAME_LENGTH),
                ]),
            withBlank && [
              onlyIn('page', grouped(blankLines)),
              onlyIn('text', blankLines > 0 && `${counted(blankLines, 'blank line')} ignored`),
            ],
          ]),
        ),
        { shown: { page: 20, text: 10 }, more: 'file' },
      ),
      ...joinedTables(facts),
      ...unused,
    ],
  };
}

/** What the joins of the mapping found in their tables. A retry has few of the rows: the others' keys count as not used. */
function joinedTables({ run, plan }: RunFacts): Block[] {
  const joins = plan?.source.joins ?? [];
  if (joins.length === 0) return [];
  const isWhole = run.kind !== 'retry';
  const title = 'Joined tables';
  return [
    { kind: 'heading', words: title, only: 'page' },
    {
      kind: 'list',
      style: 'notes',
      title,
      items: joins.map((join) => ({
        words: [
          foreign(join.name, MAX_NAME_LENGTH),
          ': ',
          ...joinWords(join, resourceNoun(run.resource), isWhole),
        ],
      })),
    },
  ];
}

function joinWords(join: JoinFacts, what: string, isWhole: boolean): Words[] {
  const { file, records, without, examples, keys, unused } = join;
  const matched = records - without;
  const lacking: Words[] =
    without === 0 || examples.length === 0
      ? []
      : [
          ' (not found: ',
          foreign(examples.join(', '), MAX_NAME_LENGTH),
          without > examples.length ? ' …)' : ')',
        ];
  return [
    `${grouped(matched)} of ${counted(records, what)} matched in `,
    foreign(file, MAX_NAME_LENGTH),
    ...lacking,
    isWhole ? `; ${grouped(unused)} of its ${counted(keys, 'key')} ${wasOrWere(unused)} not used` : '',
  ];
}

/** `xlsx, sheet Prices`; `json, records at data.products`. */
function tableWords(table: TablePlaces) {
  const { format, title } = table;
  if (title === '') return format;
  return `${format}, ${isSheet(table) ? 'sheet' : 'records at'} ${title}`;
}

function unusedColumns(columns: readonly string[], notNamed: number): Block {
  const others = `${counted(notNamed, 'column')} that no mapping knows, not named here: ${notNamed === 1 ? 'its header' : 'their headers'} may be the data of a person`;
  return {
    kind: 'list',
    style: 'names',
    title: 'Columns not used',
    explanation: 'The job does not use them; their values are not sent.',
    items: withoutAbsent([
      notNamed !== 0 && { words: others },
      ...columns.map((column) => ({ words: foreign(column, MAX_NAME_LENGTH) })),
    ]),
    shown: { page: 60, text: 30 },
    more: '',
  };
}
