import { type Move, priceText } from '../../model/move.ts';
import { fieldWords } from './field-words.ts';
import { printable } from './printable.ts';

/** The field of a move, without what all have in common. */
export function moveFieldWords({ field }: Pick<Move, 'field'>): string {
  return fieldWords(printable(field.split('.').at(-1) ?? field));
}

/** A price with its cents, a quantity as a whole number where it is one. */
export function formatNumber({ field }: Pick<Move, 'field'>, value: number): string {
  if (/price/i.test(field)) return priceText(value);
  return value.toLocaleString('en', { maximumFractionDigits: 3 });
}
