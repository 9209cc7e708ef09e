import { z } from 'zod';
import { readPackedYaml } from '../../config/yaml-text.ts';
import { recordOf } from '../../model/json-object.ts';
import { CONCEPTS } from '../column-fields.ts';

const list = z.string().transform(
  (text): ReadonlySet<string> =>
    new Set(
      text
        .split(',')
        .map((word) => word.trim())
        .filter((word) => word !== ''),
    ),
);
const byLanguage = z.record(z.string(), list);

/** Lists of words that are a part of headers. */
const HEADER_PARTS = [
  /** The product itself: Artikelname, product name. */
  'product',
  'links',
  /** After the name of the field, its value: price.amount. */
  'valueParts',
  /** Elements of JSON and XML around the fields of a record. */
  'containers',
  /** Languages of the content: Name (EN). */
  'contentLanguages',
  /** What numbered columns are about that have names and values of options: Attribute 1 name, Attribute 1 value(s). */
  'options',
  'optionNames',
  'optionValues',
  'status',
  'vat',
  'gross',
  'beforeVatGross',
  'afterVatGross',
  'net',
  'beforeVatNet',
  'afterVatNet',
  /** Before a measure: per kg. */
  'per',
  'measures',
  'perPiece',
  'piece',
  /** Parts of a currency, below which whole numbers are hundredths of it. */
  'hundredths',
  /** Parts of words that say how, where or to whom a product may be sold, and for which time its price is paid. */
  'limits',
  'billing',
  /** They say whether products are new, or where they are sold. */
  'conditions',
  /** They turn the meaning of the others: not active. */
  'negations',
  /** They say that what is marked stays within the shop. */
  'internal',
  /** Beginnings of words for what products are or need, and for days on which nothing begins or ends. */
  'properties',
  /** Parts of words that say who refuses messages, and who agrees to them. */
  'refusing',
  'agreeing',
  /** Other ways to reach somebody than e-mail. */
  'otherChannels',
  /** They say that rows are lines of orders. */
  'orders',
  /** Whose e-mail address it may be instead of that of the contact. */
  'otherPeople',
] as const;

/** Lists of words that a cell may be. */
const CELLS = [
  /** No value, in any field. */
  'blank',
  /** In place of a price that the shop does not publish; in other fields they are values: POR for Portuguese. */
  'missing',
  'available',
  'soldOut',
  'shown',
  'hidden',
  /** A product is not sold any more. */
  'removed',
  /** The same, but among other words they say what it is: a remover, blocked heels. */
  'removedAlone',
  /** A row is no product; `testsAlone`: beside other words they are what is sold. */
  'tests',
  'testsAlone',
  /** A contact gets no e-mails, or has not agreed to them. */
  'refusals',
  /** A contact has agreed: the only words, or the first two of a sentence; without accents. */
  'agreed',
  /** In rows that are no products. */
  'totals',
  /** What kind of product it is, not in which category. */
  'productKinds',
  /** The same of rows that have variants or none; they may be categories too: main courses, singles. */
  'parentKinds',
  /** That a product can be bought without stock. */
  'backorders',
  /** Kinds of rows that are a part of a product. */
  'variantKinds',
  /** Kinds of products that are not shipped. */
  'digital',
  'services',
  /** Whom prices are for that customers do not pay. */
  'dealers',
  /** Before or behind a lowest price. */
  'from',
  'fromBehind',
  /** Behind a number of pieces, and before one that is a lower bound. */
  'pieces',
  'moreThan',
  /** What goods are that can be sold: new, used; not: defect. */
  'soundness',
] as const;

/** What words.yaml has. */
const wordsSchema = z
  .strictObject({
    languages: z.record(
      z.string(),
      z.strictObject({
        /** As evidence shows it. */
        name: z.string(),
        charsets: list.prefault('windows-1252, macintosh'),
        familyNameFirst: z.boolean().default(false),
      }),
    ),
    headers: z.strictObject({
      products: z.record(z.enum(CONCEPTS.products), byLanguage),
      contacts: z.record(z.enum(CONCEPTS.contacts), byLanguage),
    }),
    headerParts: z.strictObject({
      ...recordOf(HEADER_PARTS, () => list),
      /** At an end of words that are written without blanks; the longest first. */
      glued: z.strictObject({ gross: list, net: list }),
    }),
    cells: z.strictObject(recordOf(CELLS, () => list)),
    /** In the headers of a file with the ids of contacts. */
    crosswalk: z.strictObject({
      id: list,
      number: list,
      contact: list,
      /** Beside a word for a contact: `Store ID` alone is the id of a store. */
      store: list,
    }),
    currencies: z.record(z.string(), list),
  })
  .refine(
    ({ languages, headers }) =>
      Object.values({ ...headers.products, ...headers.contacts }).every((one) =>
        Object.keys(one).every((code) => Object.hasOwn(languages, code)),
      ),
    'a header has words of a language without a name',
  )
  .transform(({ currencies, ...others }) => ({
    ...others,
    currencies: new Map(
      Object.entries(currencies).flatMap(([code, words]) =>
        [...words, code.toLowerCase()].map((word) => [word, code] as const),
      ),
    ),
  }));

let known: z.infer<typeof wordsSchema> | undefined;

/** The words of headers and cells, read and checked on first use. */
export function words(): z.infer<typeof wordsSchema> {
  known ??= wordsSchema.parse(readPackedYaml('words', import.meta.url));
  return known;
}

/** Whether a cell has a word of a list. */
export function isCellWord(value: string, list: keyof ReturnType<typeof words>['cells']): boolean {
  return words().cells[list].has(value.toLowerCase());
}

/** The currency that a code, a sign or a usual abbreviation names, as a code of ISO 4217. */
export function currencyCode(word: string): string | undefined {
  return words().currencies.get(word.toLowerCase().replace(/\.$/, '').replace('ł', 'l').replace('č', 'c'));
}

/** The words as alternatives of a pattern, the longest first; points are literal. */
export function oneOf(some: ReadonlySet<string>): string {
  const longestFirst = [...some].sort((one, other) => other.length - one.length);
  return `(?:${longestFirst.map((word) => word.replaceAll('.', '\\.')).join('|')})`;
}
