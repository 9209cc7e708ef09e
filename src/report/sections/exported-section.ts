import { counted, formatBytes, formatMoment, grouped, resourceNoun } from '../../text/printable.ts';
import type { RunFacts, View } from '../run-facts.ts';
import { foreign, type Section, styled } from '../section.ts';

/** What an export read and wrote; null for imports, and before the file is written. */
export function exportedSection(
  { run, totals, exported: file }: RunFacts,
  { timezone }: View,
): Section | null {
  if (file === null) return null;
  const { location, mode, begun, isTable, format, items, lines, bytes, readAt } = file;
  const at = formatMoment(Date.parse(readAt), { timezone });
  const how =
    mode !== 'append'
      ? 'in a new file'
      : begun === true
        ? 'in a new file: none existed, or an empty one'
        : 'added to the file';
  return {
    id: 'export',
    title: 'What was written',
    blocks: [
      {
        kind: 'terms',
        terms: [
          [isTable === true ? 'Table' : 'File', styled('code', foreign(location, 300))],
          ['Read', `${counted(items, resourceNoun(run.resource))}, at ${at}`],
          ...(isTable === true
            ? [
                term(
                  'Written',
                  `${counted(lines, 'row')}, ${begun === true ? 'in a new table' : 'added or updated'}`,
                ),
              ]
            : [
                term('Written', `${counted(lines, 'line')}, ${how}`),
                term('Format', `${format}, ${formatBytes(bytes)} in all`),
              ]),
          ['Requests', grouped(totals.requests)],
        ],
      },
    ],
  };
}

function term(name: string, words: string): readonly [string, string] {
  return [name, words];
}
