import type { Guess } from './guess.ts';
import { type NumberSigns, readAmount, type SampledColumn, signsOf } from './sampled-column.ts';

/** Reads the amounts of columns as numbers; NaN for what is none. */
export function amountReader(...columns: readonly SampledColumn[]): (cell: string | undefined) => number {
  const style = signsOf(columns.flatMap(digitsOf));
  const isComma = style.comma.length > style.point.length;
  return (cell) => {
    const digits = (readAmount(cell ?? '')?.digits ?? '').replaceAll(isComma ? /[^\d,-]/g : /[^\d.-]/g, '');
    return Number.parseFloat(digits.replace(',', '.'));
  };
}

export function digitsOf({ values }: SampledColumn): readonly string[] {
  return values.flatMap((value) => {
    const amount = readAmount(value);
    if (amount === undefined) return [];
    // In 1.999,- the dash stands for cents.
    return amount.hasDashes ? `${amount.digits}${value.includes(',') ? ',' : '.'}00` : amount.digits;
  });
}

/** `auto`: no value shows it, or both signs are used; an ambiguous value is rejected. */
export type DecimalSign = '.' | ',' | 'auto';

/**
 * The decimal sign that the values show, or else the values of columns of the same kind. If neither shows it, a question
 * is asked; undefined until it is answered.
 */
export function findDecimal(
  guess: Guess,
  header: string,
  own: NumberSigns,
  sameKind: NumberSigns,
  currency?: string | undefined,
): DecimalSign | undefined {
  if (guess.answers['decimal'] !== undefined)
    return guess.ask({ ...DECIMAL_QUESTION, reason: '' }) === ',' ? ',' : '.';
  for (const signs of [own, sameKind]) {
    const points = signs.point.length;
    const commas = signs.comma.length;
    if (points > 0 && commas > 0 && own.either.length === 0) {
      guess.notes.push(
        `'${header}' has decimal points (${signs.point[0]}) and decimal commas (${signs.comma[0]}): both are read, and an ambiguous value is rejected.`,
      );
      return 'auto';
    }
    if (points > 0 !== commas > 0) {
      const decimal = points > 0 ? '.' : ',';
      const shown = signs[points > 0 ? 'point' : 'comma'];
      const where = signs === own ? '' : ', as other amounts of the file show';
      guess.notes.push(
        `'${header}': decimal ${points > 0 ? 'point' : 'comma'}${where} (${shown.length} of ${signs.count} values show it, such as ${shown[0]}).`,
      );
      return decimal;
    }
  }
  const [ambiguous] = own.either;
  if (ambiguous === undefined) return 'auto';
  const sign = ambiguous.includes('.') ? '.' : ',';
  if (
    sign === ',' &&
    guess.languages.every((language) => language === 'Japanese' || language === 'Chinese')
  ) {
    guess.notes.push(`'${header}': ${ambiguous} is a thousand or more, as in all files with such headers.`);
    return '.';
  }
  if (currency !== undefined && WHOLE_CURRENCIES.has(currency)) {
    guess.notes.push(`'${header}': ${ambiguous} is a thousand or more, as ${currency} has no decimals.`);
    return sign === '.' ? ',' : '.';
  }
  guess.ask({
    ...DECIMAL_QUESTION,
    reason: `'${header}' has ${own.either.length} values such as ${ambiguous}, and none that shows whether ${ambiguous} is ${ambiguous.replace(sign, '')} or ${ambiguous.replace(sign, '.')}`,
  });
  return undefined;
}

/** Currencies without a smaller unit in use. */
export const WHOLE_CURRENCIES: ReadonlySet<string> = new Set(['JPY', 'KRW']);

const DECIMAL_QUESTION = {
  id: 'decimal',
  text: 'Which sign is the decimal sign?',
  answers: [
    { value: ',', label: 'the comma: 1.234,50' },
    { value: '.', label: 'the point: 1,234.50' },
  ],
} as const;

/** Numbers far from all others that may stand for none: of nines only, `withOnes` also one unit that is repeated, and its hundredth. */
export function outliersOf(price: SampledColumn, withOnes = false): readonly string[] {
  const read = amountReader(price);
  const {
    nines = [],
    ones = [],
    others = [],
  } = Object.groupBy(price.values, (value) => {
    const digits = (readAmount(value)?.digits ?? '').replaceAll(/\D|(?<=[.,])0+$/g, '');
    const amount = read(value);
    return amount >= 999 && /^9+$/.test(digits)
      ? 'nines'
      : withOnes && (amount === 1 || amount <= 0.01) && /^0*10*$/.test(digits)
        ? 'ones'
        : amount > 0
          ? 'others'
          : 'none';
  });

  const sorted = others.map(read).sort((a, b) => a - b);
  const areRepeated = ones.filter((value) => read(value) === 1).length > 1;
  const [least, middle, most] = [0, sorted.length >> 1, -1].map((at) => sorted.at(at) ?? Number.NaN);
  return [
    ...nines.filter((value) => {
      const isRepeated = nines.length > 1 && read(value) >= Number(middle) * 100;
      return isRepeated || read(value) >= Number(most) * (read(value) < 9999 ? 20 : 5);
    }),
    ...ones.filter(
      (value) => others.length > 1 && (areRepeated || read(value) < 1) && read(value) * 100 <= Number(least),
    ),
  ];
}

/** Asks whether the numbers of a column may be sent without what a sheet shows beside them: `€/100 pcs`, `k`, `net`. */
export function askShown(
  guess: Guess,
  { header, index }: SampledColumn,
  isPlain: (shown: string, beside: string) => boolean,
): void {
  for (const [column, shown] of guess.shown) {
    if (column !== index || isPlain(shown.replace('#', '1'), shown.replace('#', '').trim())) continue;
    guess.ask({
      id: `word.${shown}`,
      text: `May the numbers in '${header}' be sent as they are?`,
      reason: `the sheet shows them as '${shown}', of which only the number (#) is read`,
      answers: [{ value: 'send', label: 'yes: they are for one piece, and what customers pay' }],
    });
  }
}
