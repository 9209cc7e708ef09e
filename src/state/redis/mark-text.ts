import type { LedgerMark } from '../state.ts';

/** A safe integer, or none, and the sign behind it. */
const ID = /^(\d{0,15})([~!]?)$/;
/** Behind an id that is not proven. */
const PROOF_SIGNS = { once: '~', changed: '!' } as const;

/**
 * A mark as Redis keeps it: id (with a sign where it is not proven), fingerprint (with the memo behind a blank, where
 * there is one) and job, a line each. The job comes last: record.ts finds it there, and ledger.ts finds memo and job
 * together.
 */
export function markText({ id, idProof, fingerprint, job, memo }: LedgerMark): string {
  const sign = idProof === undefined ? '' : PROOF_SIGNS[idProof];
  return `${id ?? ''}${sign}\n${fingerprint}${memo === undefined ? '' : ` ${memo}`}\n${job}`;
}

/** The mark that `markText` wrote; undefined, as of a key that is unknown, where it cannot have written it. */
export function parseMark(text: string): LedgerMark | undefined {
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  const [whole, id = '', sign = ''] = ID.exec(text.slice(0, Math.max(0, first))) ?? [];
  if (first < 0 || second < 0 || whole === undefined) return undefined;
  const line = text.slice(first + 1, second);
  const blank = line.indexOf(' ');
  return {
    fingerprint: blank < 0 ? line : line.slice(0, blank),
    ...(blank < 0 ? {} : { memo: line.slice(blank + 1) }),
    id: id === '' ? null : Number(id),
    ...(sign === PROOF_SIGNS.once ? { idProof: 'once' } : {}),
    ...(sign === PROOF_SIGNS.changed ? { idProof: 'changed' } : {}),
    job: text.slice(second + 1),
  };
}
