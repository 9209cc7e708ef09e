import { z } from 'zod';
import { optional } from '../../model/json-object.ts';
import { didYouMean } from '../../text/nearest.ts';
import { lookupKey } from '../lookup-table.ts';
import { refuse } from '../values/cell.ts';
import { defineTransform, FALLBACK, textStep } from './define-transform.ts';
import { fallbackSchema, unknownWord } from './lookup.ts';

/**
 * `table`: a column of a lookup table, by the value of its matched column. Without a table (in a check), every word
 * is kept.
 */
export const table = defineTransform({
  name: 'table',
  map: {
    shape: {
      table: z.string().describe('The name of a lookup table, declared under `lookups`.'),
      column: optional(
        z.string(),
        'With `table`: which of its columns to take. Default: the first that is not matched.',
      ),
      [FALLBACK]: fallbackSchema,
    },
    compile: ({ table: name, column, [FALLBACK]: rule }, { complain, lookupTable, quote }) => {
      const found = lookupTable(['table'], name);
      if (found === undefined) return textStep((text) => text);
      const { ambiguous, columns, rows, unknown } = found;
      if (column !== undefined && !columns.includes(column)) {
        complain(['column'], `the table ${name} has no column ${column}${didYouMean(column, columns)}`);
      }
      const taken = column ?? columns[1] ?? columns[0] ?? '';
      const missing = rule ?? (unknown === undefined ? 'blank' : 'reject');
      return textStep((text) => {
        const key = lookupKey(text);
        if (ambiguous?.keys.has(key) === true) return refuse(ambiguous.code, ambiguous.message);
        const cell = rows.get(key)?.get(taken);
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
