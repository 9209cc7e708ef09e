const REDACTED = '[redacted]';

/** Shorter ones are no secrets, and would tear ordinary words apart. */
const SHORTEST = 4;
/** In base64 a short text could be met by chance. */
const SHORTEST_ENCODED = 8;

/** Takes secrets out of texts by their value, however they got there and in whatever form. */
export interface SecretRedactor {
  add(secret: string): void;
  redact(text: string): string;
}

/** Knows no secret yet; they are told to it as configuration is read. */
export function secretRedactor(): SecretRedactor {
  const known = new Set<string>();
  let pattern: RegExp | null = null;
  return {
    add(secret) {
      if (known.has(secret)) return;
      known.add(secret);
      pattern = null;
    },
    redact(text) {
      pattern ??= patternOf(known);
      return text.replace(pattern, REDACTED);
    },
  };
}

/** The longest first: a whole address goes before the password in it. */
function patternOf(secrets: Iterable<string>): RegExp {
  const forms = new Set([...secrets].flatMap(partsOf).flatMap(formsOf));
  if (forms.size === 0) return /(?!)/;
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map((form) => RegExp.escape(form)).join('|'), 'g');
}

/** An address is secret as a whole, in what it says after its host, and in the password it may hold. */
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

function formsOf(secret: string): string[] {
  if (secret.length < SHORTEST) return [];
  const percent = encodeURIComponent(secret.toWellFormed());
  const written = [secret, percent, lowerEscapes(percent), percent.replaceAll('%20', '+')];
  const encoded = secret.length < SHORTEST_ENCODED ? [] : base64FormsOf(secret);
  return [...written, ...encoded].flatMap((form) => [form, quoted(form), quoted(quoted(form))]);
}

/** As it stands within JSON. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function lowerEscapes(text: string): string {
  return text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/**
 * What of a secret is always the same in base64, whatever stands before and after it (a user's name, as in basic
 * authentication): three bytes make four letters, so there are three ways to fall on them.
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
