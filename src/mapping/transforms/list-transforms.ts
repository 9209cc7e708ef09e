import { z } from 'zod';
import { optional } from '../../model/json-object.ts';
import { isList } from '../values/cell.ts';
import { defineTransform, type TransformDefinition, textStep } from './define-transform.ts';

/** The characters that make separators ordinary text. */
interface SplitOptions {
  /**
   * The character that makes a following separator, quote or escape character ordinary; before any other character it
   * is ordinary itself.
   */
  readonly escapedBy?: string | undefined;
  /** The character around parts that contain separators; doubled within them it is an ordinary character. */
  readonly quotedBy?: string | undefined;
  readonly keepsPlaces?: boolean;
}

/** Splits a text at separators; parts are trimmed, blank ones dropped, unless they keep their places. */
export function splitText(
  text: string,
  separators: readonly string[],
  { escapedBy, quotedBy, keepsPlaces }: SplitOptions = {},
): readonly string[] {
  const special = [escapedBy, quotedBy, ...separators].some((one) => one !== undefined && text.includes(one));
  if (!special) return text.trim() === '' ? [] : [text.trim()];
  const escapable = new Set([escapedBy, quotedBy, ...separators.map((separator) => separator.charAt(0))]);
  const parts: string[] = [];
  let part = '';
  let quoted = false;
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (character === escapedBy && escapable.has(text.charAt(at + 1))) {
      part += text.charAt(at + 1);
      at += 2;
    } else if (character === quotedBy && (quoted || part.trim() === '')) {
      const doubled = quoted && text.charAt(at + 1) === quotedBy;
      if (doubled) part += character;
      else quoted = !quoted;
      at += doubled ? 2 : 1;
    } else {
      const separator = quoted ? undefined : separators.find((one) => text.startsWith(one, at));
      if (separator === undefined) part += character;
      else {
        parts.push(part.trim());
        part = '';
      }
      at += separator?.length ?? 1;
    }
  }
  parts.push(part.trim());
  return keepsPlaces === true ? parts : parts.filter((one) => one !== '');
}

/** The transforms that make lists and read them. */
export const listTransforms: readonly TransformDefinition[] = [
  defineTransform({
    name: 'split',
    map: {
      shape: {
        split: z
          .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
          .describe('Splits a text at this separator (or any of these); blank parts are dropped.'),
        escape: optional(
          z.string().length(1),
          'With `split`: makes a following separator or quote ordinary, as in `10\\, 20`.',
        ),
        quote: optional(
          z.string().length(1),
          'With `split`: stands around parts that hold the separator, as in `"a, b",c`.',
        ),
      },
      compile: ({ split: written, escape: escapedBy, quote: quotedBy }, { argument, keepsPlaces }) => {
        const separators = (typeof written === 'string' ? [written] : written).map((separator) =>
          argument(['split'], separator),
        );
        return textStep((text) => {
          const parts = splitText(text, separators, { escapedBy, quotedBy, keepsPlaces });
          return parts.length === 0 ? undefined : parts;
        }, 'text[]');
      },
    },
    examples: [
      { cell: 'red; green ;;blue', steps: '{ split: ";" }', gives: ['red', 'green', 'blue'] },
      {
        cell: 'Tom\\, Dick,Harry',
        steps: '{ split: ",", escape: "\\\\" }',
        gives: ['Tom, Dick', 'Harry'],
      },
      { cell: '"Bread, sweet",Tea', steps: `{ split: ",", quote: '"' }`, gives: ['Bread, sweet', 'Tea'] },
    ],
  }),
  defineTransform({
    name: 'join',
    map: {
      shape: { join: z.string().describe('Joins a list with this text.') },
      compile: ({ join: separator }) => ({
        takes: 'text[]',
        gives: () => 'text',
        run: (_row, _n, value) => (isList(value) ? value.map(String).join(separator) : value),
      }),
    },
    examples: [{ cell: 'red;blue', steps: '{ split: ";" }, { join: " / " }', gives: 'red / blue' }],
  }),
  defineTransform({
    name: 'unique',
    word: {
      description: 'Removes repeats from a list.',
      compile: () => ({
        takes: 'text[]',
        gives: (taken) => taken,
        run: (_row, _n, value) => (isList(value) ? [...new Set(value)] : value),
      }),
    },
    examples: [{ cell: 'red;red;blue', steps: '{ split: ";" }, unique', gives: ['red', 'blue'] }],
  }),
];
