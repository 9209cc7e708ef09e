import { readAtWords } from '../../export-text.ts';
import { formatBytes } from '../../wording/byte-sizes.ts';
import { counted } from '../../wording/words.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { foreign } from '../text.ts';

/** What an export read and what it wrote; null for imports, and until it is written. */
export function exportSection({ run, exported = null }: ReportFacts): Markup | null {
  if (exported === null) return null;
  const { location, mode, begun, format, items, lines, bytes } = exported;
  const one = run.resource === 'orders' ? 'order' : 'list';
  const entries = [
    ['File', html`<code>${foreign(location, 300)}</code>`],
    ['Read', `${counted(items, one)}, at ${readAtWords(exported)}`],
    [
      'Written',
      `${counted(lines, 'line')}, ${mode === 'append' && begun !== true ? 'added to what the file held' : 'the file written anew'}`,
    ],
    ['Format', `${format}, ${formatBytes(bytes)} in all`],
  ] as const;
  return section(
    'export',
    'What was written',
    html`<dl class="about">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`,
  );
}
