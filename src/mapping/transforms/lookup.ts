import { z } from 'zod';
import { lookupKey } from '../lookup-table.ts';
import { type Cell, type ItemKind, refuse } from '../values/cell.ts';
import { defineTransform, FALLBACK, textStep } from './define-transform.ts';

/** The result for an unknown word, for `lookup` and `table`. */
export const fallbackSchema = z
  .enum(['keep', 'blank', 'reject'])
  .exactOptional()
  .describe(
    'With `lookup` and `table`: what becomes of words that are not there: `blank` (default), `keep`, `reject` (default for the lists of the store).',
  );

/** `lookup`: words and their replacements. */
export const lookup = defineTransform({
  name: 'lookup',
  map: {
    shape: {
      lookup: z
        .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
        .describe('Words and what each becomes (null: blank); case does not matter.'),
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
      return textStep((text) => {
        const becomes = found.get(lookupKey(text));
        return becomes === undefined ? unknownWord(text, rule, quote) : (becomes ?? undefined);
      }, kind);
    },
  },
  examples: [
    { cell: 'BLK', steps: '{ lookup: { blk: Black, wht: White } }', gives: 'Black' },
    { cell: 'RED', steps: '{ lookup: { blk: Black }, otherwise: keep }', gives: 'RED' },
    { cell: 'RED', steps: '{ lookup: { blk: Black } }', gives: undefined },
    {
      cell: 'RED',
      steps: '{ lookup: { blk: Black }, otherwise: reject }',
      gives: { rejects: 'word-unknown' },
    },
  ],
});

/** The result for an unknown word. */
export function unknownWord(
  text: string,
  rule: 'keep' | 'blank' | 'reject',
  quote: (text: string) => string,
): Cell {
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
