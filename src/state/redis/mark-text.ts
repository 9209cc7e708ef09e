import type { LedgerMark } from '../state.ts';

/** A mark as Redis keeps it: id, fingerprint and job, a line each. The job comes last: record-script.ts finds it there. */
export function markText({ id, fingerprint, job }: LedgerMark): string {
  return `${id ?? ''}\n${fingerprint}\n${job}`;
}

/** The mark that `markText` wrote. */
export function parseMark(text: string): LedgerMark {
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  return {
    fingerprint: text.slice(first + 1, second),
    id: first === 0 ? null : Number(text.slice(0, first)),
    job: text.slice(second + 1),
  };
}
