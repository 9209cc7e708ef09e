import { describe, expect, it } from 'vitest';
import { CHECK_KEPT_MS } from '../../src/state/state.ts';
import type { Opening } from './child.ts';
import { twoProcesses } from './two-processes.ts';

/** What is remembered of image addresses, however it is kept. */
export function describeAddresses(fresh: () => Promise<Opening>): void {
  describe('image addresses', () => {
    const processes = twoProcesses(fresh);

    it('are remembered with their version, the last check of each', async () => {
      const { checkedAddresses } = processes.state;
      expect(await checkedAddresses.find(['a', 'b'])).toEqual([undefined, undefined]);
      const at = CHECK_KEPT_MS * 2;
      await checkedAddresses.remember([{ address: 'a', version: null }], at);
      await checkedAddresses.remember(
        [
          { address: 'a', version: '{"etag":"x"}' },
          { address: 'c', version: null },
        ],
        at + 1,
      );
      await checkedAddresses.remember([], at + 1);
      expect(await checkedAddresses.find(['c', 'b', 'a'])).toEqual([
        { version: null, at: at + 1 },
        undefined,
        { version: '{"etag":"x"}', at: at + 1 },
      ]);
    });
  });
}
