import type { Move } from '../../../model/move.ts';
import { formatChange } from '../../wording/changes.ts';
import { formatNumber, moveFieldWords } from '../../wording/move-words.ts';
import { html, type Markup } from '../markup.ts';
import { foreign } from '../text.ts';

const LONGEST_NAME = 80;

/** `lamp (Large): price 10.00 → 1,000.00 (×100)`. */
export function moveSentence(move: Move): Markup {
  const { key, what, old, new: now } = move;
  return html`${foreign(key, LONGEST_NAME)}${what !== null && html` (${foreign(what, LONGEST_NAME)})`}: ${moveFieldWords(move)} ${formatNumber(move, old)} → <strong>${formatNumber(move, now)}</strong> (${formatChange(old, now)})`;
}
