/** Shorter values are not secrets, and redacting them would damage ordinary words. */
const SHORTEST = 4;
/** A shorter text could occur by chance in base64, in hexadecimal, or in other case. */
const SHORTEST_ENCODED = 8;
/** Nested encodings are decoded this many times. */
const MOST_LAYERS = 5;

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
  for (let depth = 0; layer !== undefined && depth <= MOST_LAYERS; depth += 1) {
    for (const { index, 0: match } of layer.text.matchAll(pattern)) {
      found.push([originOf(layer, index)[0], originOf(layer, index + match.length - 1)[1]]);
    }
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

/** The HTML references for the characters of keys. */
const NAMED: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", plus: '+', sol: '/', equals: '=', bsol: '\\' },
  ...{ num: '#', percnt: '%', excl: '!', quest: '?', colon: ':', semi: ';', comma: ',', period: '.' },
  ...{ commat: '@', dollar: '$', ast: '*', lpar: '(', rpar: ')', lowbar: '_', vert: '|', tab: '\t' },
  ...{ lsqb: '[', lbrack: '[', rsqb: ']', rbrack: ']', lcub: '{', lbrace: '{', rcub: '}', rbrace: '}' },
  ...{ hat: '^', grave: '`', newline: '\n', nbsp: ' ', verbar: '|', hyphen: '-', dash: '-', tilde: '~' },
};
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
  if (written.startsWith('%')) return decoded(written);
  if (written.startsWith('&')) return NAMED[written.slice(1, -1).toLowerCase()];
  const character = written.slice(1);
  return CONTROLS[character] ?? character;
}

/** A text with its escapes decoded until none remains. */
function fullyDecoded(text: string): string {
  let layer: Layer = { text, origins: null };
  for (let depth = 0; depth < MOST_LAYERS; depth += 1) layer = decodedLayer(layer) ?? layer;
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
  return form.length < SHORTEST_ENCODED ? blanks : `(?i:${blanks})`;
}

/** The secret parts of an address: the whole, the part after its host, and its password. */
function partsOf(secret: string): string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(secret) || !URL.canParse(secret)) return [secret];
  const { username, password, pathname, search } = new URL(secret);
  const path = pathname.length >= SHORTEST_ENCODED ? [pathname, pathname + search] : [];
  const query = [...new URLSearchParams(search).values()].filter((value) => value.length >= SHORTEST_ENCODED);
  const user = password === '' ? [] : [decoded(password), `${decoded(username)}:${decoded(password)}`];
  return [secret, new URL(secret).href, ...path, ...query, ...user];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A secret as it is, with its own escapes decoded, in hexadecimal and in base64. */
function formsOf(secret: string): string[] {
  if (secret.length < SHORTEST) return [];
  const written = [secret, fullyDecoded(secret)].filter(({ length }) => length >= SHORTEST);
  return secret.length < SHORTEST_ENCODED
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
    ].filter((form) => form.length >= SHORTEST_ENCODED);
  });
}

/** Whether a variable has the name of a secret. */
export function looksSecret(name: string): boolean {
  return /key|token|secret|passw|pwd|credential|webhook/i.test(name);
}
