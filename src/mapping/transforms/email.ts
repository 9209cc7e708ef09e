import { refuse } from '../values/cell.ts';
import { defineTransform, textStep } from './define-transform.ts';

const ADDRESS = /^[^\s@<>()[\],;:"]+@[^\s@<>()[\],;:"]+$/;
/** `Ann Lee <ann@mail.example>`, as copied from address books. */
const NAMED = /^[^<>]*<([^<>]*)>$/;

/**
 * `email`: one e-mail address, in lower case, so that two spellings are not two persons. Other texts reject the
 * record: the store would write to this address, or the crosswalk would search for it.
 */
export const email = defineTransform({
  name: 'email',
  word: {
    description:
      'Reads an e-mail address, in lower case, also out of `Ann <ann@mail.example>` and `mailto:`; else rejects the record.',
    compile: ({ quote }) =>
      textStep((text) => {
        const bare = (NAMED.exec(text)?.[1] ?? text)
          .trim()
          .replace(/^mailto:/i, '')
          .toLowerCase();
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
