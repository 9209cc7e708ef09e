import maskingWords from './mask-personal-data-words.json' with { type: 'json' };
import { decodedPercents } from './printable.ts';

/** Shorter values are not redacted: that would damage ordinary words. */
const MIN_REDACTED_LENGTH = 4;
/** A shorter text could occur by chance in base64, in hexadecimal, or in other case. */
const MIN_ENCODED_LENGTH = 8;
/** Nested encodings are decoded this many times. */
const MAX_LAYERS = 5;

/** Removes secrets from texts by their values, in whatever form they appear. */
export type SecretRedactor = ReturnType<typeof secretRedactor>;

/** Knows no secret until one is added; `mark` replaces a secret. */
export function secretRedactor(mark = '[redacted]') {
  const known = new Set<string>();
  let pattern: RegExp | null = null;
  return {
    add(secret: string) {
      if (known.has(secret)) return;
      known.add(secret);
      pattern = null;
    },
    redact(text: string): string {
      pattern ??= patternOf(known);
      return known.size === 0 ? text : withoutRanges(text, rangesOf(text, pattern), mark);
    },
  };
}

/** From the first character to the one after the last. */
type Range = readonly [from: number, to: number];

/** A text with its escapes decoded, and the original position of each of its UTF-16 units. */
interface Layer {
  readonly text: string;
  /** Null if it is the original itself. */
  readonly origins: readonly Range[] | null;
}

/** The positions of a pattern in a text, as written and at every level of decoding. */
function rangesOf(text: string, pattern: RegExp): Range[] {
  const found: Range[] = [];
  let layer: Layer | undefined = { text, origins: null };
  for (let depth = 0; layer !== undefined && depth <= MAX_LAYERS; depth += 1) {
    for (const { index, 0: match } of layer.text.matchAll(pattern))
      found.push([originOf(layer, index)[0], originOf(layer, index + match.length - 1)[1]]);
    layer = decodedLayer(layer);
  }
  return found;
}

function originOf({ origins }: Layer, at: number): Range {
  return origins?.[at] ?? [at, at + 1];
}

