import { distance } from 'fastest-levenshtein';
import {
  type ContactConcept,
  currencyCode,
  HEADER_WORDS,
  LANGUAGES,
  type ProductConcept,
  type Words,
  weightUnit,
} from './header-words.ts';

/** The parts of a header other than the name of the field. */
export interface Qualifiers {
  /** A code of ISO 4217: of a sign that several currencies have, the most usual one. */
  readonly currency: string | undefined;
  /** As the header has it: a code or a sign. */
  readonly currencyWord: string | undefined;
  readonly tax: 'gross' | 'net' | undefined;
  /** A unit of weight, as mappings write it. */
  readonly unit: string | undefined;
  /** Whether an amount is for a measure (per kg), not for the product. */
  readonly isPerMeasure: boolean;
  /** Which of several: Image 2. */
  readonly number: number | undefined;
  /** The language of the content: Name (EN). */
  readonly language: string | undefined;
}

/** One thing that a header may mean. */
export interface Meaning<Concept extends string> {
  readonly concept: Concept;
  /** `exact`: all words of the header are understood; `near`: it may be misspelt. */
  readonly how: 'exact' | 'near';
  /** The languages in which it means that, by name. */
  readonly languages: readonly string[];
}

/** A header as far as it is understood. */
export interface HeaderReading<Concept extends string> {
  /** Of several, the values decide in this order. */
  readonly meanings: readonly Meaning<Concept>[];
  readonly qualifiers: Qualifiers;
  /** What single words of it mean, where the whole is not understood. */
  readonly mentions: ReadonlySet<Concept>;
}

type Index<Concept extends string> = ReadonlyMap<string, ReadonlyMap<Concept, readonly string[]>>;

/** The name of a field is shorter; the rest of a longer header is not read. */
const MAX_HEADER_LENGTH = 100;
/** No known word is longer, in characters without blanks. */
const MAX_WORD_LENGTH = 40;

/** Reads the headers of product files. */
export const readProductHeader = headerReader<ProductConcept>(HEADER_WORDS.products);
/** Reads the headers of contact files. */
export const readContactHeader = headerReader<ContactConcept>(HEADER_WORDS.contacts);

function headerReader<Concept extends string>(
  words: Readonly<Record<Concept, Words>>,
): (header: string) => HeaderReading<Concept> {
  let index: Index<Concept> | undefined;
  return (header) => {
    index ??= indexOf(words);
    return readHeader(header, index);
  };
}

function indexOf<Concept extends string>(words: Readonly<Record<Concept, Words>>): Index<Concept> {
  const index = new Map<string, Map<Concept, string[]>>();
  for (const [concept, byLanguage] of entriesOf(words)) {
    for (const [language, written] of entriesOf(byLanguage)) {
      for (const word of (written ?? '').split(',')) {
        for (const key of spellings(word)) {
          const concepts = index.get(key) ?? new Map<Concept, string[]>();
          const languages = concepts.get(concept) ?? [];
          if (!languages.includes(LANGUAGES[language])) languages.push(LANGUAGES[language]);
          index.set(key, concepts.set(concept, languages));
        }
      }
    }
  }
  return index;
}

function entriesOf<Key extends string, Value>(record: Readonly<Partial<Record<Key, Value>>>) {
  return Object.entries(record) as [Key, Value][]; // Object.entries forgets the type of keys
}

