import type { ReasonGroup } from '../model/plan.ts';
import { isUnmatched } from '../model/unmatched-codes.ts';
import { REJECTS_FILE, UNMATCHED_FILE } from './rejects/rejects-index.ts';

/** Where the rejected rows are, a sentence a file; `rejectsFile` as it is to be shown, null when there is none. */
export function rejectsLines(rejectsFile: string | null, planned: readonly ReasonGroup[]): string[] {
  if (rejectsFile === null) return [];
  const lines = [`Rejects file: ${rejectsFile}`];
  if (planned.some(({ code }) => isUnmatched(code))) {
    const unmatched = `${rejectsFile.slice(0, -REJECTS_FILE.length)}${UNMATCHED_FILE}`;
    lines.push(
      `Contacts without a match: ${unmatched} (create them in the store, or complete the crosswalk)`,
    );
  }
  return lines;
}
