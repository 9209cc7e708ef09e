import { type Move, priceText } from '../../model/move.ts';
import { printable } from './printable.ts';

/** From where on a change is told as a factor: twice, and half. */
const FACTOR = 2;

/** How far a number has moved: `×100`, `÷100`, `+20%`, `−5.2%`; `from 0` and `to 0` have no size. */
export function formatChange(old: number, now: number): string {
  if (old === now) return '±0';
  if (old === 0) return 'from 0';
  if (now === 0) return 'to 0';
  const factor = now / old;
  if (factor < 0) return 'sign changes';
  if (factor >= FACTOR) return `×${rounded(factor)}`;
  if (factor <= 1 / FACTOR) return `÷${rounded(1 / factor)}`;
  const percent = (factor - 1) * 100;
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent) < 0.1 ? '<0.1' : Number(Math.abs(percent).toFixed(1))}%`;
}

function rounded(factor: number): string {
  return factor.toLocaleString('en', { maximumSignificantDigits: 3 });
}

/** `variants.regularPrice` as people say it: `variant regular price`. */
export function fieldWords(field: string): string {
  return field
    .split('.')
    .map((part, index, parts) => (index < parts.length - 1 ? singular(part) : part))
    .map((part) => part.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase())
    .join(' ');
}

function singular(word: string): string {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}

/** The field of a move, without what all have in common. */
export function moveFieldWords({ field }: Pick<Move, 'field'>): string {
  return fieldWords(printable(field.split('.').at(-1) ?? field));
}

/** A price with its cents, a quantity as a whole number where it is one. */
export function formatNumber({ field }: Pick<Move, 'field'>, value: number): string {
  if (/price/i.test(field)) return priceText(value);
  return value.toLocaleString('en', { maximumFractionDigits: 3 });
}
