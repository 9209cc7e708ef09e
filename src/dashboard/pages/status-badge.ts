import type { RunStatus } from '../../model/run.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { statusTone, statusWords } from '../../report/wording/status-words.ts';

/** Shapes that differ, for whoever cannot tell the colours apart: check, cross, exclamation mark, dots, line. */
const SHAPES: Readonly<Record<ReturnType<typeof statusTone>, string>> = {
  good: 'M3.5 8.5 6.5 11.5 12.5 4.5',
  bad: 'M4.5 4.5 11.5 11.5 M11.5 4.5 4.5 11.5',
  warning: 'M8 3.5V9 M8 12v.5',
  strong: 'M4 8h.01 M8 8h.01 M12 8h.01',
  quiet: 'M4 8h8',
};

/** A status with its colour, its shape and its words. */
export function statusBadge(status: RunStatus): Markup {
  const tone = statusTone(status);
  return html`<span class="badge ${tone}"><svg class="badge-icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false"><path d="${SHAPES[tone]}"/></svg>${statusLabel(status)}</span>`;
}

/** A status as a label: `Done, with rejects`. */
export function statusLabel(status: RunStatus): string {
  const words = statusWords(status).replace(/,$/, '');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
