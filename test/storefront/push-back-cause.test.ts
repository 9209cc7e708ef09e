import { describe, expect, it } from 'vitest';
import { pushBackCauses } from '../../src/storefront/gate/concurrency-limit.ts';

const first = { sentAt: 0, endedAt: 5, limit: 6, averageMs: 5, full: true, paced: false, hasRate: false };
const atOnce = { tooManyAtOnce: true, tooManyASecond: false };
const aSecond = { tooManyAtOnce: false, tooManyASecond: true };

describe('the cause of a push-back', () => {
  it('is supposed to be too many at once', () => {
    expect(pushBackCauses()(first)).toEqual(atOnce);
  });

  it('is too many a second when it was the only request', () => {
    expect(pushBackCauses()({ ...first, limit: 1 })).toEqual(aSecond);
  });

  it('is too many a second when fewer at once are pushed back as well', () => {
    const causeOf = pushBackCauses();
    causeOf(first);
    expect(causeOf({ ...first, sentAt: 10, endedAt: 15, limit: 5 })).toEqual(aSecond);
  });

  it('is too many a second when it comes again within a few round trips, however slow those are', () => {
    const again = { ...first, averageMs: 500, sentAt: 2_000, endedAt: 2_500, limit: 5 };
    const soon = pushBackCauses();
    soon(first);
    expect(soon(again)).toEqual(aSecond);
    const late = pushBackCauses();
    late(first);
    expect(late({ ...again, averageMs: 5 })).toEqual(atOnce);
  });

  it('is too many a second when it happens time and again', () => {
    const causeOf = pushBackCauses();
    const causes = [0, 10_000, 20_000].map((at) => causeOf({ ...first, sentAt: at, endedAt: at + 5 }));
    expect(causes).toEqual([atOnce, atOnce, aSecond]);
  });

  it('is known already when the request was sent before the limit was cut', () => {
    const causeOf = pushBackCauses();
    causeOf(first);
    expect(causeOf({ ...first, sentAt: 3, endedAt: 8 })).toEqual({
      tooManyAtOnce: false,
      tooManyASecond: false,
    });
  });

  it.each([
    ['the limit was used up', { full: true, paced: false }, atOnce],
    ['the rate was used up', { full: false, paced: true }, aSecond],
    ['neither was', { full: false, paced: false }, aSecond],
    ['both were', { full: true, paced: true }, { tooManyAtOnce: true, tooManyASecond: true }],
  ])('is what was used up once there is a rate: %s', (_, used, cause) => {
    expect(pushBackCauses()({ ...first, ...used, hasRate: true })).toEqual(cause);
  });
});
