import { z } from 'zod';
import { optional } from '../../model/json-object.ts';
import { booleanWord, FALSE_WORDS, TRUE_WORDS } from '../../model/row.ts';
import { refuse } from '../values/cell.ts';
import { defineTransform, type Step, textStep } from './define-transform.ts';

/**
 * The words for yes, in any case: those of programs, those that a spreadsheet writes for TRUE in its own language,
 * and the plain word of each language whose headers a shipped mapping knows.
 */
const YES_WORDS: ReadonlySet<string> = new Set([
  ...'true yes y 1 1.0 on t'.split(' '),
  ...TRUE_WORDS,
  ...'ja oui sí si sim sì tak да ano áno igen evet kyllä ναι da так نعم بله はい 是'.split(' '),
]);

/** The words for no, likewise. */
const NO_WORDS: ReadonlySet<string> = new Set([
  ...'false no n 0 0.0 off f'.split(' '),
  ...FALSE_WORDS,
  ...'nein non não nao nee nie нет ne nem hayır hayir ei nej nei nu όχι ні لا خیر いいえ 否'.split(' '),
]);

/** The spellings of a word of a mapping, in lower case: `yes` and `no` include all words with that meaning. */
export function spellingsOf(word: string | number | boolean): Iterable<string> {
  const text = booleanWord(String(word).trim());
  if (text === 'yes' || text === 'true') return YES_WORDS;
  return text === 'no' || text === 'false' ? NO_WORDS : [text];
}

/** A step that reads yes and no. Any other word rejects the record, because a guess could publish a hidden product. */
export function booleanStep(
  quote: (text: string) => string,
  yes: ReadonlySet<string> = YES_WORDS,
  no: ReadonlySet<string> = NO_WORDS,
): Step {
  const expected = [...[...yes].slice(0, 4), ...[...no].slice(0, 4)].join(', ');
  return textStep((text) => {
    const word = booleanWord(text);
    if (yes.has(word)) return true;
    return no.has(word)
      ? false
      : refuse('not-a-boolean', `${quote(text)} is neither yes nor no; expected one of ${expected}`);
  }, 'boolean');
}

const words = z.array(z.union([z.string(), z.number(), z.boolean()])).min(1);

/** `boolean`: reads yes and no. */
export const boolean = defineTransform({
  name: 'boolean',
  word: {
    description:
      'Reads true, yes, y, 1, on and false, no, n, 0, off, also in other languages (WAHR, FAUX, sí, não); any other word rejects the record.',
    compile: ({ quote }) => booleanStep(quote),
  },
  map: {
    shape: {
      boolean: z
        .strictObject({
          yes: optional(words, 'The words for yes.'),
          no: optional(words, 'The words for no.'),
        })
        .describe(
          'As `boolean`, with these words; yes, no, true and false include all words with that meaning.',
        ),
    },
    compile: ({ boolean: { yes, no } }, { quote }) => booleanStep(quote, wordSet(yes), wordSet(no)),
  },
  examples: [
    { cell: 'Y', steps: 'boolean', gives: true },
    { cell: 'si', steps: '{ boolean: { yes: [si], no: [no] } }', gives: true },
  ],
});

function wordSet(written: z.infer<typeof words> | undefined): ReadonlySet<string> | undefined {
  return written === undefined ? undefined : new Set(written.flatMap((word) => [...spellingsOf(word)]));
}
