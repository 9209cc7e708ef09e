import currencyNames from './currency-names.json' with { type: 'json' };

/** Codes of ISO 4217, as the runtime knows them. */
export const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/**
 * Signs, usual abbreviations and names besides the codes, in lower case and without a final dot, with the currencies that each may
 * mean.
 */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  currencyNames.names.flatMap(({ words, currencies }) =>
    words.split(' ').map((word) => [word, currencies.split(' ')] as const),
  ),
);

/** Codes that people also write in lower case. Others are words in some language: try, all, cup, top. */
const WRITTEN_LOOSELY: ReadonlySet<string> = new Set(currencyNames.writtenLoosely.split(' '));

/** The sign of a currency, but neither of its subunit (10¢ is not 10 dollars) nor the generic one (¤). */
const SIGN = /^(?![¢￠₥₰¤])\p{Sc}$/u;

/**
 * The currencies that a code, a sign, or a usual abbreviation or name may mean; undefined for other words. A sign that is not listed
 * means only itself.
 */
export function currenciesNamed(text: string): readonly string[] | undefined {
  // A code that was replaced and that feeds still write.
  if (text === 'RUR') return ['RUB'];
  const code = text.toUpperCase();
  if (CURRENCIES.has(code) && (text === code || WRITTEN_LOOSELY.has(code))) return [code];
  const word = text.toLowerCase().replace(/\.$/, '');
  return NAMES.get(word) ?? (SIGN.test(text) ? [text] : undefined);
}
