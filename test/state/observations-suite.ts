import { describe, expect, it } from 'vitest';
import { AS_ACKNOWLEDGED, type Observation } from '../../src/model/observation.ts';
import type { Opening } from './child.ts';
import { applied, deletion, sampleRun, TARGET, unsent, upsert } from './samples.ts';
import { collected, twoProcesses } from './two-processes.ts';

const NIGHTLY = sampleRun();
const ATTEMPT_MS = 3_600_000;
const EDITED: Observation = {
  altered: { images: 'digest' },
  edited: { title: { value: 'Shirt "of the shop" \n', since: 5 } },
};

/** What every state promises of what answers have shown, and of fields in doubt. */
export function describeObservations(fresh: () => Promise<Opening>): void {
  describe('observations', () => {
    const processes = twoProcesses(fresh);
    const ledger = () => processes.other.ledger(TARGET);
    const views = async (...keys: string[]) => (await ledger().views(keys)).map((view) => view.observation);
    const doubted = async (...keys: string[]) => (await ledger().views(keys)).map((view) => view.doubted);
    const [shirt, hat, coat] = [upsert(0, 'shirt'), upsert(1, 'hat'), upsert(2, 'coat')];

    it('are kept with their acknowledgement, replaced by the next one, and removed with the mark', async () => {
      const { runs } = processes.state;
      await runs.create(NIGHTLY);
      const results = [
        { ...applied(shirt, 7), observation: EDITED },
        { ...applied(hat, 8), observation: AS_ACKNOWLEDGED },
        applied(coat, 9),
      ];
      await runs.record(NIGHTLY, 1, results, 3);
      expect(await views('shirt', 'hat', 'coat', 'sock')).toEqual([
        EDITED,
        AS_ACKNOWLEDGED,
        undefined,
        undefined,
      ]);
      expect((await collected(ledger().edited())).flat()).toEqual([{ key: 'shirt', observation: EDITED }]);

      await runs.record(NIGHTLY, 2, [applied(shirt, 7), applied(deletion(1, 'hat', 8), null)], 2);
      expect(await views('shirt', 'hat')).toEqual([undefined, undefined]);
      expect((await collected(ledger().edited())).flat()).toEqual([]);
    });

    it('of a read are kept for the mark that was read, and for no later one', async () => {
      const { runs } = processes.state;
      await runs.create(NIGHTLY);
      await runs.record(NIGHTLY, 1, [applied(shirt, 7), applied(hat, 8)], 2);
      await ledger().observe([
        { key: 'shirt', fingerprint: 'print-of-shirt', observation: EDITED },
        { key: 'hat', fingerprint: 'an-earlier-print', observation: EDITED },
      ]);
      expect(await views('shirt', 'hat')).toEqual([EDITED, undefined]);
      await ledger().forget('shirt');
      expect(await views('shirt')).toEqual([undefined]);
    });

    it('fields of a partial request are in doubt, with those that were, until an answer acknowledges them', async () => {
      const { runs } = processes.state;
      await runs.create(NIGHTLY);
      await runs.record(NIGHTLY, 1, [applied(shirt, 7), applied(hat, 8)], 2);
      expect(await doubted('shirt', 'sock')).toEqual([[], []]);
      const prices = upsert(0, 'shirt', { knownId: 7, part: { fields: ['variants'], byId: true } });
      const images = upsert(0, 'shirt', { knownId: 7, part: { fields: ['images'], byId: true } });
      {
        await using sending = await processes.state.sending({ run: NIGHTLY, attemptMs: ATTEMPT_MS });
        await sending.begin([prices, hat]);
        expect(await doubted('shirt', 'hat')).toEqual([['variants'], null]);
        const failed = unsent(prices);
        const inDoubt = { ...failed, outcome: { ...failed.outcome, inDoubt: true as const } };
        await runs.record(NIGHTLY, 1, [inDoubt, applied(hat, 8)], 1);
        expect(await doubted('shirt', 'hat')).toEqual([['variants'], []]);
        await sending.begin([images]);
        expect(await doubted('shirt')).toEqual([['variants', 'images']]);
        const ofPart = {
          ...applied(images, 7),
          outcome: { kind: 'applied' as const, id: 7, part: ['images'] },
        };
        await runs.record(NIGHTLY, 1, [ofPart], 1);
        expect(await doubted('shirt')).toEqual([['variants']]);
        expect(await ledger().hasDoubts()).toBe(true);
      }
      await runs.record(NIGHTLY, 1, [applied(shirt, 7)], 1);
      expect(await doubted('shirt')).toEqual([[]]);
    });
  });
}
