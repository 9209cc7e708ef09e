import type { Move } from '../../model/plan.ts';
import { fieldWords } from './field-words.ts';
import { printable } from './printable.ts';

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
