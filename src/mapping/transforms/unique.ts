import { isList } from '../values/cell.ts';
import { defineTransform, type Step } from './transform.ts';

const step: Step = {
  takes: 'text[]',
  gives: (taken) => taken,
  run: (value) => (isList(value) ? [...new Set(value)] : value),
};

/** `unique`: removes repeated items from a list. */
export const unique = defineTransform({
  name: 'unique',
  word: { description: 'Removes repeated items from a list.', compile: () => step },
  examples: [{ cell: 'red;red;blue', steps: '{ split: ";" }, unique', gives: ['red', 'blue'] }],
});
