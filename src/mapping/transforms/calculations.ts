import { z } from 'zod';
import type { Decimal } from '../../model/decimal.ts';
import { roundDecimal, roundingSchema, type WrittenRounding } from '../price-rules.ts';
import type { Expression } from '../values/cell.ts';
import {
  calculatingStep,
  defineTransform,
  type Step,
  type TransformContext,
  type TransformDefinition,
} from './define-transform.ts';

/** How a number is written that a step calculates with. */
const operandSchema = z.union([z.number(), z.string().min(1)]);

/** The transforms that calculate, exactly. */
export const calculations: readonly TransformDefinition[] = [
  defineTransform({
    name: 'times',
    map: {
      shape: {
        times: operandSchema.describe(
          'Multiplies by this number, or the param or column in braces (`"{markup}"`), exactly. Blank where that is.',
        ),
      },
      compile: ({ times: written }, { operand }) =>
        operandStep(operand(['times'], written), (value, factor) => value.times(factor)),
    },
    examples: [{ cell: '12.40', steps: '{ times: 1.19 }', gives: 14.756 }],
  }),
  defineTransform({
    name: 'plus',
    map: {
      shape: {
        plus: operandSchema.describe('Adds this number, likewise; below 0 takes it off.'),
      },
      compile: ({ plus: written }, { operand }) =>
        operandStep(operand(['plus'], written), (value, summand) => value.plus(summand)),
    },
    examples: [{ cell: '12.40', steps: '{ plus: 4.9 }', gives: 17.3 }],
  }),
  defineTransform({
    name: 'round',
    map: {
      shape: {
        round: z
          .union([z.number().positive(), roundingSchema])
          .describe(
            'Rounds to multiples of this number, half up, exactly. 0 stays 0; below 0 as without the sign.',
          ),
      },
      compile: ({ round: written }, context) => roundingStep(written, context),
    },
    examples: [
      { cell: '1.005', steps: '{ round: 0.01 }', gives: 1.01 },
      { cell: '12.43', steps: '{ round: 0.05 }', gives: 12.45 },
      { cell: '12.40', steps: '{ round: { to: 1, ending: 0.99 } }', gives: 11.99 },
      { cell: '12.49', steps: '{ round: { to: 1, ending: 0.99 } }', gives: 12.99 },
      { cell: '12.40', steps: '{ round: { to: 1, ending: 0.99, direction: up } }', gives: 12.99 },
    ],
  }),
  defineTransform({
    name: 'min',
    map: {
      shape: {
        min: operandSchema.describe('Raises smaller numbers to this, unless it is blank, and counts them.'),
      },
      compile: ({ min: least }, context) =>
        boundStep(
          context.operand(['min'], least),
          (value, bound) => value.compare(bound) >= 0,
          () => context.note(`below ${least}, raised to ${least}`),
        ),
    },
    examples: [{ cell: '-3', steps: 'integer, { min: 0 }', gives: 0 }],
  }),
  defineTransform({
    name: 'max',
    map: {
      shape: { max: operandSchema.describe('Lowers greater numbers to this, likewise.') },
      compile: ({ max: most }, context) =>
        boundStep(
          context.operand(['max'], most),
          (value, bound) => value.compare(bound) <= 0,
          () => context.note(`above ${most}, lowered to ${most}`),
        ),
    },
    examples: [{ cell: '5000', steps: 'integer, { max: 999 }', gives: 999 }],
  }),
];

function roundingStep(written: WrittenRounding, { complain }: TransformContext) {
  if (typeof written === 'object' && written.ending !== undefined && written.ending >= written.to) {
    complain(['round', 'ending'], `expected a number below ${written.to} (\`to\`), found ${written.ending}`);
  }
  return calculatingStep(roundDecimal(written));
}

/** A step that calculates with a second number; blank where that is blank. */
function operandStep(
  operand: Expression<Decimal | undefined>,
  calculate: (value: Decimal, other: Decimal) => Decimal,
): Step {
  return calculatingStep((value, row, n) => {
    const other = operand(row, n);
    return other && calculate(value, other);
  });
}

/** A step that keeps numbers on one side of a bound, and notes where it had to; as they are where the bound is blank. */
function boundStep(
  bound: Expression<Decimal | undefined>,
  holds: (value: Decimal, bound: Decimal) => boolean,
  note: () => void,
): Step {
  return calculatingStep((value, row, n) => {
    const limit = bound(row, n);
    if (limit === undefined || holds(value, limit)) return value;
    note();
    return limit;
  });
}
