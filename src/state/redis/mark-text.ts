import type { LedgerMark } from '../state.ts';

/** A safe integer, or none. */
const ID = /^\d{0,15}$/;

/**
 * A mark as Redis keeps it: id, fingerprint (with the memo behind a blank, where there is one) and job, a line each. The
 * job comes last: record-script.ts finds it there, and memo-scripts.ts finds memo and job together.
 */
export function markText({ id, fingerprint, job, memo }: LedgerMark): string {
  return `${id ?? ''}\n${fingerprint}${memo === undefined ? '' : ` ${memo}`}\n${job}`;
}

/** The mark that `markText` wrote; undefined, as of a key that is unknown, where it cannot have written it. */
export function parseMark(text: string): LedgerMark | undefined {
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  if (first < 0 || second < 0 || !ID.test(text.slice(0, first))) return undefined;
  const line = text.slice(first + 1, second);
  const blank = line.indexOf(' ');
  return {
    fingerprint: blank < 0 ? line : line.slice(0, blank),
    ...(blank < 0 ? {} : { memo: line.slice(blank + 1) }),
    id: first === 0 ? null : Number(text.slice(0, first)),
    job: text.slice(second + 1),
  };
}
