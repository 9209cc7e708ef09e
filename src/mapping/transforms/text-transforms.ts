import { z } from 'zod';
import { optional } from '../../model/json-object.ts';
import { comparedEmail } from '../../model/operation.ts';
import { storeTextSchema } from '../../model/remote-address.ts';
import { messageOf } from '../../model/storeferry-error.ts';
import { refuse } from '../values/cell.ts';
import { compilePattern, rememberingLast } from './compile-pattern.ts';
import { defineTransform, type TransformDefinition, textStep } from './define-transform.ts';

/** The transforms that change a text. */
export const textTransforms: readonly TransformDefinition[] = [
  defineTransform({
    name: 'trim',
    word: {
      description: 'Removes white space from both ends; cells and parts of a split are trimmed anyway.',
      compile: () => textStep((text) => text.trim()),
    },
    map: {
      shape: { trim: z.string().min(1).describe('Removes these characters from both ends.') },
      compile: ({ trim: characters }) => {
        const removed = new Set(characters);
        return textStep((text) => {
          const all = [...text];
          const from = all.findIndex((character) => !removed.has(character));
          const to = all.findLastIndex((character) => !removed.has(character));
          if (from < 0) return undefined;
          const kept = all.slice(from, to + 1).join('');
          return kept.trim();
        });
      },
    },
    examples: [
      { cell: 'blue ; red', steps: '{ replace: ";.*$" }, trim', gives: 'blue' },
      { cell: '--Blue mug--', steps: '{ trim: "-" }', gives: 'Blue mug' },
    ],
  }),
  defineTransform({
    name: 'squeeze',
    word: {
      description: 'Turns white space, line breaks included, into one space.',
      compile: () => textStep((text) => text.replaceAll(/\s+/g, ' ').trim()),
    },
    examples: [{ cell: 'Blue   mug', steps: 'squeeze', gives: 'Blue mug' }],
  }),
  defineTransform({
    name: 'lower',
    word: { description: 'Lower case.', compile: () => textStep((text) => text.toLowerCase()) },
    examples: [{ cell: 'Blue MUG', steps: 'lower', gives: 'blue mug' }],
  }),
  defineTransform({
    name: 'upper',
    word: { description: 'Upper case.', compile: () => textStep((text) => text.toUpperCase()) },
    examples: [{ cell: 'a-17', steps: 'upper', gives: 'A-17' }],
  }),
  defineTransform({
    name: 'unquote',
    word: {
      description: "Removes a leading apostrophe ('30235) and quotes around the text.",
      compile: () =>
        textStep((text) => {
          const formula = text.startsWith('="') && text.endsWith('"') ? text.slice(1) : text;
          const bare = formula.startsWith("'") ? formula.slice(1) : formula;
          const quoted = bare.length > 1 && bare.startsWith('"') && bare.endsWith('"');
          return (quoted ? bare.slice(1, -1) : bare).trim();
        }),
    },
    examples: [{ cell: "'0042", steps: 'unquote', gives: '0042' }],
  }),
  defineTransform({
    name: 'replace',
    map: {
      shape: {
        replace: z.string().min(1).describe('A pattern (RE2); every match becomes `with`.'),
        with: optional(
          z.string(),
          'With `replace`: the new text; `$1` is the first group. Default: nothing.',
        ),
      },
      compile: ({ replace: written, with: by = '' }, { complain, argument, patternLength }) => {
        const pattern = compilePattern(written, patternLength, (message) => complain(['replace'], message));
        const text = argument(['with'], by);
        const replaced = (cell: string) => pattern?.matcher(cell).replaceAll(text).trim() ?? cell;
        return textStep(rememberingLast(replaced));
      },
    },
    examples: [{ cell: 'Mug, blue', steps: '{ replace: "^(.*), (.*)$", with: "$2 $1" }', gives: 'blue Mug' }],
  }),
  defineTransform({
    name: 'extract',
    map: {
      shape: {
        extract: z
          .string()
          .min(1)
          .describe('A pattern (RE2); gives its first group or the match, else a blank.'),
      },
      compile: ({ extract: written }, { complain, patternLength }) => {
        const pattern = compilePattern(written, patternLength, (message) => complain(['extract'], message));
        return textStep((text) => {
          const matcher = pattern?.matcher(text);
          if (matcher?.find() !== true) return undefined;
          return (matcher.group(matcher.groupCount() > 0 ? 1 : 0) ?? '').trim();
        });
      },
    },
    examples: [
      { cell: '250 ML bottle', steps: '{ extract: "([0-9]+) ML" }', gives: '250' },
      { cell: 'bottle', steps: '{ extract: "([0-9]+) ML" }', gives: undefined },
    ],
  }),
  defineTransform({
    name: 'template',
    map: {
      shape: {
        template: storeTextSchema.min(1).describe('A text with `{value}`, `{column}` or `{param}`.'),
      },
      compile: ({ template: written }, context) => {
        const fill = context.template(['template'], written);
        return textStep((text, row, n) => fill(row, n, text));
      },
    },
    examples: [
      {
        cell: '17',
        steps: '{ template: "https://images.example/{value}.jpg" }',
        gives: 'https://images.example/17.jpg',
      },
    ],
  }),
  defineTransform({
    name: 'start',
    map: {
      shape: { start: z.int().min(1).describe('The first so many characters.') },
      compile: ({ start: length }) =>
        textStep((text) => [...text.slice(0, length * 2)].slice(0, length).join('').trim()),
    },
    examples: [{ cell: 'product_a1b2c3d4e5', steps: '{ start: 10 }', gives: 'product_a1' }],
  }),
];

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
        return typeof changed === 'string' ? changed : refuse('custom-transform', `${name} gave no text`);
      });
    },
  },
  examples: [{ cell: 'AB-1', steps: '{ custom: ourSku }', gives: 'our AB-1' }],
});

const ADDRESS = /^[^\s@<>()[\],;:"]+@[^\s@<>()[\],;:"]+$/;
/** `Ann Lee <ann@mail.example>`, as copied from address books. */
const NAMED = /^[^<>]*<([^<>]*)>$/;

/**
 * `email`: one e-mail address, in lower case and one form of Unicode, so that two spellings are not two persons. Other texts
 * reject the record: the store would write to this address, or the crosswalk would search for it.
 */
export const email = defineTransform({
  name: 'email',
  word: {
    description:
      'Reads an e-mail address, in lower case (NFC), also out of `Ann <ann@mail.example>` and `mailto:`; else rejects the record.',
    compile: ({ quote }) =>
      textStep((text) => {
        const bare = comparedEmail((NAMED.exec(text)?.[1] ?? text).trim().replace(/^mailto:/i, ''));
        return ADDRESS.test(bare)
          ? bare
          : refuse(
              'not-an-email',
              `${quote(text)} is not an e-mail address; expected one such as ann@mail.example`,
            );
      }),
  },
  examples: [{ cell: 'Ann <ANN@mail.example>', steps: 'email', gives: 'ann@mail.example' }],
});

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
