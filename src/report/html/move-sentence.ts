import type { Move } from '../../model/plan.ts';
import { formatChange } from '../wording/changes.ts';
import { fieldWords } from '../wording/field-words.ts';
import { printable } from '../wording/printable.ts';
import { html, type Markup } from './markup.ts';
import { foreign } from './text.ts';

const LONGEST_NAME = 80;

/** `lamp (Large): price 10.00 → 1,000.00 (×100)`. */
export function moveSentence(move: Move): Markup {
  const { key, what, old, new: now } = move;
  return html`${foreign(key, LONGEST_NAME)}${what !== null && html` (${foreign(what, LONGEST_NAME)})`}: ${moveFieldWords(move)} ${formatNumber(move, old)} → <strong>${formatNumber(move, now)}</strong> (${formatChange(old, now)})`;
}

/** The field of a move, without what all have in common. */
export function moveFieldWords({ field }: Pick<Move, 'field'>): string {
  return fieldWords(printable(field.split('.').at(-1) ?? field));
}

/** A price with its cents, a quantity as a whole number where it is one. */
export function formatNumber({ field }: Pick<Move, 'field'>, value: number): string {
  const isPrice = /price/i.test(field);
  return value.toLocaleString('en', {
    minimumFractionDigits: isPrice ? 2 : 0,
    maximumFractionDigits: isPrice ? 4 : 3,
  });
}
