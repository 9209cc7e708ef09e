import { distance } from 'fastest-levenshtein';
import { weightUnit } from '../../mapping/compile-mapping.ts';
import { CONCEPTS, type Concept } from '../column-fields.ts';
import { currencyCode, oneOf, words } from './words.ts';

/** The parts of a header other than the name of the field. */
interface Qualifiers {
  /** As the header has it: a code or a sign. */
  currencyWord?: string;
  tax?: 'gross' | 'net';
  /** A unit of weight, as mappings write it. */
  unit?: string;
  /** Whether an amount is for a measure (per kg), not for the product. */
  isPerMeasure?: boolean;
  /** Which of several: Image 2. */
  number?: number;
}

/** One thing that a header may mean. */
export interface Meaning {
  readonly concept: Concept;
  /** `exact`: all words of the header are understood; `near`: it may be misspelt. */
  readonly how: 'exact' | 'near';
  /** The languages in which it means that, by name. */
  readonly languages: readonly string[];
}

/** A header as far as it is understood. */
export interface HeaderReading {
  /** Of several, the values decide in this order. */
  readonly meanings: readonly Meaning[];
  readonly qualifiers: Readonly<Qualifiers>;
  /** What single words of it mean, where the whole is not understood. */
  readonly mentions: ReadonlySet<Concept>;
}

type Index = ReadonlyMap<string, ReadonlyMap<Concept, readonly string[]>>;

/** The name of a field is shorter; the rest of a longer header is not read. */
const MAX_HEADER_LENGTH = 100;
/** No known word is longer, in characters without blanks. */
const MAX_WORD_LENGTH = 40;

/** Reads the headers of product files. */
export const readProductHeader = headerReader('products');
/** Reads the headers of contact files. */
export const readContactHeader = headerReader('contacts');

function headerReader(imports: keyof typeof CONCEPTS): (header: string) => HeaderReading {
  let index: Index | undefined;
  return (header) => {
    index ??= indexOf(imports);
    return readHeader(header, index);
  };
}

function indexOf(imports: keyof typeof CONCEPTS): Index {
  const { languages, headers } = words();
  const known: Partial<Words['headers']['products'] & Words['headers']['contacts']> = headers[imports];
  const index = new Map<string, Map<Concept, string[]>>();
  for (const concept of CONCEPTS[imports]) {
    for (const [code, written] of Object.entries(known[concept] ?? {})) {
      const language = languages[code]?.name ?? code;
      for (const key of [...written].flatMap(spellings)) {
        const concepts = index.get(key) ?? new Map<Concept, string[]>();
        const known = concepts.get(concept) ?? [];
        if (!known.includes(language)) known.push(language);
        index.set(key, concepts.set(concept, known));
      }
    }
  }
  return index;
}

