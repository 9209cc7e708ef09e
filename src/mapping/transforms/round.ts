import { z } from 'zod';
import { Decimal } from '../../model/decimal.ts';
import { optional } from '../../model/json-object.ts';
import { calculatingStep, defineTransform, type TransformContext } from './define-transform.ts';

const options = z.strictObject({
  to: z.number().positive().describe('To multiples of this: 0.05, 1, 10.'),
  ending: optional(
    z.number().min(0),
    'To numbers that end so: with `to: 1` and 0.99 to 0.99, 1.99, …; with `to: 10` and 9 to 9, 19, …',
  ),
  direction: optional(
    z.enum(['nearest', 'up', 'down']),
    '`nearest` (default): the middle goes up; `up` or `down`: always so.',
  ),
});

type Options = z.infer<typeof options>;

/** `round`: rounds a number to multiples, or to a price ending. */
export const round = defineTransform({
  name: 'round',
  map: {
    shape: {
      round: z
        .union([z.number().positive(), options])
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

function roundingStep(written: number | Options, { complain }: TransformContext) {
  const given: Options = typeof written === 'number' ? { to: written } : written;
  const { direction = 'nearest' } = given;
  if (given.ending !== undefined && given.ending >= given.to) {
    complain(['round', 'ending'], `expected a number below ${given.to} (\`to\`), found ${given.ending}`);
  }
  const to = Decimal.of(given.to);
  const ending = Decimal.of(given.ending ?? 0);
  return calculatingStep((value) => {
    if (value.sign === 0) return value;
    const rounded = roundedSize(value.sign < 0 ? value.negated() : value, { to, ending, direction });
    return value.sign < 0 ? rounded.negated() : rounded;
  });
}

/** Of a number above 0: the one below or above it that ends so. The smallest of them is the ending itself. */
function roundedSize(
  size: Decimal,
  { to, ending, direction }: Record<'to' | 'ending', Decimal> & Required<Pick<Options, 'direction'>>,
): Decimal {
  const above = size.minus(ending);
  if (above.sign <= 0) return ending;
  const lower = ending.plus(above.wholeTimes(to).times(to));
  const down = size.minus(lower);
  if (down.sign === 0 || direction === 'down') return lower;
  const upper = lower.plus(to);
  return direction === 'up' || upper.minus(size).compare(down) <= 0 ? upper : lower;
}
