import { calculatingStep, defineTransform, operandSchema } from './define-transform.ts';

/** `times`: multiplies a number. */
export const times = defineTransform({
  name: 'times',
  map: {
    shape: {
      times: operandSchema.describe(
        'Multiplies by this number, or by the param or column in braces (`"{markup}"`); exact. Blank where that is blank.',
      ),
    },
    compile: ({ times: written }, { operand }) => {
      const factor = operand(['times'], written);
      return calculatingStep((value, row, n) => {
        const by = factor(row, n);
        return by && value.times(by);
      });
    },
  },
  examples: [
    { cell: '12.40', steps: '{ times: 1.19 }', gives: 14.756 },
    { cell: '0.1', steps: '{ times: 3 }', gives: 0.3 },
    { cell: '12,40', steps: '{ times: 1.19 }', gives: { rejects: 'not-a-number' } },
  ],
});
