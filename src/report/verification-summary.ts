import type { Run, ShareEstimate, Verification } from '../model/run.ts';

/** The object that `verify --json` prints as the last line. */
export interface VerificationSummary
  extends Pick<
    Verification,
    'sampled' | 'known' | 'asKnown' | 'recreated' | 'altered' | 'rejected' | 'unsent'
  > {
  /** Null where the command failed before it was known, as `store`. */
  readonly job: string | null;
  readonly store: string | null;
  /** `estimate` is null when no answer said anything: then `low` is 0 and `high` 1. */
  readonly forgottenShare: ShareEstimate;
  readonly error: string | null;
}

/** The summary of a verification for programs. */
export function verificationSummary(
  { job, store, error }: Pick<Run, 'job' | 'store' | 'error'>,
  { sampled, known, asKnown, recreated, altered, rejected, unsent, forgottenShare }: Verification,
): VerificationSummary {
  return {
    ...{ job, store, sampled, known, asKnown, recreated, altered, rejected, unsent, forgottenShare },
    error,
  };
}

/** The summary of a verification that could not begin, or has no report. */
export function failedVerification({
  job,
  error,
}: Pick<VerificationSummary, 'job' | 'error'>): VerificationSummary {
  const nothing = { sampled: 0, known: 0, asKnown: 0, recreated: 0, altered: 0, rejected: 0, unsent: 0 };
  return { job, store: null, ...nothing, forgottenShare: { estimate: null, low: 0, high: 1 }, error };
}
