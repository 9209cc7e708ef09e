import { describe, expect, it } from 'vitest';
import { StateError } from '../../src/model/storeferry-error.ts';
import { blocksOf, decodeBodies, decodeBody, encodeBodies, encodeBody } from '../../src/state/encode-body.ts';
import { MAX_BODY_BYTES } from '../../src/state/state.ts';
import { planOf, product, record } from './plan-of.ts';

describe('the largest body that a plan sends', () => {
  it('rejects a record whose body the ledger could not unpack again, and takes the largest that it can', async () => {
    const bodyOf = (length: number) => product('large', { description: 'x'.repeat(length) });
    const largest = MAX_BODY_BYTES - JSON.stringify(bodyOf(0)).length;
    for (const [length, rejected] of [
      [largest, 0],
      [largest + 1, 1],
    ] as const) {
      const { plan, rejections } = await planOf({ mapped: [record('large', bodyOf(length), { line: 2 })] });
      expect(plan.counts.rejected.records).toBe(rejected);
      expect(plan.counts.new.records).toBe(1 - rejected);
      if (rejected === 1)
        expect(rejections[0]).toMatchObject({ key: 'large', reason: { code: 'record-too-large' } });
    }
  });

  it('comes back, alone and as the last one of a block', () => {
    const largest = 'x'.repeat(MAX_BODY_BYTES);
    expect(decodeBody(encodeBody(largest)) === largest).toBe(true);
    const before = '漢'.repeat(64 * 1024 - 1);
    const blocks = [...blocksOf([before, largest])];
    expect(blocks).toHaveLength(1);
    expect(decodeBodies(encodeBodies(blocks[0] ?? []))[1] === largest).toBe(true);
    expect(() => decodeBody(encodeBody(largest.repeat(2)))).toThrow(StateError);
  });
});
