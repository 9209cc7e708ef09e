import { Unreadable } from '../values/cell.ts';
import { readingStep, type Step } from './transform.ts';

const ADDRESS = /^[^\s@<>()[\],;:"]+@[^\s@<>()[\],;:"]+$/;
/** `Ann Lee <ann@mail.example>`, as address books copy it. */
const NAMED = /^[^<>]*<([^<>]*)>$/;

/**
 * Reads one e-mail address, in lower case: the same person under two spellings would be two. What is no address
 * rejects the record, since the store would write to it, or the crosswalk look for it.
 */
export function email(quote: (text: string) => string): Step {
  return readingStep('text', (text) => {
    const bare = (NAMED.exec(text)?.[1] ?? text)
      .trim()
      .replace(/^mailto:/i, '')
      .toLowerCase();
    return ADDRESS.test(bare)
      ? bare
      : new Unreadable(
          'not-an-email',
          `${quote(text)} is not an e-mail address; expected one such as ann@mail.example`,
        );
  });
}
