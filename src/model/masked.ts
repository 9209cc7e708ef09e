/** An e-mail address as stores quote it, also with its @ encoded or spelled out. */
const ADDRESS =
  /[^\s@<>()[\]"'`“”‘’,;:&=]+(?:@|%40|&#0*64;|&#x0*40;|&commat;|\\u0040|\s*[[({]\s*at\s*[\])}]\s*)[^\s@<>()[\]"'`“”‘’,;:&]+/giu;
/** As many digits as a telephone number has, with common separators. */
const PHONE = /\+?\d(?:(?:[ ()./-]|%20|%2[dD]){0,2}\d){6,}/g;
/** A personal value in a query or a form: `name=Zed&surname=Quux`. */
const QUERY_VALUE =
  /(?<=(?<![\p{L}])(?:(?:first|last|sur|full|given|family|nick|user|customer|contact|billing|shipping)?[_-]?name|e?-?mail|phone|tel|mobile|fax|(?:billing|shipping)?[_-]?address\d?|street|city|zip|postcode|birth(?:day|date)|dob)=)[^&\s"'<>]+/giu;
/** A value after its label: `name: zed quux, email: …`. Only words that are not usual in messages are hidden. */
const LABELLED =
  /(?<=(?<![\p{L}])(?:name|user|customer|contact|member|city|street|address|note|company)["']?:\s*)[^,;:\n"'<>{}]+/giu;
/** A name after a possessive phrase: `already used by bob smith`. */
const OWNED =
  /(?<=\b(?:by|(?:belongs|assigned|registered) to|named|called) )\p{L}[\p{L}'’.-]*(?: \p{L}[\p{L}'’.-]*){0,2}/giu;
/** A street with its number, as English and most other European addresses have it. */
const STREET =
  /\b\d+\p{L}?,?\s+(?:[\p{L}'’.-]+\s+){1,4}(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|court|ct|terrace)\b|\p{L}*(?:stra(?:ß|ss)e|str\.|gasse|straat|allee)\s*\d+\p{L}?|\b(?:rue|via|calle|avenida|boulevard)\s+(?:[\p{L}'’.-]+\s+){1,4}\d+/giu;
/** An Irish name, also in lower case, and the first name after its comma. */
const IRISH = /(?<!\p{L})o['’]\p{L}{3,}(?:,\s*\p{L}+)?/giu;
/** Quoted text, which somebody has typed; an apostrophe within a word is not a quote. */
const QUOTED = /"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|‘[^’]*’|(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu;
/** A word that begins with a capital letter, as those of names do. */
const CAPITALISED = /^\p{Lu}[\p{L}\p{M}'’.•-]*$/u;
const DOUBLE_NAME = /^\p{Lu}[\p{Ll}•]+-\p{Lu}[\p{Ll}•]+/u;
/** Between the parts of a name. */
const PARTICLES = new Set(
  'van von de der den da di do du dos la le del della bin al ter zu zur of y e'.split(' '),
);
/** Capitalised words of messages that are not names. */
const ORDINARY = new Set(
  `a an the this that these no not is are was be must may cannot can field fields value values invalid unknown missing required error errors
  contact contacts email e-mail mail address name names first last full phone note city state zip country company property properties tag tags
  list lists subscriber subscribers subscribed member id api key token json http https html url uri crm sku
  authorization bearer header send unauthorized forbidden bad request conflict unprocessable entity content too many large long short gateway timeout service unavailable
  internal server resource found empty format valid wrong blank null given set least short number string text boolean date allowed supported expected
  somebody someone else store site system us you your its it user customer account internal server resource found another other already exists taken used by for with in on to duplicate record records validation failed
  please contact try again use check access denied permission rate limit exceeded message code status only at most least
  monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december`
    .split(/\s+/)
    .filter((word) => word !== ''),
);
/** Shorter words occur in other words. */
const SHORTEST_VALUE = 2;
const SHORTEST_WORD = 3;

/** Keeps the shape of addresses, telephone numbers and query values in a sentence, and hides the personal content. */
export function masked(sentence: string): string {
  return [ADDRESS, QUERY_VALUE, STREET, IRISH, PHONE].reduce(
    (text, pattern) => text.replaceAll(pattern, hidden),
    sentence,
  );
}

/**
 * A message of a store about a contact without personal data: the given values of the contact, and everything that
 * looks like another person's name, address or number, are masked. Names of fields are kept.
 */
export function withoutPeople(sentence: string, values: Iterable<string>): string {
  const own = patternOf(values);
  // The shapes first: after a word of a street is hidden, the street is no longer recognised.
  const shapeless = masked(sentence.normalize('NFC'));
  const unnamed = own === null ? shapeless : shapeless.replaceAll(own, hidden);
  const unquoted = hideNames(unnamed.replaceAll(QUOTED, hideUnlessField));
  return [LABELLED, OWNED].reduce((text, pattern) => text.replaceAll(pattern, hideUnordinary), unquoted);
}

/** The texts of a JSON value, at every depth. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

function patternOf(values: Iterable<string>): RegExp | null {
  const whole = [...values]
    .map((value) => value.normalize('NFC').trim())
    .filter(({ length }) => length >= SHORTEST_VALUE);
  const words = whole
    .flatMap((value) => value.split(/[^\p{L}\p{N}\p{M}]+/u))
    .filter((word) => word.length >= SHORTEST_WORD && !ORDINARY.has(word.toLowerCase()));
  const forms = [...new Set([...whole, ...words])].sort((one, other) => other.length - one.length);
  if (forms.length === 0) return null;
  const either = forms.map((form) => RegExp.escape(form).replaceAll(/\\x20|\s+/g, '\\s+')).join('|');
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${either})(?:'?s|en|n)?(?![\\p{L}\\p{N}])`, 'giu');
}

function hideUnlessField(quoted: string): string {
  const words = quoted.slice(1, -1).split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u);
  return words.every((word) => word === '' || ORDINARY.has(word.toLowerCase())) ? quoted : hidden(quoted);
}

function hideUnordinary(words: string): string {
  return words.replaceAll(/[\p{L}\p{N}•]+/gu, (word) =>
    ORDINARY.has(word.toLowerCase()) ? word : hidden(word),
  );
}

/** Hides two or more consecutive words that look like names. */
function hideNames(sentence: string): string {
  const parts = sentence.split(/((?:[^\S\n]|<[^<>]*>|:)+)/);
  const isName = (at: number) => {
    const word = (parts[at] ?? '').replace(/^[("'“‘«]+|[)"'”’»,;:.!?]+$/gu, '');
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
      for (let at = from; at <= last; at += 2) parts[at] = hidden(parts[at] ?? '');
    from = last;
  }
  return parts.join('');
}

/** Keeps the shape and hides the person: `anna@example.com` is `a•••@e••••••.c••`. */
export function hidden(found: string): string {
  return found.replaceAll(/(?<=[\p{L}\p{N}\p{M}])[\p{L}\p{N}\p{M}]/gu, '•');
}
