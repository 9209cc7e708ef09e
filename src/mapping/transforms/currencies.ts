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

/** Abbreviations of currencies that are divided into thousandths. */
const THOUSANDTHS: ReadonlySet<string> = new Set('kd bd jd dt د.ك د.ب د.أ د.ت ر.ع ل.د'.split(' '));

/** Whether a text is a currency: a sign, a code of ISO 4217, or a usual abbreviation or name. */
export function isCurrency(text: string): boolean {
  return /^\p{Sc}$/u.test(text) || codeOf(text) !== undefined || WORDS.has(loosely(text));
}

/** How many digits the smallest unit of a currency stands behind the decimal sign; 2 where nothing says otherwise. */
export function decimalsOf(currency: string): number {
  const code = codeOf(currency);
  if (code === undefined) return THOUSANDTHS.has(loosely(currency)) ? 3 : 2;
  const known = decimals.get(code);
  if (known !== undefined) return known;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: code });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  decimals.set(code, digits);
  return digits;
}

const decimals = new Map<string, number>();

function codeOf(text: string): string | undefined {
  const code = text.toUpperCase();
  return CODES.has(code) && (text === code || WRITTEN_LOOSELY.has(code)) ? code : undefined;
}

function loosely(text: string): string {
  return text.toLowerCase().replace(/\.$/, '');
}
