/** A share in [0, 1], with the bounds of its confidence interval. */
export interface ShareEstimate {
  /** Null when no answer said anything about it: then the bounds are 0 and 1. */
  readonly estimate: number | null;
  readonly low: number;
  readonly high: number;
}

/**
 * What the answers to a re-sent sample say about what the store still holds.
 * `sampled = asKnown + recreated + altered + rejected + unsent`.
 */
export interface Verification {
  /** Records of the sample. */
  readonly sampled: number;
  /** Records that the sample was drawn from: acknowledged for this job, and with an id to compare. */
  readonly known: number;
  /** Records of this job that are in doubt or have no id: no answer can be compared with the ledger. */
  readonly notComparable: number;
  /** Answered with the ledger's id and the fields that were sent. */
  readonly asKnown: number;
  /** Answered with another id: the store no longer had the record under its key, or under that id. */
  readonly recreated: number;
  /** Answered with the ledger's id and other fields than were sent. */
  readonly altered: number;
  /** Refused by the store; `missing` of these as not found. */
  readonly rejected: number;
  readonly missing: number;
  readonly unsent: number;
  /** In how many altered records each field differs, most first. */
  readonly alteredFields: readonly { readonly field: string; readonly records: number }[];
  /** Of the known records, those that the store no longer has under their key and id, at 95 % confidence. */
  readonly forgottenShare: ShareEstimate;
}

/** Records of the sample that the store no longer had under their key and id. */
export function forgotten({ recreated, missing }: Pick<Verification, 'recreated' | 'missing'>): number {
  return recreated + missing;
}

/** Whether any answer differs from what the ledger holds. */
export function hasDifferences({
  recreated,
  altered,
  rejected,
}: Pick<Verification, 'recreated' | 'altered' | 'rejected'>): boolean {
  return recreated + altered + rejected > 0;
}
