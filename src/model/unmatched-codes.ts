/** Codes of reasons for contacts that the crosswalk does not know, or cannot look for: they may be new to the store. */
export const UNMATCHED_CODES = ['crosswalk-no-match', 'crosswalk-nothing-to-match'] as const;
export type UnmatchedCode = (typeof UNMATCHED_CODES)[number];

const codes: ReadonlySet<string> = new Set(UNMATCHED_CODES);

/** Whether a reason's code says so. */
export function isUnmatched(code: string): boolean {
  return codes.has(code);
}
