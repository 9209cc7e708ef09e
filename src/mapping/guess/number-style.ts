import type { Transform } from '../transforms/transforms.ts';
import type { Guess } from './guess.ts';
import type { NumberSigns } from './sampled-column.ts';

/** How the numbers of a column are written. */
export interface NumberStyle {
  /** `auto`: no value shows it, or both signs are used; an ambiguous value is rejected. */
  readonly decimal: '.' | ',' | 'auto';
}

/**
 * The decimal sign that the values show, or else the values of columns of the same kind. If neither shows it, a question
 * is asked; undefined until it is answered.
 */
export function styleOf<Concept extends string>(
  guess: Guess<Concept>,
  header: string,
  own: NumberSigns,
  kindred: NumberSigns,
  currency?: string | undefined,
): NumberStyle | undefined {
  const given = guess.answers['decimal'];
  if (given !== undefined) {
    const answer = guess.ask({ ...DECIMAL_QUESTION, reason: '' });
    return { decimal: answer === ',' ? ',' : '.' };
  }
  for (const signs of [own, kindred]) {
    const points = signs.point.length;
    const commas = signs.comma.length;
    if (points > 0 && commas > 0 && own.either.length === 0) {
      guess.notes.push(
        `'${header}' has decimal points (${signs.point[0]}) and decimal commas (${signs.comma[0]}): both are read, and an ambiguous value is rejected.`,
      );
      return { decimal: 'auto' };
    }
    if (points > 0 !== commas > 0) {
      const decimal = points > 0 ? '.' : ',';
      const shown = signs[points > 0 ? 'point' : 'comma'];
      const where = signs === own ? '' : ', as other amounts of the file show';
      guess.notes.push(
        `'${header}': decimal ${points > 0 ? 'point' : 'comma'}${where} (${shown.length} of ${signs.count} values show it, such as ${shown[0]}).`,
      );
      return { decimal };
    }
  }
  const [ambiguous] = own.either;
  if (ambiguous === undefined) return { decimal: 'auto' };
  const sign = ambiguous.includes('.') ? '.' : ',';
  if (currency !== undefined && WHOLE_CURRENCIES.has(currency)) {
    guess.notes.push(`'${header}': ${ambiguous} is a thousand or more, as ${currency} has no decimals.`);
    return { decimal: sign === '.' ? ',' : '.' };
  }
  guess.ask({
    ...DECIMAL_QUESTION,
    reason: `'${header}' has ${own.either.length} values such as ${ambiguous}, and none that shows whether ${ambiguous} is ${ambiguous.replace(sign, '')} or ${ambiguous.replace(sign, '.')}`,
  });
  return undefined;
}

/** Currencies without a smaller unit in use. */
const WHOLE_CURRENCIES: ReadonlySet<string> = new Set(['JPY', 'KRW']);

const DECIMAL_QUESTION = {
  id: 'decimal',
  text: 'Which sign is the decimal sign?',
  answers: [
    { value: ',', label: 'the comma: 1.234,50' },
    { value: '.', label: 'the point: 1,234.50' },
  ],
} as const;

/** The transforms that read amounts of money: with currencies, and with thousands signs where these are certain. */
export function numberSteps({ decimal }: NumberStyle, numbers: readonly string[]): readonly Transform[] {
  // If no sign is given, blanks and apostrophes may group digits, and a single point or comma is refused.
  const isSpaced = numbers.some((text) => /\d[\s'’]\d/.test(text));
  if (decimal === 'auto' || isSpaced) return [{ number: { decimal, currency: 'strip' } }];
  return [{ number: { decimal, thousands: decimal === ',' ? '.' : ',', currency: 'strip' } }];
}
