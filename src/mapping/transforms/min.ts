import { z } from 'zod';
import { boundStep, defineTransform } from './define-transform.ts';

/** `min`: raises smaller numbers to this one. */
export const min = defineTransform({
  name: 'min',
  map: {
    shape: { min: z.number().describe('Raises smaller numbers to this one, and counts how often.') },
    compile: ({ min: least }, { note }) =>
      boundStep((value) => {
        if (value >= least) return value;
        note(`below ${least}, raised to ${least}`);
        return least;
      }),
  },
  examples: [{ cell: '-3', steps: 'integer, { min: 0 }', gives: 0 }],
});
