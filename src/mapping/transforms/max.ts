import { z } from 'zod';
import { boundStep, defineTransform } from './define-transform.ts';

/** `max`: lowers greater numbers to this one. */
export const max = defineTransform({
  name: 'max',
  map: {
    shape: { max: z.number().describe('Lowers greater numbers to this one, and counts how often.') },
    compile: ({ max: most }, { note }) =>
      boundStep((value) => {
        if (value <= most) return value;
        note(`above ${most}, lowered to ${most}`);
        return most;
      }),
  },
  examples: [{ cell: '5000', steps: 'integer, { max: 999 }', gives: 999 }],
});
