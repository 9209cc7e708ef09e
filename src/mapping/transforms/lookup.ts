import { type LookupTable, lookupKey } from '../lookup-table.ts';
import { type Cell, type ItemKind, Unreadable } from '../values/cell.ts';
import { readingStep, type Step } from './transform.ts';

/** What becomes of a word that a lookup does not have. */
export type Otherwise = 'keep' | 'blank' | 'reject';

/** What words become; null is a blank. All that come out are of one kind. */
export function lookup(
  words: Readonly<Record<string, string | number | boolean | null>>,
  gives: ItemKind,
  otherwise: Otherwise,
  quote: (text: string) => string,
): Step {
  const found = new Map(Object.entries(words).map(([word, becomes]) => [lookupKey(word), becomes]));
  return readingStep(gives, (text) => {
    const becomes = found.get(lookupKey(text));
    return becomes === undefined ? instead(text, otherwise, quote) : (becomes ?? undefined);
  });
}

/** A column of a table, by the value of its matched column. Without a table (in `check`), everything is found. */
export function tableLookup(
  table: LookupTable | undefined,
  column: string | undefined,
  otherwise: Otherwise,
  quote: (text: string) => string,
): Step {
  const taken = column ?? table?.columns[1] ?? table?.columns[0] ?? '';
  return readingStep('text', (text) => {
    if (table === undefined) return text;
    const key = lookupKey(text);
    const { ambiguous, unknown } = table;
    if (ambiguous?.keys.has(key) === true) return new Unreadable(ambiguous.code, ambiguous.message);
    const found = table.rows.get(key)?.get(taken);
    if (found !== undefined) return found === '' ? undefined : found;
    return otherwise === 'reject' && unknown !== undefined
      ? new Unreadable(unknown.code, unknown.message)
      : instead(text, otherwise, quote);
  });
}

function instead(text: string, otherwise: Otherwise, quote: (text: string) => string): Cell {
  switch (otherwise) {
    case 'keep':
      return text;
    case 'blank':
      return undefined;
    case 'reject':
      return new Unreadable('word-unknown', `${quote(text)} is not among the words that the mapping knows`);
    default:
      return otherwise satisfies never;
  }
}
