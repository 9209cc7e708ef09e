import { isAbsolute, relative } from 'node:path';
import { distance } from 'fastest-levenshtein';

// How texts, figures, sizes, durations and times are printed, equal on every machine. Every command loads this file, and the
// domain words its own texts with it: it imports no schema.

/**
 * A class of characters that act on a terminal or a page instead of being shown: control characters, bidirectional marks (also
 * U+061C), separators of lines, and signs that hide or mark text. Joiners of letters and emoji stay.
 */
export const ACTING_CLASS = String.raw`[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u180e\u200b\u2060-\u2064\u206a-\u206f\ufff9-\ufffb]`;

const ACTING = new RegExp(`${ACTING_CLASS}+`, 'gu');

/** Text of a source or a store, safe on a terminal: keys and messages may contain escape sequences. */
export function printable(text: string): string {
  return text.replaceAll(ACTING, ' ').toWellFormed();
}

/** The same for a text with several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

const JOINER = '\u200d';
const CONTINUES = /^(?:[\udc00-\udfff]|\p{M}|\p{EMod}|\u200d)/u;

/**
 * At most this many characters; a shortened text ends with an ellipsis. The cut is not within a surrogate pair, a letter
 * with its marks, or a joined emoji.
 */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  let end = length - 1;
  while (end > 0 && (CONTINUES.test(text.slice(end, end + 2)) || text[end - 1] === JOINER)) end -= 1;
  return `${text.slice(0, end)}…`;
}

/** A value of a source in quotes for a line of text: on one line, without escape sequences, and shortened. */
export function quote(text: string, length = 60): string {
  return `'${truncate(printable(text).replaceAll(/\s+/g, ' '), length)}'`;
}

/**
 * `12,345.6`: grouped thousands and at most so many digits of a fraction, equal on every machine. Without Intl, whose
 * tables take 12 ms of a plan.
 */
export function grouped(figure: number, fractionDigits = 3): string {
  const [whole = '', fraction] = String(Number(figure.toFixed(fractionDigits))).split('.');
  return whole.replaceAll(/\B(?=(?:\d{3}){1,7}$)/g, ',') + (fraction === undefined ? '' : `.${fraction}`);
}

/** `1 record`, `2 records`, `1,200 copies`: pass the plural where it is not the singular with `s`. */
export function counted(figure: number, one: string, many = `${one}s`): string {
  return `${grouped(figure)} ${figure === 1 ? one : many}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(parts: readonly string[]): string {
  if (parts.length <= 1) return parts.join('');
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** With an initial capital letter. */
export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `was` for one, `were` for all other figures. */
export function wasOrWere(figure: number): 'was' | 'were' {
  return figure === 1 ? 'was' : 'were';
}

/** `is` for one, `are` for all other figures. */
export function isOrAre(figure: number): 'is' | 'are' {
  return figure === 1 ? 'is' : 'are';
}

/** `it` for one, `them` for all other figures. */
export function itOrThem(figure: number): 'it' | 'them' {
  return figure === 1 ? 'it' : 'them';
}

/** `0%`, `<0.1%`, `5.2%`, `97%`, `>99.9%`, `100%`: only nothing is 0%, and only everything is 100%. */
export function formatShare(figure: number, of: number): string {
  if (figure === 0 || of === 0) return '0%';
  const percent = (figure / of) * 100;
  if (figure === of) return '100%';
  if (percent < 0.1) return '<0.1%';
  if (percent > 99.9) return '>99.9%';
  return `${Number(percent.toFixed(percent < 10 || percent > 99 ? 1 : 0))}%`;
}

const UNITS = ['kB', 'MB', 'GB', 'TB'] as const;
const STEP = 1_000;
/** From this value on `toFixed(1)` would round up to a thousand: `999.95` uses the next unit. */
const ROUNDS_UP = 999.95;

/** A size in a readable unit: `812 bytes`, `3.4 kB`, `12.0 MB`, `5.0 GB`. */
export function formatBytes(bytes: number): string {
  return Math.round(bytes) < STEP
    ? counted(Math.round(bytes), 'byte')
    : `${formatInUnit(bytes, chooseUnit(bytes))} ${chooseUnit(bytes)}`;
}

/** A part in the unit of the whole: `1.5 of 30.0 MB`. */
export function formatBytesOf(part: number, whole: number): string {
  if (whole < STEP) return `${part} of ${formatBytes(whole)}`;
  return `${formatInUnit(part, chooseUnit(whole))} of ${formatBytes(whole)}`;
}

type Unit = (typeof UNITS)[number];

function chooseUnit(bytes: number): Unit {
  return UNITS.find((unit) => bytes / bytesPer(unit) < ROUNDS_UP) ?? 'TB';
}

function formatInUnit(bytes: number, unit: Unit): string {
  return (bytes / bytesPer(unit)).toFixed(1);
}

function bytesPer(unit: Unit): number {
  return STEP ** (UNITS.indexOf(unit) + 1);
}

/** Durations in milliseconds. */
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** At most two units: `350 ms`, `12.3 s`, `4 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  if (Math.round(ms) < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 99.95 * SECOND) return `${Number((ms / SECOND).toFixed(1))} s`;
  if (ms < HOUR - SECOND / 2) return formatTwoUnits(ms, MINUTE, 'min', SECOND, 's');
  if (ms < DAY - MINUTE / 2) return formatTwoUnits(ms, HOUR, 'h', MINUTE, 'min');
  return formatTwoUnits(ms, DAY, 'd', HOUR, 'h');
}

