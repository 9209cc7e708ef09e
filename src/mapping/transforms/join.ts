import { z } from 'zod';
import { isList } from '../values/cell.ts';
import { defineTransform } from './define-transform.ts';

/** `join`: joins a list into a text. */
export const join = defineTransform({
  name: 'join',
  map: {
    shape: { join: z.string().describe('Joins a list with this text between its items.') },
    compile: ({ join: separator }) => ({
      takes: 'text[]',
      gives: () => 'text',
      run: (_row, _n, value) => (isList(value) ? value.map(String).join(separator) : value),
    }),
  },
  examples: [{ cell: 'red;blue', steps: '{ split: ";" }, { join: " / " }', gives: 'red / blue' }],
});
