import { isList } from '../values/cell.ts';
import { defineTransform } from './define-transform.ts';

/** `unique`: removes repeated items. */
export const unique = defineTransform({
  name: 'unique',
  word: {
    description: 'Removes repeated items from a list.',
    compile: () => ({
      takes: 'text[]',
      gives: (taken) => taken,
      run: (_row, _n, value) => (isList(value) ? [...new Set(value)] : value),
    }),
  },
  examples: [{ cell: 'red;red;blue', steps: '{ split: ";" }, unique', gives: ['red', 'blue'] }],
});
