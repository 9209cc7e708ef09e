import { boundStep, defineTransform, operandSchema } from './define-transform.ts';

/** `min`: raises smaller numbers to this minimum. */
export const min = defineTransform({
  name: 'min',
  map: {
    shape: { min: operandSchema.describe('Raises smaller numbers to this minimum, and counts them.') },
    compile: ({ min: least }, context) =>
      boundStep(
        context.operand(['min'], least),
        (value, bound) => value.compare(bound) >= 0,
        () => context.note(`below ${least}, raised to ${least}`),
      ),
  },
  examples: [{ cell: '-3', steps: 'integer, { min: 0 }', gives: 0 }],
});
