import { z } from 'zod';
import { defineTransform, textOrBlank, textStep } from './define-transform.ts';

/** `start`: the first characters. */
export const start = defineTransform({
  name: 'start',
  map: {
    shape: { start: z.int().min(1).describe('The first so many characters.') },
    compile: ({ start: length }) =>
      textStep((text) => textOrBlank([...text.slice(0, length * 2)].slice(0, length).join('').trim())),
  },
  examples: [{ cell: 'product_a1b2c3d4e5', steps: '{ start: 10 }', gives: 'product_a1' }],
});
