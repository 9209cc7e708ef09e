import type { Run } from '../model/run.ts';
import type { ShareEstimate, Verification } from '../model/verification.ts';

/** The object that `verify --json` prints as the last line. */
export interface VerificationSummary
  extends Pick<
    Verification,
    'sampled' | 'known' | 'asKnown' | 'recreated' | 'altered' | 'rejected' | 'unsent'
  > {
  readonly job: string;
  readonly store: string;
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
