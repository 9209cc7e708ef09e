import { z } from 'zod';
import { defineTransform, textStep } from './define-transform.ts';

/** `template`: puts a text around the value. */
export const template = defineTransform({
  name: 'template',
  map: {
    shape: {
      template: z.string().min(1).describe('A text around `{value}`; `{column}` and `{param}` work as well.'),
    },
    compile: ({ template: written }, context) => {
      const fill = context.template(['template'], written);
      return textStep((text, row, n) => fill(row, n, text));
    },
  },
  examples: [
    {
      cell: '17',
      steps: '{ template: "https://images.example/{value}.jpg" }',
      gives: 'https://images.example/17.jpg',
    },
  ],
});
