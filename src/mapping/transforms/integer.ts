import { z } from 'zod';
import { optional } from '../../model/json-object.ts';
import { refuse } from '../values/cell.ts';
import { defineTransform, FALLBACK, type Step } from './define-transform.ts';
import { PLAIN_NUMBER, readNumber } from './read-number.ts';

/** `integer`: reads a whole number. */
export const integer = defineTransform({
  name: 'integer',
  word: {
    description:
      'Reads a whole number (20.0 is 20); a fraction rejects the record, and so does 1.000, which may be a thousand.',
    compile: ({ quote }) => integerStep('reject', quote),
  },
  map: {
    shape: {
      integer: z
        .strictObject({
          [FALLBACK]: optional(
            z.enum(['blank', 'reject']),
            'What a text becomes that is not a whole number. Default: reject.',
          ),
        })
        .describe('As `integer`, with options.'),
    },
    compile: ({ integer: { [FALLBACK]: fallback = 'reject' } }, { quote }) => integerStep(fallback, quote),
  },
  examples: [
    { cell: '20.0', steps: 'integer', gives: 20 },
    { cell: '2.5', steps: 'integer', gives: { rejects: 'not-an-integer' } },
    { cell: '1.000', steps: 'integer', gives: { rejects: 'number-ambiguous' } },
    { cell: '2.5', steps: '{ integer: { otherwise: blank } }', gives: undefined },
  ],
});

function integerStep(fallback: 'blank' | 'reject', quote: (text: string) => string): Step {
  const format = { ...PLAIN_NUMBER, refusesThousandths: true, fallback, params: undefined };
  return {
    takes: 'any',
    gives: (taken) => (taken.endsWith('[]') ? 'number[]' : 'number'),
    run: (_row, _n, value) => {
      const read = typeof value === 'string' ? readNumber(value, format, quote) : value;
      if (typeof read !== 'number' || Number.isSafeInteger(read)) return read;
      return fallback === 'blank'
        ? undefined
        : refuse('not-an-integer', `${quote(String(value))} is not a whole number`);
    },
  };
}