/** A word as it is compared: without accents, and with German umlauts spelled out too. */
function spellings(word: string): readonly string[] {
  const plain = wordsOf(word).join('');
  const spelledOut = wordsOf(word.replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue')).join('');
  return plain === spelledOut ? [plain] : [plain, spelledOut];
}

/** The words of a header in lower case, without accents; those of `contactId` and `contact_id` are the same. */
function wordsOf(header: string) {
  const plain = header
    .normalize('NFKC')
    .replaceAll(/mwst/gi, 'mwst')
    .replaceAll(/\+ ?(?=(?:mwst|ust|vat|tva|iva|btw|dph|kdv)\b)/gi, 'plus ')
    .replaceAll(/\b([cs])\/ ?(?=iva\b)/gi, (_, sign: string) => (/c/i.test(sign) ? 'com ' : 'sem '))
    .replaceAll('ß', 'ss')
    .replaceAll(/[łŁ]/g, 'l')
    .replaceAll('ı', 'i')
    .replaceAll(/[øØ]/g, 'o')
    .replaceAll(/([\p{Script=Latin}\p{Script=Cyrillic}])\p{M}+/gu, '$1')
    .normalize('NFD')
    .replaceAll(/([\p{Script=Latin}\p{Script=Cyrillic}])\p{M}+/gu, '$1')
    .normalize('NFC')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  return (
    plain.toLowerCase().match(/\b[a-z]{1,2}\$|(?:(?!\p{N})[\p{L}\p{M}ー])+|\p{Nd}+|\p{Sc}|[#%]/gu) ?? []
  ).filter((word) => word !== '%');
}

const MAX_PATH_DEPTH = 6;

function readHeader(header: string, index: Index): HeaderReading {
  const text = header
    .slice(0, MAX_HEADER_LENGTH)
    .replaceAll(/[\s\u200b\ufeff]+/g, ' ')
    .trim()
    .replace(/^\p{L}{1,3}:(?=\p{L})/u, '')
    // Of a field that somebody has added in Salesforce, and of a list: Region__c, Categories (x;y;z...).
    .replace(/__c$| ?\(\p{L}(?:[;,|]\p{L}){1,9}\.*\)/u, '');
  const whole = understood(text, index);
  if (whole.meanings.length > 0) return whole;
  // Paths of JSON and XML: offers[].g:price, price@currency.
  const parts = text
    .split(/\[\]\.?|[.@/>]|\b\p{L}+:(?=\p{L})/u)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (/\s/.test(text) || parts.length < 2 || parts.length > MAX_PATH_DEPTH)
    return parts.length === 1 && parts[0] !== text ? understood(parts[0] ?? '', index) : whole;
  const last = parts.at(-1) ?? '';
  const owner = parts.at(-2) ?? '';
  const { product, valueParts, containers } = words().headerParts;
  const isValue = valueParts.has(wordsOf(last).join(''));
  const ofOwner = understood(owner, index);
  if (isValue && ofOwner.meanings.length > 0) return ofOwner;
  const joined = understood(`${owner} ${last}`, index);
  if (joined.meanings.length > 0) return joined;
  // The name of a brand is not the name of a product.
  const isContainer = wordsOf(owner).every((word) => product.has(word) || containers.has(word));
  return isContainer ? understood(last, index) : whole;
}

function understood(text: string, index: Index): HeaderReading {
  const plain = wordsOf(text);
  const asItIs = meaningsAt(index, plain.join(''), 'exact');
  if (asItIs.length > 0) return { meanings: asItIs, qualifiers: {}, mentions: new Set() };
  const { rest, qualifiers } = qualify(plain);
  const reading = (meanings: readonly Meaning[]) => ({
    meanings,
    qualifiers,
    mentions: new Set<Concept>(),
  });
  for (const candidate of candidatesOf(rest)) {
    const exact = meaningsAt(index, candidate, 'exact');
    if (exact.length > 0) return reading(exact);
  }
  const composed = composedOf(rest, index);
  if (composed.length > 0) return reading(composed);
  const mentions = new Set<Concept>();
  for (const candidate of candidatesOf(rest)) {
    // In several words a single letter, or two other ones, make another column: Price A, rental price beside retail price.
    const isMarked = rest.length > 1 && rest.some((word) => /^(?!d$|l$)\p{Script=Latin}$/u.test(word));
    const near = isMarked ? undefined : nearestWord(index, candidate, rest.length > 1);
    const meanings = near === undefined ? [] : meaningsAt(index, near, 'near');
    const isLong = candidate.length > MAX_SIMILAR_LENGTH;
    if (isLong && meanings.some(({ concept }) => !NEVER_MISSPELT.has(concept))) return reading(meanings);
    for (const { concept } of meanings) mentions.add(concept);
  }
  const parts = rest.flatMap((word) => (WITHOUT_BLANKS.test(word) ? substringsOf(word) : [word]));
  for (const word of parts) for (const concept of index.get(word)?.keys() ?? []) mentions.add(concept);
  return { ...reading([]), mentions };
}

/** Shorter words are too much alike: stage is no state, score no store. A header that resembles one mentions it. */
const MAX_SIMILAR_LENGTH = 5;

/** Concepts that two characters may turn: invisible, is visible; Anmeldedatum, Abmeldedatum. A header that resembles them mentions them. */
const NEVER_MISSPELT: ReadonlySet<string> = new Set([
  'visible',
  'hidden',
  'subscribed',
  'unsubscribed',
  'begins',
  'ends',
]);

/** Scripts that write no blanks between words. */
const WITHOUT_BLANKS = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]{2,}$/u;

function substringsOf(word: string): readonly string[] {
  return [...word].flatMap((_, from) => [2, 3, 4].map((length) => word.slice(from, from + length)));
}

/** Words that say what kind of value a column has, and the concepts that a second word makes of it: PVP oferta. */
const KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['price', ['sale', 'was', 'cost', 'regular']],
  ['title', ['category', 'subcategory', 'size', 'color']],
  ['page', ['image']],
  ['availability', ['quantity']],
]);

/** What a header of several known words means, if they agree: Quantity available. */
function composedOf(plain: readonly string[], index: Index): readonly Meaning[] {
  const { links } = words().headerParts;
  const all = plain.flatMap((word) => (WITHOUT_BLANKS.test(word) ? [...word] : [word]));
  const pieces: ReadonlyMap<Concept, readonly string[]>[] = [];
  for (let from = 0; from < all.length; ) {
    let to = Math.min(all.length, from + MAX_WORD_LENGTH);
    while (to > from && !index.has(all.slice(from, to).join(''))) to--;
    const found = index.get(all.slice(from, to).join(''));
    if (found !== undefined) pieces.push(found);
    else if (!links.has(all[from] ?? '') || from === all.length - 1) return [];
    from = Math.max(to, from + 1);
  }
  const agreeing = pieces.flatMap((piece) =>
    [...piece].flatMap(([concept, languages]) => {
      const isShared = pieces.every(
        (other) =>
          other.has(concept) || [...other.keys()].some((kind) => KINDS.get(kind)?.includes(concept) === true),
      );
      return isShared ? [{ concept, how: 'near' as const, languages }] : [];
    }),
  );
  return pieces.length < 2
    ? []
    : agreeing.filter(({ concept }, at) => agreeing.findIndex((one) => one.concept === concept) === at);
}