function withoutRanges(text: string, ranges: readonly Range[], mark: string): string {
  if (ranges.length === 0) return text;
  const merged: [number, number][] = [];
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    const last = merged.at(-1);
    if (last !== undefined && from < last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  let result = '';
  let at = 0;
  for (const [from, to] of merged) {
    result += text.slice(at, from) + mark;
    at = to;
  }
  return result + text.slice(at);
}

/** A character of UTF-8 in percent escapes, a reference of HTML, or an escape of JSON, JavaScript and Python. */
const ESCAPE = new RegExp(
  [
    '%[0-7][0-9a-f]',
    '%[cd][0-9a-f]%[89ab][0-9a-f]',
    '%e[0-9a-f](?:%[89ab][0-9a-f]){2}',
    '%f[0-7](?:%[89ab][0-9a-f]){3}',
    '&#(?:0*[0-9]{1,7}|x0*[0-9a-f]{1,6})(?:;|(?![0-9a-f]))',
    '&[a-z]{2,8};',
    '[\\\\%]u[0-9a-f]{4}',
    '\\\\u\\{0*[0-9a-f]{1,6}\\}',
    '\\\\x[0-9a-f]{2}',
    '\\\\[\'"\\\\/bfnrt]',
  ].join('|'),
  'gi',
);

/** By the names of HTML references: the characters that an API key or a password may have. */
const NAMED: Readonly<Record<string, string>> = maskingWords.htmlCharacters;
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** The text with each escape decoded once; undefined if there is none. */
function decodedLayer(layer: Layer): Layer | undefined {
  const origins: Range[] = [];
  let text = '';
  let at = 0;
  const keep = (to: number) => {
    for (let unit = at; unit < to; unit += 1) origins.push(originOf(layer, unit));
    text += layer.text.slice(at, to);
  };
  for (const { index, 0: written } of layer.text.matchAll(ESCAPE)) {
    const meant = decodedEscape(written);
    if (meant === undefined) continue;
    keep(index);
    at = index + written.length;
    const origin: Range = [originOf(layer, index)[0], originOf(layer, at - 1)[1]];
    for (let unit = 0; unit < meant.length; unit += 1) origins.push(origin);
    text += meant;
  }
  if (at === 0) return undefined;
  keep(layer.text.length);
  return { text, origins };
}

function decodedEscape(written: string): string | undefined {
  if (/^[\\%]u|^\\x|^&#/i.test(written)) {
    const isDecimal = /^&#\d/.test(written);
    const digits = written.replaceAll(isDecimal ? /\D/g : /^(?:[\\%]u|\\x|&#x)|[{};]/gi, '');
    const code = Number.parseInt(digits, isDecimal ? 10 : 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
  }
  if (written.startsWith('%')) return decodedPercents(written) ?? written;
  if (written.startsWith('&')) return NAMED[written.slice(1, -1).toLowerCase()];
  const character = written.slice(1);
  return CONTROLS[character] ?? character;
}

/** A text with its escapes decoded until none remains, at most `MAX_LAYERS` times. */
function fullyDecoded(text: string): string {
  let layer: Layer = { text, origins: null };
  for (let depth = 0; depth < MAX_LAYERS; depth += 1) layer = decodedLayer(layer) ?? layer;
  return layer.text;
}

/** The longest first: a whole address precedes the password in it. */
function patternOf(secrets: Iterable<string>): RegExp {
  const forms = new Set([...secrets].flatMap(partsOf).flatMap(formsOf));
  if (forms.size === 0) return /(?!)/g;
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map(matcherOf).join('|'), 'g');
}

/**
 * The forms in which a secret may appear; a blank is a plus sign in web forms. The case of a short one matters,
 * because ordinary words would match.
 */
function matcherOf(form: string): string {
  const blanks = form
    .split(/[ +]/)
    .map((part) => RegExp.escape(part))
    .join('[ +]');
  return form.length < MIN_ENCODED_LENGTH ? blanks : `(?i:${blanks})`;
}

/** The secret parts of an address: the whole, its path, long values in its query, and its password. */
function partsOf(secret: string): string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(secret) || !URL.canParse(secret)) return [secret];
  const { username, password, pathname, search } = new URL(secret);
  const path = pathname.length >= MIN_ENCODED_LENGTH ? [pathname, pathname + search] : [];
  const query = [...new URLSearchParams(search).values()].filter(
    (value) => value.length >= MIN_ENCODED_LENGTH,
  );
  const [user = '', own = ''] = [username, password].map((part) => decodedPercents(part) ?? part);
  const credentials = own === '' ? [] : [own, `${user}:${own}`];
  return [secret, new URL(secret).href, ...path, ...query, ...credentials];
}

/** A secret as it is, with its own escapes decoded, in hexadecimal and in base64. */
function formsOf(secret: string): string[] {
  if (secret.length < MIN_REDACTED_LENGTH) return [];
  const written = [secret, fullyDecoded(secret)].filter(({ length }) => length >= MIN_REDACTED_LENGTH);
  return secret.length < MIN_ENCODED_LENGTH
    ? written
    : [...written, Buffer.from(secret).toString('hex'), ...base64FormsOf(secret)];
}

/**
 * The part of a secret that is constant in base64, whatever precedes and follows it (a user's name, as in basic
 * authentication): three bytes make four characters, so there are three alignments.
 */
function base64FormsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const first = before === 0 ? 0 : 4;
    const last = Math.floor(padded.length / 3) * 4;
    return [
      padded.toString('base64').slice(first, last),
      padded.toString('base64url').slice(first, last),
    ].filter((form) => form.length >= MIN_ENCODED_LENGTH);
  });
}

/** Whether a variable has the name of a secret. */
export function looksSecret(name: string): boolean {
  return /key|token|secret|passw|pwd|credential|webhook/i.test(name);
}

