import { booleanWord, FALSE_WORDS, TRUE_WORDS } from '../../model/spreadsheet-words.ts';
import { Unreadable } from '../values/cell.ts';
import { readingStep, type Step } from './transform.ts';

/**
 * The words that say yes, in any case: those of programs, those that a spreadsheet writes for TRUE in its own language,
 * and the plain word of each language whose headers a shipped mapping knows.
 */
export const YES_WORDS: ReadonlySet<string> = new Set([
  ...'true yes y 1 1.0 on t'.split(' '),
  ...TRUE_WORDS,
  ...'ja oui sí si sim sì tak да ano áno igen evet kyllä ναι da نعم بله はい 是'.split(' '),
]);

/** The words that say no, likewise. */
export const NO_WORDS: ReadonlySet<string> = new Set([
  ...'false no n 0 0.0 off f'.split(' '),
  ...FALSE_WORDS,
  ...'nein non não nao nee nie нет ne nem hayır hayir ei nej nei nu όχι لا خیر いいえ 否'.split(' '),
]);

/** Reads yes and no; any other word rejects the record, since a guess could publish what is hidden. */
export function boolean(
  words: {
    readonly yes?: readonly (string | number | boolean)[];
    readonly no?: readonly (string | number | boolean)[];
  },
  quote: (text: string) => string,
): Step {
  const yes = words.yes === undefined ? YES_WORDS : lowered(words.yes);
  const no = words.no === undefined ? NO_WORDS : lowered(words.no);
  const expected = [...[...yes].slice(0, 4), ...[...no].slice(0, 4)].join(', ');
  return readingStep('boolean', (text) => {
    const word = booleanWord(text);
    if (yes.has(word)) return true;
    return no.has(word)
      ? false
      : new Unreadable(
          'not-a-boolean',
          `${quote(text)} says neither yes nor no; expected one of ${expected}`,
        );
  });
}

function lowered(words: readonly (string | number | boolean)[]): ReadonlySet<string> {
  return new Set(words.map((word) => booleanWord(String(word))));
}
