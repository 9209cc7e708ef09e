import { calculatingStep, defineTransform, operandSchema } from './define-transform.ts';

/** `plus`: adds to a number. */
export const plus = defineTransform({
  name: 'plus',
  map: {
    shape: {
      plus: operandSchema.describe(
        'Adds this number (below 0: takes it off), or that of the param or column in braces; exact. Blank where that is blank.',
      ),
    },
    compile: ({ plus: written }, { operand }) => {
      const summand = operand(['plus'], written);
      return calculatingStep((value, row, n) => {
        const more = summand(row, n);
        return more && value.plus(more);
      });
    },
  },
  examples: [
    { cell: '12.40', steps: '{ plus: 4.9 }', gives: 17.3 },
    { cell: '12.40', steps: '{ plus: -0.4 }', gives: 12 },
    { cell: '', steps: '{ plus: 4.9 }', gives: undefined },
  ],
});