/** A word as it is compared: without accents, and with German umlauts spelled out too. */
function spellings(word: string): readonly string[] {
  const plain = wordsOf(word).join('');
  const spelledOut = wordsOf(word.replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue')).join('');
  return plain === spelledOut ? [plain] : [plain, spelledOut];
}

/** The words of a header in lower case, without accents; those of `contactId` and `contact_id` are the same. */
function wordsOf(header: string): string[] {
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

function readHeader<Concept extends string>(header: string, index: Index<Concept>): HeaderReading<Concept> {
  const text = header
    .slice(0, MAX_HEADER_LENGTH)
    .replaceAll(/[\s\u200b\ufeff]+/g, ' ')
    .trim()
    .replace(/^\p{L}{1,3}:(?=\p{L})/u, '');
  const whole = understood(text, index);
  if (whole.meanings.length > 0) return whole;
  // Paths of JSON and XML: offers[].g:price, price@currency.
  const parts = text
    .split(/\[\]\.?|[.@/>]|\b\p{L}+:(?=\p{L})/u)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (/\s/.test(text) || parts.length < 2 || parts.length > MAX_PATH_DEPTH) {
    return parts.length === 1 && parts[0] !== text ? understood(parts[0] ?? '', index) : whole;
  }
  const last = parts.at(-1) ?? '';
  const owner = parts.at(-2) ?? '';
  const isValue = VALUE_WORDS.has(wordsOf(last).join(''));
  const ofOwner = understood(owner, index);
  if (isValue && ofOwner.meanings.length > 0) return ofOwner;
  const joined = understood(`${owner} ${last}`, index);
  if (joined.meanings.length > 0) return joined;
  // The name of a brand is not the name of a product.
  const isContainer = wordsOf(owner).every((word) => NOUNS.has(word) || CONTAINERS.has(word));
  return isContainer ? understood(last, index) : whole;
}

/** Words after the name of the field that mean its value. */
const VALUE_WORDS: ReadonlySet<string> = new Set(
  'url src href link value amount text name title content wert valeur valor cdata'.split(' '),
);
const CONTAINERS: ReadonlySet<string> = new Set(
  'offer offers variant variants row entry record node data attributes fields channel'.split(' '),
);

function understood<Concept extends string>(text: string, index: Index<Concept>): HeaderReading<Concept> {
  const plain = wordsOf(text);
  const asItIs = meaningsAt(index, plain.join(''), 'exact');
  if (asItIs.length > 0) return { meanings: asItIs, qualifiers: NO_QUALIFIERS, mentions: new Set() };
  const { words, qualifiers } = qualify(plain);
  const reading = (meanings: readonly Meaning<Concept>[]) => ({
    meanings,
    qualifiers,
    mentions: new Set<Concept>(),
  });
  for (const candidate of candidatesOf(words)) {
    const exact = meaningsAt(index, candidate, 'exact');
    if (exact.length > 0) return reading(exact);
  }
  const composed = composedOf(words, index);
  if (composed.length > 0) return reading(composed);
  for (const candidate of candidatesOf(words)) {
    const near = nearestWord(index, candidate);
    if (near !== undefined) return reading(meaningsAt(index, near, 'near'));
  }
  const parts = words.flatMap((word) => (WITHOUT_BLANKS.test(word) ? substringsOf(word) : [word]));
  return { ...reading([]), mentions: new Set(parts.flatMap((word) => [...(index.get(word)?.keys() ?? [])])) };
}

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
function composedOf<Concept extends string>(
  words: readonly string[],
  index: Index<Concept>,
): readonly Meaning<Concept>[] {
  const all = words.flatMap((word) => (WITHOUT_BLANKS.test(word) ? [...word] : [word]));
  const pieces: ReadonlyMap<Concept, readonly string[]>[] = [];
  for (let from = 0; from < all.length; ) {
    let to = Math.min(all.length, from + MAX_WORD_LENGTH);
    while (to > from && !index.has(all.slice(from, to).join(''))) to--;
    const found = index.get(all.slice(from, to).join(''));
    if (found !== undefined) pieces.push(found);
    else if (!LINKS.has(all[from] ?? '') || from === all.length - 1) return [];
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

function meaningsAt<Concept extends string>(
  index: Index<Concept>,
  key: string,
  how: 'exact' | 'near',
): Meaning<Concept>[] {
  return [...(index.get(key) ?? [])].map(([concept, languages]) => ({ concept, how, languages }));
}

/** The words joined: all of them, without words for product, and without linking words. */
function candidatesOf(words: readonly string[]): readonly string[] {
  // The last word stays, because a single letter can distinguish columns: Price A.
  const bare = words.filter((word, index) => index === words.length - 1 || !LINKS.has(word));
  const own = bare.filter((word) => !NOUNS.has(word));
  const joined = own.join('');
  const noun = [...NOUNS].find(
    (one) => joined.startsWith(one) && joined.length >= one.length + (WITHOUT_BLANKS.test(joined) ? 2 : 3),
  );
  const compound = noun === undefined ? '' : joined.slice(noun.length).replace(/^s(?=\p{L}{4})/u, '');
  return [...new Set([words.join(''), bare.join(''), joined, compound])].filter((word) => word !== '');
}

/** The only known word that a misspelt word can mean; its first character must be right. */
function nearestWord<Concept extends string>(index: Index<Concept>, word: string): string | undefined {
  const most = word.length >= 9 ? 2 : word.length >= 5 ? 1 : 0;
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

const NO_QUALIFIERS: Qualifiers = {
  currency: undefined,
  currencyWord: undefined,
  tax: undefined,
  unit: undefined,
  isPerMeasure: false,
  number: undefined,
  language: undefined,
};

/** Words that mean the product itself. */
const NOUNS: ReadonlySet<string> = new Set(
  (
    'product products produkt produkte produktu produktes produit produits producto productos prodotto prodotti produto produtos ' +
    'variant variants item items article articles artikel artikels articulo articolo artigo artykul artykulu towar towaru zbozi vyrobek vyrobku ' +
    'товар товара товары продукт urun urunun 商品 製品 产品 產品 ware waren'
  ).split(' '),
);
const LINKS: ReadonlySet<string> = new Set(
  'of the de du des der die das del della di do da dos la le les el los l d van het een for in fur for a as und and et y e i и の 的 ve w'.split(
    ' ',
  ),
);

const VAT = '(?:mwst|ust|vat|tax|taxes|tva|iva|btw|dph|ндс|kdv|gst|steuer|mehrwertsteuer)';
const GROSS = new RegExp(
  `^(?:brutto|bruto|gross|ttc|lordo|bruttopreis|税込|税込み|含税|含稅)$|^(?:incl|inkl|including|inc|inclusive|con|com|avec|mit|s|z|с|met|vc|vcetne)(?: \\d+)? ${VAT}$|^${VAT} (?:incl|inkl|included|dahil|comprise|incluse|inclusa|incluido|incluida|inclusief|inclusive|inc|inclus)$|^(?:toutes taxes comprises|kdvli)$`,
  'u',
);
const NET = new RegExp(
  `^(?:netto|neto|net|ht|税抜|税抜き|税別|不含税|未税|未稅)$|^(?:excl|exkl|excluding|ex|exc|zzgl|without|ohne|plus|sin|sem|sans|hors|bez|без|senza|esclusa|zonder|exclusief)(?: \\d+)? ${VAT}$|^${VAT} (?:excl|exkl|excluded|haric|esclusa|excluido|exclusive)$|^(?:hors taxes?|kdvsiz)$`,
  'u',
);
const MEASURES =
  '(?:kg|kilo|kilogramm?|g|gr|l|ltr|liter|litre|litro|litr|ml|m|meter|metre|metr|m2|qm|lb|oz|кг|г|л|м)';
const PER = '(?:pro|per|je|par|au|al|por|za|за|prix|/)';
const PER_MEASURE = new RegExp(`^${PER} (?:\\d+ )?${MEASURES}(?: 2)?$`, 'u');
const PER_PIECE =
  /^(?:pro|per|je|par|por|al|za|за|)\s?(?:st|stk|stck|stuck|piece|pc|pcs|each|ea|unit|unite|unidad|unidade|pezzo|pz|ks|szt|sztuke|kus|шт|adet|stuk|個|件)$/u;

const CONTENT_LANGUAGES: ReadonlySet<string> = new Set(
  (
    'de en fr es it pt nl pl cs cz ru tr ja jp zh cn uk us at deutsch englisch english german french francais italiano ' +
    'espanol polski cesky hungarian hu sk ro bg gb'
  ).split(' '),
);

/** Whether a header says only that the column is about the product. */
export function isProductWord(header: string): boolean {
  return wordsOf(header).every((word) => NOUNS.has(word));
}

/** Separates the name of a field from its qualifiers. */
function qualify(all: readonly string[]): {
  readonly words: readonly string[];
  readonly qualifiers: Qualifiers;
} {
  let words = [...all];
  const found: { -readonly [Key in keyof Qualifiers]: Qualifiers[Key] } = { ...NO_QUALIFIERS };
  /** Takes the longest run of up to three words that the test accepts. */
  const take = (accepts: (run: string) => boolean): boolean => {
    for (let length = Math.min(3, words.length - 1); length >= 1; length--) {
      for (let from = 0; from + length <= words.length; from++) {
        if (!accepts(words.slice(from, from + length).join(' '))) continue;
        words = [...words.slice(0, from), ...words.slice(from + length)];
        return true;
      }
    }
    return false;
  };
  if (take((run) => NET.test(run))) found.tax = 'net';
  else if (take((run) => GROSS.test(run))) found.tax = 'gross';
  else {
    const [first = '', ...rest] = words;
    const tax = /^(netto|brutto)(?=\p{L}{2})/u.exec(first)?.[1];
    if (tax !== undefined) {
      found.tax = tax === 'netto' ? 'net' : 'gross';
      words = [first.slice(tax.length), ...rest];
    }
    for (const [part, kind] of TAX_PARTS) {
      const last = words.at(-1) ?? '';
      const isEnd = last.endsWith(part);
      if (last.length > part.length && (isEnd || last.startsWith(part))) {
        found.tax = kind;
        words = [...words.slice(0, -1), isEnd ? last.slice(0, -part.length) : last.slice(part.length)];
        break;
      }
    }
  }
  found.isPerMeasure = take((run) => PER_MEASURE.test(run));
  while (take((run) => run !== '' && PER_PIECE.test(run)));
  take((run) => {
    const code = currencyCode(run);
    if (code === undefined || (run === 'fr' && words[0] === run)) return false;
    found.currency = code;
    found.currencyWord = run;
    return true;
  });
  take((run) => {
    const unit = weightUnit(run);
    if (unit !== undefined) found.unit = unit;
    return unit !== undefined;
  });
  for (const [ending, code] of CURRENCY_ENDINGS) {
    const last = words.at(-1) ?? '';
    if (found.currency === undefined && last.length > ending.length && last.endsWith(ending)) {
      found.currency = code;
      found.currencyWord = ending;
      words = [...words.slice(0, -1), last.slice(0, -ending.length)];
    }
  }
  const last = words.at(-1) ?? '';
  if (words.length > 1 && CONTENT_LANGUAGES.has(last)) {
    found.language = last;
    words = words.slice(0, -1);
  }
  const number = words.findIndex((word) => /^\d{1,3}$/.test(word));
  if (number >= 0 && words.length > 1) {
    found.number = Number(words[number]);
    words = words.filter((_, index) => index !== number);
  }
  return { words: words.filter((word) => word !== '#'), qualifiers: found };
}

/** For scripts without blanks: qualifiers at the end or the beginning of the word. */
const TAX_PARTS = [
  ...(['税込み', '税込', '含税', '含稅'] as const).map((word) => [word, 'gross'] as const),
  ...(['税抜き', '税抜', '税別', '不含税', '未税'] as const).map((word) => [word, 'net'] as const),
].sort(([a], [b]) => b.length - a.length);
const CURRENCY_ENDINGS = [
  ['円', 'JPY'],
  ['元', 'CNY'],
] as const;
