import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  judgeWave,
  type WaveFigures,
  type WaveLimits,
  type WaveSize,
  waveEnds,
} from '../../src/model/safety-limits.ts';
import { readShard } from '../../src/plan/plan-file.ts';
import { NO_LIMITS, planOf, products } from './plan-of.ts';

const count = (value: number): WaveSize => ({ kind: 'count', count: value });
const percent = (value: number): WaveSize => ({ kind: 'percent', percent: value });
const limits: WaveLimits = { maxRejects: percent(10), maxUnsent: percent(1), maxAltered: percent(10) };
const fine: WaveFigures = {
  ...{ records: 10, rejected: 0, unsent: 0, answered: 10, compared: 10, altered: 0 },
  fields: {},
};

describe('the ends of waves', () => {
  it.each([
    [5000, [10, 50, 5000]],
    [500, [10, 500]],
    [7, [7]],
    [0, []],
  ])('of %i records under [10, 1%, 100%] are %j', (total, ends) => {
    expect(waveEnds([count(10), percent(1), percent(100)], total)).toEqual(ends);
  });

  it('round a percentage up, so that its wave is never empty', () => {
    expect(waveEnds([percent(1), percent(100)], 20)).toEqual([1, 20]);
    expect(waveEnds([percent(10), percent(100)], 30)).toEqual([3, 30]);
  });

  it('rise to the number of records, whatever the sizes are', () => {
    const size = fc.oneof(fc.nat(2000).map(count), fc.double({ min: 0, max: 100, noNaN: true }).map(percent));
    fc.assert(
      fc.property(fc.array(size, { maxLength: 6 }), fc.nat(3000), (sizes, total) => {
        const ends = waveEnds(sizes, total);
        expect(ends).toEqual([...new Set(ends)].sort((one, other) => one - other));
        expect(ends.at(-1) ?? 0).toBe(total);
        expect(ends.every((end) => end > 0)).toBe(true);
      }),
    );
  });
});

describe('a planned wave', () => {
  it('leaves no file of its own when the run is planned again', async () => {
    const job = { name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject' } as const;
    const apply = { ...limits, waves: [count(10), percent(100)] };
    const { folder } = await planOf({
      mapped: products(0, 30),
      options: { job: { ...job, safety: NO_LIMITS, apply } },
    });
    expect(await folder.list()).toContain('shard-00001-2.jsonl');
    await planOf({ mapped: products(0, 3), folder });
    expect(await folder.list()).toEqual(['plan.json', 'rejections.jsonl', 'shard-00001.jsonl']);
  });

  it('is a number of whole shards, and all of them have the operations of the plan in its order', async () => {
    const numbers = fc.array(fc.integer({ min: 1, max: 1300 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 1300 }), numbers, async (total, sizes) => {
        const mapped = products(0, total);
        const apply = { ...limits, waves: [...sizes.map(count), percent(100)] };
        const job = { name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject' } as const;
        const { plan, folder } = await planOf({
          mapped,
          options: { job: { ...job, safety: NO_LIMITS, apply } },
        });
        expect(plan.shards.map(({ number }) => number)).toEqual(plan.shards.map((_, index) => index + 1));
        const byWave = new Map<number | undefined, number>();
        const keys: string[] = [];
        for (const shard of plan.shards) {
          byWave.set(shard.wave, (byWave.get(shard.wave) ?? 0) + shard.operations);
          keys.push(...(await readShard(folder, shard)).map(({ key }) => key));
        }
        expect(keys).toEqual(mapped.map(({ key }) => key));
        const ends = waveEnds(apply.waves, total);
        expect([...byWave]).toEqual(ends.map((end, index) => [index + 1, end - (ends[index - 1] ?? 0)]));
      }),
      { numRuns: 30 },
    );
  });
});

describe('a wave that was sent', () => {
  it('stops the run beyond a limit, and not at it', () => {
    expect(judgeWave(limits, fine, 'products')).toBeNull();
    expect(judgeWave(limits, { ...fine, rejected: 1 }, 'products')).toBeNull();
    expect(judgeWave(limits, { ...fine, rejected: 2 }, 'products')).toBe(
      'the store refused 2 of 10 products; maxRejects is 10%',
    );
    expect(judgeWave(limits, { ...fine, unsent: 1 }, 'contacts')).toBe(
      'the store did not confirm 1 of 10 contacts; maxUnsent is 1%',
    );
    expect(judgeWave(limits, { ...fine, altered: 8, fields: { type: 1, title: 8 } }, 'products')).toBe(
      'the store changed 8 of 10 answers (title in 8); maxAltered is 10%',
    );
  });

  it('stops it however small it is: one record is there to be looked at', () => {
    const one = { ...fine, records: 1, answered: 0, compared: 0, rejected: 1 };
    expect(judgeWave(limits, one, 'products')).toContain('the store refused 1 of 1 products');
  });

  it('says nothing of values where the store answers only ids, and stops where a killed process took the answers', () => {
    expect(judgeWave(limits, { ...fine, compared: 0 }, 'products')).toBeNull();
    const lost = { ...fine, answered: 4, compared: 4 };
    expect(judgeWave(limits, lost, 'products')).toContain('6 of 10 answers are not known');
    expect(judgeWave({ ...limits, maxAltered: { kind: 'off' } }, lost, 'products')).toBeNull();
  });
});