function anyOf(words: string): string {
  return `(?:${words.split(' ').map(RegExp.escape).join('|')})`;
}

const { personal, streets } = maskingWords;

// Each pattern takes linear time: a run is tried from its first character only, or has a bound.
/** An e-mail address as stores quote it, also with its @ encoded or spelled out. */
const ADDRESS =
  /(?<![^\s@<>()[\]"'`“”‘’,;:&=])[^\s@<>()[\]"'`“”‘’,;:&=]+(?:@|%40|&#0*64;|&#x0*40;|&commat;|\\u0040|\s*[[({]\s*at\s*[\])}]\s*)[^\s@<>()[\]"'`“”‘’,;:&]+/giu;
/** As many digits as a telephone number has, with common separators; or, as a group, the date and time in the path of a file. */
const PHONE =
  /(20\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?!\d)(?=[\w./-]{0,100}\.(?:csv|tsv|txt|xlsx|ods|jsonl?|xml|parquet|gz|zip)(?!\w))(?:[-_T]?\d{1,6}(?!\d))?)|\+?\d(?:(?:[ ()./-]|%20|%2[dD]){0,2}\d){6,}/g;
/** A personal value in a query or a form: `name=Zed&surname=Quux`. */
const QUERY_VALUE = new RegExp(
  String.raw`(?<=(?<!\p{L})${anyOf(personal.owners)}?[_-]?${anyOf(personal.fields)}\d?=)[^&\s"'<>]+`,
  'giu',
);
/** A value after its label: `name: zed quux, email: …`. Of this and the next, words that are usual in messages stay. */
const LABELLED = new RegExp(
  String.raw`(?<=(?<!\p{L})${anyOf(personal.labels)}["']?:\s{0,8})[^,;:\n"'<>{}]+`,
  'giu',
);
/** A name after a possessive phrase: `already used by bob smith`. */
const OWNED =
  /(?<=\b(?:by|(?:belongs|assigned|registered) to|named|called) )\p{L}[\p{L}'’.-]*(?: \p{L}[\p{L}'’.-]*){0,2}/giu;
/** A street with its number, as English and most other European addresses have it. */
const STREET = new RegExp(
  [
    String.raw`\b\d+\p{L}?,?\s+(?:[\p{L}'’.-]+\s+){1,4}${anyOf(streets.afterName)}\b`,
    String.raw`(?<!\p{L})\p{L}*${anyOf(streets.endings)}\s*\d+\p{L}?`,
    String.raw`\b${anyOf(streets.beforeName)}\s+(?:[\p{L}'’.-]+\s+){1,4}\d+`,
  ].join('|'),
  'giu',
);
/** An Irish name, also in lower case, and the first name after its comma. */
const IRISH = /(?<!\p{L})o['’]\p{L}{3,}(?:,\s*\p{L}+)?/giu;
/** Quoted text, which somebody has typed; an apostrophe within a word is not a quote. */
const QUOTED = /"[^"]*"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|‘[^‘’]*’|(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu;
/** A word that begins with a capital letter, as those of names do. */
const CAPITALISED = /^\p{Lu}[\p{L}\p{M}'’.•-]*$/u;
const DOUBLE_NAME = /^\p{Lu}[\p{Ll}•]+-\p{Lu}[\p{Ll}•]+/u;
/** Between the parts of a name. */
const PARTICLES = new Set(maskingWords.particles.split(' '));
/** Capitalised words of messages that are not names. */
const ORDINARY = new Set(maskingWords.ordinary.flatMap((line) => line.split(' ')));
/** Shorter ones are ordinary words. */
const MIN_VALUE_LENGTH = 2;
const MIN_WORD_LENGTH = 3;

/** Hides e-mail addresses, query values, streets, Irish names and telephone numbers in a sentence, and keeps their shape. */
export function maskPersonalData(sentence: string): string {
  return [ADDRESS, QUERY_VALUE, STREET, IRISH]
    .reduce((text, pattern) => text.replaceAll(pattern, maskKeepingShape), sentence)
    .replaceAll(PHONE, (found, date?: string) => (date === undefined ? maskKeepingShape(found) : found));
}

/**
 * A message of a store about a contact without personal data: the given values of the contact, and everything that
 * looks like another person's name, address or number, are masked. Names of fields are kept.
 */
export function maskPeople(sentence: string, values: Iterable<string>): string {
  const own = patternOfValues(values, sentence.normalize('NFC'));
  // The shapes first: after a word of a street is hidden, the street is no longer recognised.
  const shapeless = maskPersonalData(sentence.normalize('NFC'));
  const unnamed = own === null ? shapeless : shapeless.replaceAll(own, maskKeepingShape);
  const unquoted = hideNames(unnamed.replaceAll(QUOTED, hideUnlessField));
  return [LABELLED, OWNED].reduce((text, pattern) => text.replaceAll(pattern, hideUnordinary), unquoted);
}

/** In any case, whatever space is between words. */
function folded(text: string): string {
  return text.toUpperCase().toLowerCase().replaceAll('ς', 'σ').replaceAll(/\s+/g, ' ');
}

/** Of the values and their words, those that the sentence has: a value of a megabyte would make no pattern. */
function patternOfValues(values: Iterable<string>, sentence: string): RegExp | null {
  const within = folded(sentence);
  const whole = [...values]
    .map((value) => value.normalize('NFC').trim())
    .filter(({ length }) => length >= MIN_VALUE_LENGTH);
  const words = whole
    .flatMap((value) => value.split(/[^\p{L}\p{N}\p{M}]+/u))
    .filter((word) => word.length >= MIN_WORD_LENGTH && !ORDINARY.has(word.toLowerCase()));
  const found = [...new Set([...whole, ...words])].filter((form) => within.includes(folded(form)));
  const forms = found.sort((one, other) => other.length - one.length);
  if (forms.length === 0) return null;
  const either = forms.map((form) => RegExp.escape(form).replaceAll(/\\x20|\s+/g, '\\s+')).join('|');
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${either})(?:'?s|en|n)?(?![\\p{L}\\p{N}])`, 'giu');
}

function hideUnlessField(quoted: string): string {
  const words = quoted.slice(1, -1).split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u);
  return words.every((word) => word === '' || ORDINARY.has(word.toLowerCase()))
    ? quoted
    : maskKeepingShape(quoted);
}

function hideUnordinary(words: string): string {
  return words.replaceAll(/[\p{L}\p{N}•]+/gu, (word) =>
    ORDINARY.has(word.toLowerCase()) ? word : maskKeepingShape(word),
  );
}

/** Hides two or more consecutive words that look like names, with the particles between them, and a double name alone. */
function hideNames(sentence: string): string {
  const parts = sentence.split(/((?:[^\S\n]|<[^<>]*>|:)+)/);
  const isName = (at: number) => {
    const word = (parts[at] ?? '').replace(/^[("'“‘«]+|(?<![)"'”’»,;:.!?])[)"'”’»,;:.!?]+$/gu, '');
    return CAPITALISED.test(word) && !ORDINARY.has(word.toLowerCase());
  };
  for (let from = 0; from < parts.length; from += 2) {
    if (!isName(from)) continue;
    let last = from;
    for (let at = from + 2; at < parts.length; at += 2) {
      if (isName(at)) last = at;
      else if (!PARTICLES.has(parts[at] ?? '')) break;
    }
    if (last > from || DOUBLE_NAME.test(parts[from] ?? ''))
      for (let at = from; at <= last; at += 2) parts[at] = maskKeepingShape(parts[at] ?? '');
    from = last;
  }
  return parts.join('');
}

/** Keeps the shape and hides the person: `anna@example.com` is `a•••@e••••••.c••`. */
export function maskKeepingShape(found: string): string {
  return found.replaceAll(/(?<=[\p{L}\p{N}\p{M}])[\p{L}\p{N}\p{M}]/gu, '•');
}
