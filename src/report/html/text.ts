import { printable, shortened } from '../wording/printable.ts';
import { html, type Markup } from './markup.ts';

/** More than the longest reason anybody should have to read. */
const LONGEST_TEXT = 600;

/** Text of a source or a store: without control characters, in its own direction, and not endless. */
export function foreign(text: string, length = LONGEST_TEXT): Markup {
  return html`<bdi>${shortened(printable(text), length)}</bdi>`;
}
