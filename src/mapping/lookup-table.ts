import { withoutUndefined } from '../model/json-object.ts';
import type { CellCurrencies } from '../model/row.ts';
import { looseName } from '../text/printable.ts';

/** The rows of a lookup file by the value of their matched column, in lower case and trimmed; each row by column. */
export interface LookupTable {
  readonly columns: readonly string[];
  readonly rows: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Of the rows with formats that name a currency: the currencies, by column. */
  readonly currencies?: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Of a table with the columns from, to and rate, matched by from: the rate of each pair, as written. */
  readonly rates?: ReadonlyMap<string, Rate>;
  /** The message for a missing value, if the table has a better one than the mapping. */
  readonly unknown?: Refusal;
  /** Ambiguous values: more than one row has them. */
  readonly ambiguous?: Refusal & { readonly keys: ReadonlySet<string> };
}

type Rate = string | typeof SEVERAL_RATES;

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** The form in which a value is compared with the matched column of a lookup table. */
export function lookupKey(text: string): string {
  return text.trim().toLowerCase();
}

/** The columns with the first of these names that a header has: equal except for case, or else loosely equal. */
export function columnsNamed(header: readonly string[], ...names: readonly string[]): readonly number[] {
  const called = (key: (text: string) => string) =>
    names.map((name) => header.flatMap((text, index) => (key(text) === key(name) ? [index] : [])));
  return [...called(lookupKey), ...called(looseName)].find((found) => found.length > 0) ?? [];
}

/** The column that a table of rates is matched by. */
export const RATE_MATCH = 'from';

/** Instead of a rate: the table has different ones for the pair. */
export const SEVERAL_RATES = Symbol('several rates');

/** How a pair of currencies is found in a table of rates. */
export function ratePair(from: string, to: string): string {
  return `${lookupKey(from)} ${lookupKey(to)}`;
}

/**
 * A lookup table of a header line and its rows. The first row wins where the matched column repeats itself.
 * @param formats of each row, the currencies that the formats of its cells name.
 * @param match the header of the column that values are compared with; `undefined` is returned when it is not there.
 */
export function lookupTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  match: string,
  formats: readonly (CellCurrencies | undefined)[] = [],
): LookupTable | undefined {
  const columns = header.map((text) => text.trim());
  const columnAt = (name: string) => columns.findIndex((text) => lookupKey(text) === lookupKey(name));
  const at = columnAt(match);
  if (at < 0) return undefined;
  const [toAt, rateAt] = [columnAt('to'), columnAt('rate')];
  const rates =
    lookupKey(match) === RATE_MATCH && toAt >= 0 && rateAt >= 0 ? new Map<string, Rate>() : undefined;
  const byKey = new Map<string, ReadonlyMap<string, string>>();
  const currencies = new Map<string, ReadonlyMap<string, string>>();
  for (const [index, cells] of rows.entries()) {
    const key = lookupKey(cells[at] ?? '');
    if (key !== '' && !byKey.has(key)) {
      byKey.set(key, new Map(columns.map((name, index) => [name, (cells[index] ?? '').trim()])));
      const named = formats[index];
      if (named !== undefined)
        currencies.set(key, new Map(columns.flatMap((name, at) => (named[at] ? [[name, named[at]]] : []))));
    }
    if (rates === undefined || key === '') continue;
    const [pair, rate] = [ratePair(key, cells[toAt] ?? ''), (cells[rateAt] ?? '').trim()];
    rates.set(pair, (rates.get(pair) ?? rate) === rate ? rate : SEVERAL_RATES);
  }
  return withoutUndefined({
    columns: [...columns.slice(at, at + 1), ...columns.filter((_, index) => index !== at)],
    rows: byKey,
    currencies,
    rates,
  });
}

/** The facts about a subscriber list that lookups use. */
export interface StoreList {
  readonly id: number;
  readonly name: string;
}

/** The columns of a lookup of subscriber lists. */
export const LIST_COLUMNS: readonly string[] = ['id', 'name'];
const NAMES_SHOWN = 20;

/**
 * The store's subscriber lists as a lookup table. Two lists with one name are ambiguous. `notes` are facts about the
 * reading that matter if a list is missing.
 */
export function storeListsTable(
  lists: readonly StoreList[],
  match: string,
  notes: readonly string[] = [],
): LookupTable {
  const rows = new Map<string, ReadonlyMap<string, string>>();
  const ambiguous = new Set<string>();
  for (const { id, name } of lists) {
    const cells = new Map([
      ['id', String(id)],
      ['name', name.trim()],
    ]);
    const key = lookupKey(cells.get(match) ?? '');
    if (key === '') continue;
    if (rows.has(key)) ambiguous.add(key);
    rows.set(key, cells);
  }
  const named = lists.slice(0, NAMES_SHOWN).map(({ name }) => name.trim());
  const more = lists.length > NAMES_SHOWN ? ` and ${lists.length - NAMES_SHOWN} more` : '';
  return {
    columns: [match, ...LIST_COLUMNS.filter((column) => column !== match)],
    rows,
    unknown: {
      code: 'list-unknown',
      message:
        lists.length === 0
          ? 'the store has no subscriber lists; create the list there first'
          : `the store has no subscriber list of this ${match}; its lists are ${[`${named.join('; ')}${more}`, ...notes].join('. ')}`,
    },
    ambiguous: {
      keys: ambiguous,
      code: 'list-ambiguous',
      message: 'the store has two subscriber lists of this name; rename one of them there',
    },
  };
}

/** Finds the store's id of a contact by a field. */
export interface Crosswalk {
  /** The field to match: one of the contact, or of `match`. */
  readonly match: string;
  /** The name of the crosswalk in messages. */
  readonly file: string;
  /** The id for a value, compared in lower case and trimmed; undefined if it is missing, NaN if it is not a number. */
  readonly find: (value: string) => number | undefined;
  /** Set where the contacts are those of the store itself: NaN means several of them. */
  readonly isOfStore?: true;
  /** The key of a contact that is created, or left out; without it a contact that is not found is rejected. */
  readonly keyOfNew?: (value: string) => string | undefined;
  /** Why contacts that are not found are not created, though the job asks for it. */
  readonly whyNotNew?: string | undefined;
}
