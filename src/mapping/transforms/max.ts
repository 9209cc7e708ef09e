import { z } from 'zod';
import { defineTransform } from './transform.ts';

/** `max`: lowers greater numbers to this one. */
export const max = defineTransform({
  name: 'max',
  map: {
    shape: { max: z.number().describe('Lowers greater numbers to this one, and counts how often.') },
    compile: ({ max: most }, { note }) => ({
      takes: 'number',
      gives: () => 'number',
      run: (value) => {
        if (typeof value !== 'number' || value <= most) return value;
        note(`above ${most}, lowered to ${most}`);
        return most;
      },
    }),
  },
  examples: [{ cell: '5000', steps: 'integer, { max: 999 }', gives: 999 }],
});