function meaningsAt(index: Index, key: string, how: 'exact' | 'near'): Meaning[] {
  return [...(index.get(key) ?? [])].map(([concept, languages]) => ({ concept, how, languages }));
}

/** The words joined: all of them, without words for product, and without linking words. */
function candidatesOf(plain: readonly string[]): readonly string[] {
  const { product, links } = words().headerParts;
  // A single letter at the end stays, because it can distinguish columns: Price A.
  const bare = plain.filter(
    (word, index) => !links.has(word) || (index === plain.length - 1 && (word.length === 1 || index === 0)),
  );
  const own = bare.filter((word) => !product.has(word));
  const joined = own.join('');
  const noun = [...product].find(
    (one) => joined.startsWith(one) && joined.length >= one.length + (WITHOUT_BLANKS.test(joined) ? 2 : 3),
  );
  const compound = noun === undefined ? '' : joined.slice(noun.length).replace(/^s(?=\p{L}{4})/u, '');
  return [...new Set([plain.join(''), bare.join(''), joined, compound])].filter((word) => word !== '');
}

/** The only known word that a misspelt word can mean; its first character must be right. */
function nearestWord(index: Index, word: string, isJoined: boolean) {
  const most = word.length >= 9 && !isJoined ? 2 : word.length >= 5 ? 1 : 0;
  if (most === 0 || /\d/.test(word)) return undefined;
  let best: string | undefined;
  let bestDistance = most + 1;
  let rivals = new Set<Concept>();
  for (const [known, concepts] of index) {
    if (known.charAt(0) !== word.charAt(0) || Math.abs(known.length - word.length) > most) continue;
    const apart = distance(known, word);
    if (apart < bestDistance) {
      best = known;
      bestDistance = apart;
      rivals = new Set(concepts.keys());
    } else if (apart === bestDistance) {
      for (const concept of concepts.keys()) rivals.add(concept);
    }
  }
  return best !== undefined && rivals.size === (index.get(best)?.size ?? 0) ? best : undefined;
}

/** The patterns of the parts of a header. */
function patternsOf({ vat, per, measures, perPiece, piece, glued, ...tax }: Words['headerParts']) {
  const phrase = (alone: ReadonlySet<string>, before: ReadonlySet<string>, after: ReadonlySet<string>) =>
    new RegExp(
      `^${oneOf(alone)}$|^${oneOf(before)}(?: \\d+)? ${oneOf(vat)}$|^${oneOf(vat)} ${oneOf(after)}$`,
      'u',
    );
  return {
    gross: phrase(tax.gross, tax.beforeVatGross, tax.afterVatGross),
    net: phrase(tax.net, tax.beforeVatNet, tax.afterVatNet),
    perMeasure: new RegExp(`^${oneOf(per)} (?:\\d+ )?${oneOf(measures)}(?: 2)?$`, 'u'),
    perPiece: new RegExp(`^${oneOf(perPiece)}?\\s?${oneOf(piece)}$`, 'u'),
    glued: (['gross', 'net'] as const).flatMap((kind) =>
      [...glued[kind]].map((part) => [part, kind] as const),
    ),
  };
}

type Words = ReturnType<typeof words>;
let patterns: ReturnType<typeof patternsOf> | undefined;

/** Whether a header says only that the column is about the product. */
export function isProductWord(header: string): boolean {
  return wordsOf(header).every((word) => words().headerParts.product.has(word));
}

/** The words of a header in lower case, without accents. */
export function wordsOfHeader(header: string): readonly string[] {
  return wordsOf(header.slice(0, MAX_HEADER_LENGTH));
}

/** Whether a sentence says that prices are net, for dealers, or not for one piece: per kg, per 100. */
export function changesPrices(sentence: string): boolean {
  const all = wordsOf(`price ${sentence.slice(0, MAX_SENTENCE_LENGTH)}`);
  const { tax, isPerMeasure } = qualify(all).qualifiers;
  const { per, perPiece } = words().headerParts;
  const isPerNumber = all.some(
    (word, at) => /^(?:12|10+)$/.test(word) && [per, perPiece].some((some) => some.has(all[at - 1] ?? '')),
  );
  return tax === 'net' || isPerMeasure === true || isPerNumber || hasPhrase(sentence, 'dealers');
}

