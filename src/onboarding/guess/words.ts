import { z } from 'zod';
import { readPackedYaml } from '../../config/yaml-text.ts';
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
      /** The product itself: Artikelname, product name. */
      product: list,
      links: list,
      /** After the name of the field, its value: price.amount. */
      valueParts: list,
      /** Elements of JSON and XML around the fields of a record. */
      containers: list,
      /** Languages of the content: Name (EN). */
      contentLanguages: list,
      /** What numbered columns are about that have names and values of options: Attribute 1 name, Attribute 1 value(s). */
      options: list,
      optionNames: list,
      optionValues: list,
      status: list,
      vat: list,
      gross: list,
      beforeVatGross: list,
      afterVatGross: list,
      net: list,
      beforeVatNet: list,
      afterVatNet: list,
      /** Before a measure: per kg. */
      per: list,
      measures: list,
      perPiece: list,
      piece: list,
      /** Parts of a currency, below which whole numbers are hundredths of it. */
      hundredths: list,
      /** They turn the meaning of the others: not active. */
      negations: list,
      /** They say that what is marked stays within the shop. */
      internal: list,
      /** Beginnings of words for what products are or need, and for days on which nothing begins or ends. */
      properties: list,
      /** Parts of words that say who refuses messages, and who agrees to them. */
      refusing: list,
      agreeing: list,
      /** Other ways to reach somebody than e-mail. */
      otherChannels: list,
      /** Whose e-mail address it may be instead of that of the contact. */
      otherPeople: list,
      /** At an end of words that are written without blanks; the longest first. */
      glued: z.strictObject({ gross: list, net: list }),
    }),
    cells: z.strictObject({
      /** No value, in any field. */
      blank: list,
      /** In place of a price that the shop does not publish; in other fields they are values: POR for Portuguese. */
      missing: list,
      available: list,
      soldOut: list,
      shown: list,
      hidden: list,
      /** A product is not sold any more. */
      removed: list,
      /** The same, but among other words they say what it is: a remover, blocked heels. */
      removedAlone: list,
      /** A contact gets no e-mails, or has not agreed to them. */
      refusals: list,
      /** In a last row that is no product. */
      totals: list,
      /** What kind of product it is, not in which category. */
      productKinds: list,
      /** That a product can be bought without stock. */
      backorders: list,
      /** Kinds of rows that are a part of a product. */
      variantKinds: list,
      /** Kinds of products that are not shipped. */
      digital: list,
      services: list,
      /** Whom prices are for that customers do not pay. */
      dealers: list,
      /** Before or behind a lowest price. */
      from: list,
      fromBehind: list,
      /** Behind a number of pieces, and before one that is a lower bound. */
      pieces: list,
      moreThan: list,
    }),
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
