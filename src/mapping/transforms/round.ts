import { z } from 'zod';
import { roundDecimal, roundingSchema, type WrittenRounding } from '../../model/price-rules.ts';
import { calculatingStep, defineTransform, type TransformContext } from './define-transform.ts';

/** `round`: rounds a number to multiples, or to a price ending. */
export const round = defineTransform({
  name: 'round',
  map: {
    shape: {
      round: z
        .union([z.number().positive(), roundingSchema])
        .describe(
          'Rounds to multiples of this number, half up, or as the options say; exact. 0 stays 0. Below 0 as without the sign.',
        ),
    },
    compile: ({ round: written }, context) => roundingStep(written, context),
  },
  examples: [
    { cell: '14.756', steps: '{ round: 0.01 }', gives: 14.76 },
    { cell: '1.005', steps: '{ round: 0.01 }', gives: 1.01 },
    { cell: '12.43', steps: '{ round: 0.05 }', gives: 12.45 },
    { cell: '12.40', steps: '{ round: { to: 1, ending: 0.99 } }', gives: 11.99 },
    { cell: '12.49', steps: '{ round: { to: 1, ending: 0.99 } }', gives: 12.99 },
    { cell: '12.40', steps: '{ round: { to: 1, ending: 0.99, direction: up } }', gives: 12.99 },
    { cell: '0.30', steps: '{ round: { to: 1, ending: 0.99 } }', gives: 0.99 },
    { cell: '0', steps: '{ round: { to: 1, ending: 0.99 } }', gives: 0 },
  ],
});

function roundingStep(written: WrittenRounding, { complain }: TransformContext) {
  if (typeof written === 'object' && written.ending !== undefined && written.ending >= written.to) {
    complain(['round', 'ending'], `expected a number below ${written.to} (\`to\`), found ${written.ending}`);
  }
  return calculatingStep(roundDecimal(written));
}
