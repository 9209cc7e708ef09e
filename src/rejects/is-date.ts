/** Converts digits of every script to 0 to 9, and removes bidirectional marks. */
export function plainDigits(text: string): string {
  if (!/[^\p{ASCII}]/u.test(text)) return text;
  return text
    .replaceAll(/[\u200e\u200f\u061c]/g, '')
    .replaceAll('\u066b', '.')
    .replaceAll('\u066c', ',')
    .replaceAll(/\p{Nd}/gu, (digit) => {
      // The ten digits of a script are adjacent and start with its zero.
      let below = 0;
      const code = digit.codePointAt(0) ?? 0;
      while (/\p{Nd}/u.test(String.fromCodePoint(code - below - 1))) below += 1;
      return String(below % 10);
    });
}

const LANGUAGES = (
  'en de fr es it nl pt sv da nb fi pl cs sk hu ro tr el ru uk hr sl sr bs bg mk be lt lv et sq is ca gl eu ' +
  'az kk uz ka hy he ar hi bn mr ta te th vi id ms zh ja ko'
).split(' ');
const months = new Map<string, Set<number>>();

/** The months that a word may name, in the languages of common spreadsheets: full name, abbreviation, or prefix. */
function monthsOf(word: string): readonly number[] | undefined {
  if (months.size === 0) for (const language of LANGUAGES) learnMonths(language);
  const known = months.get(word.toLowerCase());
  return known === undefined ? undefined : [...known];
}

function learnMonths(language: string): void {
  const learn = (name: string, month: number) => {
    const of = months.get(name);
    if (of === undefined) months.set(name, new Set([month]));
    else of.add(month);
  };
  const locale = `${language}-u-ca-gregory-nu-latn`;
  for (const style of ['long', 'short'] as const) {
    for (const day of [undefined, 'numeric'] as const) {
      const format = new Intl.DateTimeFormat(locale, { month: style, day, timeZone: 'UTC' });
      for (let month = 1; month <= 12; month += 1) {
        const parts = format.formatToParts(Date.UTC(2024, month - 1, 1));
        const name = (parts.find(({ type }) => type === 'month')?.value ?? '').toLowerCase();
        if (/\d/.test(name)) continue;
        for (let length = MIN_MONTH_LENGTH; length <= name.length; length += 1)
          learn(name.slice(0, length), month);
        // Some scripts need fewer characters: `ม.ค.`.
        if (!/^[a-z]/.test(name)) learn(name.replace(/[^\p{L}\p{M}]$/u, ''), month);
      }
    }
  }
  learn('mrz', 3);
  // Czech spreadsheets write `03.IV`.
  for (const [index, numeral] of ROMAN_MONTHS.entries()) learn(numeral, index + 1);
}

const ROMAN_MONTHS = 'i ii iii iv v vi vii viii ix x xi xii'.split(' ');

const MIN_MONTH_LENGTH = 3;

/**
 * `03. Apr`, `Apr-03`, `03/abr`, `3-Apr-26`, `3.marras`, `03.IV`, `03-Thg4`, `Jan 50`: how a spreadsheet shows a text
 * that it took for a part of a date.
 */
const SHORT_DATE =
  /^(?:\d{1,2}[-./ ]{1,2}(?:\p{L}{3,5}|[^\P{L}\p{Script=Latin}][\p{L}\p{M}.]{1,9})\.?(?:[-/ ]\d{2})?|\d{1,2}\. ?(?:\p{L}{6,8}|[IVX]{1,4})\.?|\d{1,2}[-/]Thg ?\d{1,2}|\p{L}{3,5}\.?[-./ ]\d{2})$/u;
/** `1月2日`, `2026年1月2日`, `1월 2일`. */
const CHARACTER_DATE = /^(?:\d{2,4}[年년]\s?)?\d{1,2}[月월](?:\s?\d{1,2}[日号號일])?$/;
const FULL_DATE =
  /^(?:\d{4}([-./])\s?\d{1,2}\1\s?\d{1,2}\.?|\d{1,2}([-./])\s?\d{1,2}\2\s?(?:\d{4}|\d{2}))(?:[T ]\d{1,2}:\d{2}(?::\d{2})?Z?)?$/;
const TIME = /^\d{1,3}:\d{1,2}(?::\d{1,2})?(?: ?[AP]M)?$/i;

/** Whether the text is a date in a form that spreadsheets use. */
export function isDate(text: string): boolean {
  return FULL_DATE.test(plainDigits(text).trim()) || (/\p{L}/u.test(text) && isShortDate(text));
}

/** Whether the text is a date in a form that spreadsheets use for a part of a date. */
export function isShortDate(text: string): boolean {
  const plain = plainDigits(text).trim();
  return (SHORT_DATE.test(plain) || CHARACTER_DATE.test(plain)) && datePartsOf(plain) !== undefined;
}

