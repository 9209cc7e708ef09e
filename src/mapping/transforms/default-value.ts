import { z } from 'zod';
import { defineTransform } from './define-transform.ts';

/** `default`: the value instead of a blank. */
export const defaultValue = defineTransform({
  name: 'default',
  map: {
    shape: {
      default: z.union([z.string(), z.number(), z.boolean()]).describe('Instead of a blank.'),
    },
    compile: ({ default: written }, { argument }) => {
      const value = typeof written === 'string' ? argument(['default'], written) : written;
      return {
        takes: 'any',
        gives: (taken) => taken,
        run: (_row, _n, value) => value,
        blank: () => (value === '' ? undefined : value),
      };
    },
  },
  examples: [{ cell: '', steps: '{ default: unknown }', gives: 'unknown' }],
});
