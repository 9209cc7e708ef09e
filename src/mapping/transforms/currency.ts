/** A currency, as the text beside an amount names it. */
export interface Currency {
  /** Whether it is divided into thousandths, so that three digits may stand behind the decimal sign. */
  readonly hasThousandths: boolean;
}

/** The currency that a sign, a code of ISO 4217, or a usual abbreviation or name stands for; undefined for other words. */
export function currencyNamed(text: string): Currency | undefined {
  const code = text.toUpperCase();
  if (CODES.has(code) && (text === code || WRITTEN_LOOSELY.has(code))) {
    return { hasThousandths: THOUSANDTHS.has(code) };
  }
  const word = text.toLowerCase().replace(/\.$/, '');
  return WORDS.has(word) || SIGN.test(text) ? { hasThousandths: THOUSANDTHS.has(word) } : undefined;
}

/** The sign of a currency: not of its subunit (10¢ is not 10 dollars), nor the one that stands for any (¤). */
const SIGN = /^(?![¢￠₥₰¤])\p{Sc}$/u;

/** Codes of ISO 4217, as the runtime knows them. */
const CODES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Codes that people also write in small letters. Others are words in some language: try, all, cup, top. */
const WRITTEN_LOOSELY: ReadonlySet<string> = new Set(
  'EUR USD GBP CHF JPY CNY CAD AUD NZD SEK NOK DKK PLN CZK HUF RON BGN INR BRL MXN ZAR AED SAR RUB UAH'.split(
    ' ',
  ),
);

/** Abbreviations and names in use beside the codes, in small letters and without a dot at the end. */
const WORDS: ReadonlySet<string> = new Set(
  [
    'r$ us$ ca$ c$ a$ au$ nz$ hk$ s$ sg$ nt$ mx$ ar$ tt$ bz$ j$ n$ z$ rs rp rm kr dkr nkr skr zł zl kč kc ft',
    'lei leu лв lv руб рубль рублей р грн тг тенге сум сом ден дин din kn fr sfr tl r s/ q bs gs ksh tsh ush',
    'birr naira dh dhs sr qr kd bd jd dt da le tk baht บาท yuan rmb 元 円 원 won nis euro euros dollar dollars',
    'pound pounds peso pesos real reais franken kronor kroner koruna forint lira rupee rupees rial riyal',
    'ریال تومان درهم ريال دينار جنيه ر.س د.إ ج.م د.ك د.م ر.ق ر.ع د.ب د.أ د.ت ل.ل ل.د ع.د د.ج',
  ]
    .join(' ')
    .split(' '),
);

/**
 * Codes and abbreviations of the currencies that are priced in thousandths. The Iraqi dinar is not: its fils are out of
 * use, and 25.000 IQD are 25 thousand.
 */
const THOUSANDTHS: ReadonlySet<string> = new Set(
  'KWD BHD OMR TND JOD LYD kd bd jd dt د.ك د.ب د.أ د.ت ر.ع ل.د'.split(' '),
);