/** The possible numbers of each part of a date, with months as numbers; undefined for any other text. */
function datePartsOf(text: string): readonly (readonly number[])[] | undefined {
  const plain = plainDigits(text);
  if (plain.length > MAX_DATE_LENGTH || !/^[\p{L}\p{M}\d\s.,/:-]+$/u.test(plain)) return undefined;
  const words =
    plain.replaceAll(/[年月日号號년월일]|thg/gi, ' ').match(/[\p{L}\p{M}]+(?:\.[\p{L}\p{M}]+)*|\d+/gu) ?? [];
  const parts = words.map((word) => (/^\d{1,4}$/.test(word) ? [Number(word)] : monthsOf(word)));
  const known = parts.filter((part) => part !== undefined);
  return known.length === parts.length && known.length >= 2 && known.length <= 3 ? known : undefined;
}

const MAX_DATE_LENGTH = 40;

/** Spreadsheets count days from this date. */
const FIRST_DAY = Date.UTC(1899, 11, 30);

/** `3-4`, `1/2`, `1.50` or `MAR1` that became `03. Apr`, `01/02/2026`, `1月2日`, `Jan 50` or a day number. */
export function partsBecameDate(old: string, now: string): boolean {
  if (FULL_DATE.test(old) || TIME.test(old)) return false;
  const before = datePartsOf(old);
  const day = /^\d{5}$/.test(now) ? partsOfDay(Number(now)).map((part) => [part]) : undefined;
  const after = day ?? (isDate(now) ? datePartsOf(now) : undefined);
  if (before === undefined || after === undefined) return false;
  const left = [...after];
  return before.every((meant) => {
    const at = left.findIndex((part) => part.some((one) => meant.some((other) => one % 100 === other % 100)));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

/** `1/2` that became `0.5`. */
export function fractionBecameNumber(old: string, now: string): boolean {
  const [, whole = '0', over, under] = /^\s*(?:(\d+) )?(\d+)\/([1-9]\d*)\s*$/.exec(old) ?? [];
  return over !== undefined && isWritten(Number(whole) + Number(over) / Number(under), now);
}

/** `10:30`, or a day with a time, that became a number of days such as `0.4375`. */
export function momentBecameNumber(old: string, now: string): boolean {
  const [day = '', time = ''] = TIME.test(old) ? ['', old] : old.trim().split(/[T ](?=\d{1,2}:)/);
  if (time === '' || (day !== '' && !FULL_DATE.test(day))) return false;
  const [hours = 0, minutes = 0, seconds = 0] = (time.match(/\d+/g) ?? []).map(Number);
  const share = (hours * 3600 + minutes * 60 + seconds) / 86_400;
  if (day === '') return isWritten(share, now);
  const days = Math.floor(Number(plainDigits(now).replace(',', '.')));
  return days > 0 && daysOf(day).includes(partsOfDay(days).join('-')) && isWritten(days + share, now);
}

/** Whether the text is this number, rounded to the digits of the text. */
function isWritten(value: number, text: string): boolean {
  const [written, fraction = ''] = /^\d*(?:[.,](\d+))?$/.exec(plainDigits(text).trim()) ?? [];
  if (written === undefined || written === '') return false;
  return (
    Math.abs(Number(written.replace(',', '.')) - value) <= 0.500_001 * 10 ** -fraction.length &&
    (fraction !== '' || Number.isInteger(value))
  );
}

function partsOfDay(day: number): readonly number[] {
  const date = new Date(FIRST_DAY + day * 86_400_000);
  return [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
}

/** The same day or time of day in another form. */
export function sameMoment(old: string, now: string): boolean {
  if (TIME.test(old) && TIME.test(now)) {
    const parts = now.match(/\d+/g) ?? [];
    return (old.match(/\d+/g) ?? []).every((part, index) => Number(part) === Number(parts[index]));
  }
  if (!FULL_DATE.test(old)) return false;
  if (/^\d{5}$/.test(now)) return daysOf(old).includes(partsOfDay(Number(now)).join('-'));
  const days = daysOf(now);
  return daysOf(old).some((day) => days.includes(day));
}

/** The days that a full date may mean in each order of its parts, as `year-month-day`. */
function daysOf(text: string): string[] {
  const parts = datePartsOf(text.trim().split(/[T ](?=\d{1,2}:)/)[0] ?? '');
  if (parts?.length !== 3) return [];
  const [one = 0, two = 0, three = 0] = parts.map(([part = 0]) => part);
  const year = (part: number) => (part < 100 ? 2000 + part : part);
  const ways =
    one > 31
      ? [[one, two, three]]
      : [
          [three, two, one],
          [three, one, two],
        ];
  return ways
    .filter(([, month = 0, day = 0]) => month >= 1 && month <= 12 && day >= 1 && day <= 31)
    .map(([y = 0, month, day]) => `${year(y)}-${month}-${day}`);
}
