import { boundStep, defineTransform, operandSchema } from './define-transform.ts';

/** `max`: lowers greater numbers to this maximum. */
export const max = defineTransform({
  name: 'max',
  map: {
    shape: { max: operandSchema.describe('Lowers greater numbers to this maximum, and counts them.') },
    compile: ({ max: most }, context) =>
      boundStep(
        context.operand(['max'], most),
        (value, bound) => value.compare(bound) <= 0,
        () => context.note(`above ${most}, lowered to ${most}`),
      ),
  },
  examples: [{ cell: '5000', steps: 'integer, { max: 999 }', gives: 999 }],
});
