import { z } from 'zod';
import { messageOf } from '../../model/storeferry-error.ts';
import { refuse } from '../values/cell.ts';
import { defineTransform, textOrBlank, textStep } from './define-transform.ts';

/** `custom`: a function of the workspace. An error that it throws rejects the record. */
export const custom = defineTransform({
  name: 'custom',
  map: {
    shape: {
      custom: z
        .string()
        .describe('A function of `storeferry.config.ts`: of a text, giving a text or null (blank).'),
    },
    compile: ({ custom: name }, { custom: find, complain }) => {
      const change = find?.(name);
      if (find !== undefined && change === undefined)
        complain(['custom'], `storeferry.config.ts has no transform ${name}`);
      if (change === undefined) return textStep((text) => text);
      return textStep((text) => {
        let changed: unknown;
        try {
          changed = change(text);
        } catch (error) {
          return refuse('custom-transform', `${name}: ${messageOf(error)}`);
        }
        if (changed === null || changed === undefined) return undefined;
        return typeof changed === 'string'
          ? textOrBlank(changed)
          : refuse('custom-transform', `${name} gave no text`);
      });
    },
  },
  examples: [{ cell: 'AB-1', steps: '{ custom: ourSku }', gives: 'our AB-1' }],
});
