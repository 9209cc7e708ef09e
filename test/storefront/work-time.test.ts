import { describe, expect, it } from 'vitest';
import { RETRY_POLICY, workTime } from '../../src/storefront/retry-policy.ts';

describe('how long a store may be at work on a request whose answer was lost', () => {
  it('is the longest where no answer is known, and a second where its answers are quick', () => {
    const work = workTime();
    expect(work.longestMs).toBe(RETRY_POLICY.capMs);
    for (let answers = 0; answers < 100; answers++) work.answeredIn(20);
    expect(work.longestMs).toBe(1_000);
  });

  it('follows slow answers, and forgets a single one', () => {
    const work = workTime();
    for (let answers = 0; answers < 50; answers++) work.answeredIn(800);
    expect(work.longestMs).toBe(3_200);
    work.answeredIn(60_000);
    for (let answers = 0; answers < 100; answers++) work.answeredIn(800);
    expect(work.longestMs).toBeLessThan(3_300);
  });

  it('never exceeds what any retry waits', () => {
    const work = workTime();
    work.answeredIn(100_000);
    expect(work.longestMs).toBe(RETRY_POLICY.capMs);
  });
});
