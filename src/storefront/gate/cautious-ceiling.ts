/** Time and answers without push-back before going beyond a limit that was pushed back from. */
const QUIET_MS = 2_000;
const QUIET_ANSWERS = 20;
/** Each time that fails, the next try waits twice as long, up to this factor. */
const MAX_CAUTION = 16;

/** Remembers how many requests at once were too many, so that this is not found out anew every few round trips. */
export interface CautiousCeiling {
  /** So many were too many. */
  exceeded(limit: number, now: number): void;
  answered(): void;
  /** Whether to go beyond `limit` now. Where it was too much before, only after a long quiet time. */
  allowsMoreThan(limit: number, now: number): boolean;
}

/** A ceiling that nothing has been too much for yet. */
export function cautiousCeiling(): CautiousCeiling {
  let highestGood = Number.POSITIVE_INFINITY;
  let caution = 1;
  let quietSince = Number.NEGATIVE_INFINITY;
  let quietAnswers = 0;
  return {
    exceeded(limit, now) {
      caution = limit > highestGood ? Math.min(MAX_CAUTION, caution * 2) : 1;
      highestGood = Math.max(1, limit - 1);
      quietSince = now;
      quietAnswers = 0;
    },
    answered() {
      quietAnswers++;
    },
    allowsMoreThan(limit, now) {
      if (limit < highestGood) return true;
      if (quietAnswers < QUIET_ANSWERS || now - quietSince < QUIET_MS * caution) return false;
      if (limit > highestGood) {
        highestGood = Number.POSITIVE_INFINITY;
        caution = 1;
      }
      quietSince = now;
      quietAnswers = 0;
      return true;
    },
  };
}
