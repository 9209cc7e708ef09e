import { z } from 'zod';
import { optional } from '../../model/json-object.ts';
import { didYouMean } from '../../text/printable.ts';
import { lookupKey } from '../lookup-table.ts';
import { type Cell, type ItemKind, refuse } from '../values/cell.ts';
import { defineTransform, FALLBACK, textStep } from './define-transform.ts';

/** The result for an unknown word, for `lookup` and `table`. */
const fallbackSchema = z
  .enum(['keep', 'blank', 'reject'])
  .exactOptional()
  .describe(
    'With `lookup` and `table`: for unknown words: `blank` (default), `keep`, `reject` (default for lists of the store).',
  );

/** `lookup`: words and their replacements. */
export const lookup = defineTransform({
  name: 'lookup',
  map: {
    shape: {
      lookup: z
        .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
        .describe('Words, in any case, and what each becomes (null: blank).'),
      [FALLBACK]: fallbackSchema,
    },
    compile: ({ lookup: words, [FALLBACK]: rule = 'blank' }, { complain, quote }) => {
      const kinds = new Set<ItemKind>();
      for (const becomes of Object.values(words)) {
        if (becomes === null) continue;
        kinds.add(typeof becomes === 'string' ? 'text' : typeof becomes === 'number' ? 'number' : 'boolean');
      }
      const [kind = 'text'] = kinds;
      if (kinds.size > 1)
        complain(['lookup'], `expected values of one kind, found ${[...kinds].join(' and ')}`);
      if (rule === 'keep' && kind !== 'text') {
        complain([FALLBACK], `keep leaves a text, but the lookup gives a ${kind}`);
      }
      const found = new Map(Object.entries(words).map(([word, becomes]) => [lookupKey(word), becomes]));
      return {
        takes: 'text',
        gives: () => kind,
        // No text step: a mapping that names an empty text for a word means to clear the field.
        run: (_row, _n, value) => {
          if (typeof value !== 'string') return value;
          const becomes = found.get(lookupKey(value));
          return becomes === undefined ? unknownWord(value, rule, quote) : (becomes ?? undefined);
        },
      };
    },
  },
  examples: [
    { cell: 'BLK', steps: '{ lookup: { blk: Black, wht: White } }', gives: 'Black' },
    { cell: 'RED', steps: '{ lookup: { blk: Black }, otherwise: keep }', gives: 'RED' },
    {
      cell: 'RED',
      steps: '{ lookup: { blk: Black }, otherwise: reject }',
      gives: { rejects: 'word-unknown' },
    },
  ],
});

/** The result for an unknown word. */
function unknownWord(text: string, rule: 'keep' | 'blank' | 'reject', quote: (text: string) => string): Cell {
  switch (rule) {
    case 'keep':
      return text;
    case 'blank':
      return undefined;
    case 'reject':
      return refuse('word-unknown', `${quote(text)} is not among the words that the mapping knows`);
    default:
      return rule satisfies never;
  }
}

/**
 * `table`: a column of a lookup table, by the value of its matched column. Without a table (in a check), every word
 * is kept.
 */
export const table = defineTransform({
  name: 'table',
  map: {
    shape: {
      table: z.string().describe('A table under `lookups`.'),
      column: optional(z.string(), 'With `table`: the column to take. Default: the first not matched.'),
      [FALLBACK]: fallbackSchema,
    },
    compile: ({ table: name, column, [FALLBACK]: rule }, context) => {
      const { complain, lookupTable, checkFormat, refuseDamaged, quote } = context;
      const found = lookupTable(['table'], name);
      if (found === undefined) return textStep((text) => text);
      const { ambiguous, columns, currencies, rows, unknown } = found;
      if (column !== undefined && !columns.includes(column)) {
        complain(['column'], `the table ${name} has no column ${column}${didYouMean(column, columns)}`);
      }
      const taken = column ?? columns[1] ?? columns[0] ?? '';
      const missing = rule ?? (unknown === undefined ? 'blank' : 'reject');
      return textStep((text, row, n) => {
        const key = lookupKey(text);
        if (ambiguous?.keys.has(key) === true) return refuse(ambiguous.code, ambiguous.message);
        const cell = rows.get(key)?.get(taken);
        const named = currencies?.get(key)?.get(taken);
        if (named !== undefined) checkFormat?.(named, row, n);
        if (cell !== undefined) refuseDamaged(name, taken, cell, named);
        if (cell !== undefined) return cell === '' ? undefined : cell;
        return missing === 'reject' && unknown !== undefined
          ? refuse(unknown.code, unknown.message)
          : unknownWord(text, missing, quote);
      });
    },
  },
  examples: [
    { cell: '17', steps: '{ table: colours, column: name }', gives: 'Teal' },
    {
      cell: '18',
      steps: '{ table: colours, column: name, otherwise: reject }',
      gives: { rejects: 'word-unknown' },
    },
  ],
});