/** `just now`, `5 min ago`, `3 h ago`, `2 d ago`. */
export function formatAgo(ms: number): string {
  if (ms < MINUTE) return 'just now';
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ago`;
  return `${Math.floor(ms / DAY)} d ago`;
}

function formatTwoUnits(
  ms: number,
  large: number,
  largeName: string,
  small: number,
  smallName: string,
): string {
  const smalls = Math.round(ms / small);
  const ratio = large / small;
  const rest = smalls % ratio;
  const whole = `${Math.floor(smalls / ratio)} ${largeName}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smallName}`;
}

/** The time zone of this machine. */
export function serverTimezone(): string {
  // Intl takes 15 ms to load what it knows of zones.
  if (String(new Date(0)).endsWith('(Coordinated Universal Time)')) return 'UTC';
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** `Sat 21 Nov 2026, 02:15 UTC`; without the year `Sat 21 Nov 02:15 UTC`. */
export function formatMoment(
  at: number,
  { timezone = serverTimezone(), year = true }: { timezone?: string | undefined; year?: boolean } = {},
): string {
  if (timezone === 'UTC') return utcMoment(new Date(at), year);
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    ...(year && { year: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
  // Versions of the locale data use different separators between the parts.
  const words = format
    .format(at)
    .replace(' at ', ', ')
    .replace(/^(\w+),/, '$1');
  return year ? words : words.replace(',', '');
}

/** The same without Intl, whose tables every command would load. */
function utcMoment(at: Date, year: boolean): string {
  const [day = '', date = '', month = '', inYear = '', time = ''] = at.toUTCString().split(' ');
  const named = `${day.slice(0, -1)} ${Number(date)} ${month === 'Sep' ? 'Sept' : month}`;
  return `${named}${year ? ` ${inYear},` : ''} ${time.slice(0, 5)} UTC`;
}

/** The default beginning of a command. */
export const PROGRAM = 'storeferry';

/** Characters that need no quotes in a shell. */
const PLAIN = /^[\w@%+=:,./~-]+$/;

/** A word, quoted for the shell of the platform. */
export function shellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return /^[\w@%+=:,./\\~-]+$/.test(word) ? word : `"${word}"`;
  return PLAIN.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A path that opens from a folder: relative within it, otherwise unchanged. */
export function pathFrom(folder: string, path: string): string {
  if (!isAbsolute(path)) return path;
  const inside = relative(folder, path);
  return inside.startsWith('..') || isAbsolute(inside) ? path : inside;
}

const fold = (name: string) => name.toLowerCase().replaceAll(/[-_. ]/g, '');

/** With fewer characters, too many names match. */
const MIN_PART_LENGTH = 3;

/**
 * The choice that was probably meant: at most a third of the characters of the longer one (at least one) differ, ignoring
 * case, dashes, dots and blanks. Otherwise the only one that begins with the name, or has it as one of its words: `nightly` for
 * `nightly-catalog`.
 */
export function nearestName(name: string, choices: Iterable<string>): string | undefined {
  const folded = fold(name);
  const all = [...choices];
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const choice of all) {
    const apart = distance(folded, fold(choice));
    const most = Math.max(1, Math.ceil(Math.max(choice.length, name.length) / 3));
    if (apart < bestDistance && apart <= most && apart < folded.length) {
      best = choice;
      bestDistance = apart;
    }
  }
  return best ?? (folded.length < MIN_PART_LENGTH ? undefined : findOnlyMatch(folded, all));
}

function findOnlyMatch(part: string, choices: readonly string[]): string | undefined {
  const beginning = choices.filter((choice) => fold(choice).startsWith(part));
  const found =
    beginning.length > 0
      ? beginning
      : choices.filter((choice) => choice.split(/[-_. ]/).some((word) => fold(word) === part));
  return found.length === 1 ? found[0] : undefined;
}

/** `; did you mean 'x'?`, or nothing if no choice is similar. */
export function didYouMean(name: string, choices: Iterable<string>): string {
  const meant = nearestName(name, choices);
  return meant === undefined ? '' : `; did you mean '${meant}'?`;
}

/** What to add to an error about an unknown name: the nearest known one, and all known ones. */
export function suggestNames(name: string, known: readonly string[]): string {
  const list = known.length === 0 ? 'there are none' : `known: ${known.join(', ')}`;
  return `${didYouMean(name, known)} (${list})`;
}

/** A name without case, white space, hyphens and underscores, and with straight apostrophes. */
export function looseName(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replaceAll(/[\s_\-\u200b\ufeff]+/g, '');
}

/** A part of an address without its percent signs; undefined if a % does not begin a valid escape. */
export function decodedPercents(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

const MAX_HEADERS_NAMED = 60;

/**
 * The headers that a message may name. The first row of a contact file without headers has the data of a person, so only
 * known headers are named. `findKnown` may read files, and is called for contacts alone.
 */
export function quotableHeaders(
  resource: 'products' | 'contacts',
  headers: readonly string[],
  findKnown: () => ReadonlySet<string> = () => new Set(),
): readonly string[] {
  if (resource === 'products' || headers.length === 0) return headers;
  const known = findKnown();
  return headers.filter((header) => known.has(header));
}

/** The headers that a message may name, and the number of the others. */
export function listHeaders(headers: readonly string[], quotable: readonly string[]): string {
  const shown = quotable.slice(0, MAX_HEADERS_NAMED).map((text) => `'${text}'`);
  const others = headers.length - shown.length;
  if (shown.length === 0) return `${others}, which are not named here: they may be the data of a person`;
  return `${shown.join(', ')}${others === 0 ? '' : `, and ${others} more`}`;
}

/** Charsets that spreadsheets use for a CSV file that does not declare its own. */
const ASSUMED_CHARSETS = 'windows-1252 macintosh windows-1250 windows-1251 windows-1254 iso-8859-2'.split(
  ' ',
);
/** Made when the first text is compared: few commands compare any. */
let decoders: readonly { decode(bytes: Uint8Array): string }[] | undefined;

/** The texts that result when UTF-8 is read in each of the charsets that are usual for CSV files. */
export function misreadingsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  decoders ??= ASSUMED_CHARSETS.map((charset) => new TextDecoder(charset));
  return decoders.map((decoder) => withoutUnassigned(decoder.decode(bytes)));
}

/** Characters that no charset has: programs drop them or replace them with a mark. */
function withoutUnassigned(text: string) {
  return text
    .replaceAll(/[\u0080-\u009f\ufffd]/g, '')
    .trim()
    .replaceAll(/\s+/g, ' ');
}

/** Whether `now` is `old` read in another charset, as in `Größe` and `GrÃ¶ÃŸe`. */
export function isMisreading(old: string, now: string) {
  return areBeyondAscii(old, now) && misreadingsOf(old).includes(withoutUnassigned(now));
}

/** Whether each of the texts has a character beyond ASCII. */
export function areBeyondAscii(...texts: readonly string[]) {
  return texts.every((text) => /\P{ASCII}/u.test(text));
}
