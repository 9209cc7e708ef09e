/** A push-back so soon after the concurrency limit was cut for one shows that the limit was not the cause. */
const AGAIN_MS = 1_000;
/** The same in round trips, since a limit of slow answers takes time to grow back. */
const AGAIN_ROUND_TRIPS = 6;
/** So many push-backs are laid to the concurrency limit; a rate may look like one where answers are slow. */
const LAID_TO_LIMIT = 2;

/** What was too much, so far as can be told. Both may be; neither, when the push-back is late news of an earlier one. */
export interface PushBackCause {
  readonly tooManyAtOnce: boolean;
  readonly tooManyASecond: boolean;
}

interface PushBack {
  readonly sentAt: number;
  readonly endedAt: number;
  /** The concurrency limit now. */
  readonly limit: number;
  /** How long answers take. */
  readonly averageMs: number;
  /** The request was the last that the limit allowed. */
  readonly full: boolean;
  /** The request had to wait for the rate. */
  readonly paced: boolean;
  /** Whether there is a rate yet. */
  readonly hasRate: boolean;
}

/**
 * Tells too many at once from too many a second, which a store answers alike. At first too many at once is
 * supposed; when fewer at once are pushed back as well, or time and again, it is the rate. Once there is a rate, the cause is what
 * was used up when the request was sent.
 */
export function pushBackCauses(): (pushBack: PushBack) => PushBackCause {
  let blamedLimitAt = Number.NEGATIVE_INFINITY;
  let blamedLimit = 0;

  const judge = ({ sentAt, endedAt, limit, averageMs, full, paced, hasRate }: PushBack): PushBackCause => {
    if (sentAt < blamedLimitAt) return { tooManyAtOnce: false, tooManyASecond: false };
    if (hasRate) return { tooManyAtOnce: full, tooManyASecond: !full || paced };
    const soonMs = Math.max(AGAIN_MS, AGAIN_ROUND_TRIPS * averageMs);
    const again = limit === 1 || endedAt - blamedLimitAt < soonMs || blamedLimit >= LAID_TO_LIMIT;
    return { tooManyAtOnce: !again, tooManyASecond: again };
  };

  return (pushBack) => {
    const cause = judge(pushBack);
    if (cause.tooManyAtOnce) {
      blamedLimitAt = pushBack.endedAt;
      blamedLimit++;
    }
    return cause;
  };
}
