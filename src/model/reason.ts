/** Why a record was refused, by the mapping or by the store: one code per cause, a sentence for people. */
export interface Reason {
  /** Stable and countable, such as `price-not-a-number` or `store-422`. */
  readonly code: string;
  /** What was found, what was expected, what to do. Quotes no personal data. */
  readonly message: string;
  /** The product or contact field concerned, with its path: `variants.price`. */
  readonly field?: string;
  /** The source line that shows the cause, and the header of the column, where one does. */
  readonly line?: number;
  readonly column?: string;
}

/** Codes of reasons for contacts that the crosswalk does not know, or cannot look for: they may be new to the store. */
const UNMATCHED_CODES = ['crosswalk-no-match', 'crosswalk-nothing-to-match'] as const;
export type UnmatchedCode = (typeof UNMATCHED_CODES)[number];

const codes: ReadonlySet<string> = new Set(UNMATCHED_CODES);

/** Whether a reason's code says so. */
export function isUnmatched(code: string): boolean {
  return codes.has(code);
}