const MAX_SENTENCE_LENGTH = 500;

/** A list of words.yaml. */
type PartList = Exclude<keyof Words['headerParts'], 'glued'>;

/** Whether a header has a word of a list. */
export function hasWord(header: string, list: PartList): boolean {
  const some = words().headerParts[list];
  return wordsOfHeader(header).some((word) => some.has(word));
}

/** Whether the words of a header, joined, have a part of a list. */
export function hasPart(header: string, list: PartList): boolean {
  const joined = wordsOfHeader(header).join('');
  return [...words().headerParts[list]].some((part) => joined.includes(part));
}

const phrases = new Map<string, ReadonlySet<string>>();

/** Whether a text has words of a list of those in cells, also in the plural, that no word before them negates. */
export function hasPhrase(text: string, list: 'refusals' | 'removed' | 'tests' | 'dealers'): boolean {
  const { cells, headerParts } = words();
  const known = phrases.get(list) ?? new Set([...cells[list]].map((one) => wordsOfHeader(one).join(' ')));
  phrases.set(list, known);
  const all = wordsOf(text);
  return all.some(
    (_, from) =>
      !headerParts.negations.has(all[from - 1] ?? '') &&
      [1, 2, 3, 4].some((length) => {
        const run = all.slice(from, from + length).join(' ');
        return known.has(run) || (run.length > 4 && known.has(run.slice(0, -1)));
      }),
  );
}

/** Whether a word of a header begins with a part of a list. */
export function hasBeginning(header: string, list: PartList): boolean {
  const some = [...words().headerParts[list]];
  return wordsOfHeader(header).some((word) => some.some((part) => word.startsWith(part)));
}

/** Separates the name of a field from its qualifiers. */
function qualify(all: readonly string[]) {
  patterns ??= patternsOf(words().headerParts);
  const { gross, net, perMeasure, perPiece, glued } = patterns;
  let rest = [...all];
  const found: Qualifiers = {};
  /** Takes the longest run of up to three words that the test accepts. */
  const take = (accepts: (run: string) => boolean) => {
    for (let length = Math.min(3, rest.length - 1); length >= 1; length--) {
      for (let from = 0; from + length <= rest.length; from++) {
        if (!accepts(rest.slice(from, from + length).join(' '))) continue;
        rest = [...rest.slice(0, from), ...rest.slice(from + length)];
        return true;
      }
    }
    return false;
  };
  if (take((run) => net.test(run))) found.tax = 'net';
  else if (take((run) => gross.test(run))) found.tax = 'gross';
  else {
    const [first = '', ...others] = rest;
    const tax = /^(netto|brutto)(?=\p{L}{2})/u.exec(first)?.[1];
    if (tax !== undefined) {
      found.tax = tax === 'netto' ? 'net' : 'gross';
      rest = [first.slice(tax.length), ...others];
    }
    for (const [part, kind] of glued) {
      const last = rest.at(-1) ?? '';
      const isEnd = last.endsWith(part);
      if (last.length > part.length && (isEnd || last.startsWith(part))) {
        found.tax = kind;
        rest = [...rest.slice(0, -1), isEnd ? last.slice(0, -part.length) : last.slice(part.length)];
        break;
      }
    }
  }
  found.isPerMeasure = take((run) => perMeasure.test(run));
  while (take((run) => run !== '' && perPiece.test(run)));
  take((run) => {
    if (currencyCode(run) === undefined || (run === 'fr' && rest[0] === run)) return false;
    found.currencyWord = run;
    return true;
  });
  take((run) => {
    const unit = weightUnit(run);
    if (unit !== undefined) found.unit = unit;
    return unit !== undefined;
  });
  for (const ending of CURRENCY_ENDINGS) {
    const last = rest.at(-1) ?? '';
    if (found.currencyWord === undefined && last.length > ending.length && last.endsWith(ending)) {
      found.currencyWord = ending;
      rest = [...rest.slice(0, -1), last.slice(0, -ending.length)];
    }
  }
  // The language of the content: Name (EN).
  if (rest.length > 1 && words().headerParts.contentLanguages.has(rest.at(-1) ?? ''))
    rest = rest.slice(0, -1);
  const number = rest.findIndex((word) => /^\d{1,3}$/.test(word));
  if (number >= 0 && rest.length > 1) {
    found.number = Number(rest[number]);
    rest = rest.filter((_, index) => index !== number);
  }
  return { rest: rest.filter((word) => word !== '#'), qualifiers: found };
}

/** For scripts without blanks: currencies at the end of the word. */
const CURRENCY_ENDINGS = ['円', '元'];
