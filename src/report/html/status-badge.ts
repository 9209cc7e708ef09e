import type { RunStatus } from '../../model/run.ts';
import { statusLabel, statusTone } from '../wording/status-words.ts';
import { html, type Markup } from './markup.ts';

/** Shapes that differ, for readers who do not see the colours: check, cross, exclamation mark, dots, line. */
const SHAPES: Readonly<Record<ReturnType<typeof statusTone>, string>> = {
  good: 'M3.5 8.5 6.5 11.5 12.5 4.5',
  bad: 'M4.5 4.5 11.5 11.5 M11.5 4.5 4.5 11.5',
  warning: 'M8 3.5V9 M8 12v.5',
  strong: 'M4 8h.01 M8 8h.01 M12 8h.01',
  quiet: 'M4 8h8',
};

/** A status with its colour, its shape and its words; of a settled run without a colour that calls for action. */
export function statusBadge(
  status: RunStatus,
  { settled = false }: { readonly settled?: boolean } = {},
): Markup {
  const tone = statusTone(status);
  const calls = tone === 'warning' || tone === 'bad';
  return badge(settled && calls ? 'quiet' : tone, statusLabel(status), tone);
}

/** A word that is to be seen before it is read, with the shape of its own tone or another one. */
export function badge(tone: keyof typeof SHAPES, words: string, shape = tone): Markup {
  return html`<span class="badge ${tone}"><svg class="badge-icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false"><path d="${SHAPES[shape]}"/></svg>${words}</span>`;
}
