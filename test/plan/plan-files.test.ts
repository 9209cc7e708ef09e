import { describe, expect, it } from 'vitest';
import { readShard } from '../../src/plan/files/read-shard.ts';
import { readPlan } from '../../src/plan/plan-file.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { MemoryRunFolder } from './memory-run-folder.ts';
import { ledgerOf, planOf, products, rejected } from './plan-of.ts';

describe('the files of a plan', () => {
  it('end with plan.json, which reads back as the plan', async () => {
    const mapped = [...products(0, 3), rejected('x', 'bad', { line: 9 })];
    const { plan, folder } = await planOf({ mapped, ledger: ledgerOf(0, 5), mode: 'mirror' });
    expect(folder.writes.at(-1)).toBe('plan.json');
    expect(await readPlan(folder)).toEqual(plan);
  });

  it('of an earlier attempt are gone', async () => {
    const folder = new MemoryRunFolder();
    await planOf({ mapped: products(0, 1200), folder });
    const { plan } = await planOf({ mapped: products(0, 3), folder });
    expect(await folder.list()).toEqual(['plan.json', 'rejections.jsonl', 'shard-00001.jsonl']);
    expect(plan.counts.records).toBe(3);
  });

  it.each(['shard-00001.jsonl', 'rejections.jsonl', 'plan.json'])(
    'are no plan when %s cannot be written',
    async (failing) => {
      const folder = new MemoryRunFolder();
      await planOf({ mapped: products(0, 3), folder });
      folder.failOn = failing;
      const mapped = [...products(0, 1200), rejected('x', 'bad', { line: 9 })];
      await expect(planOf({ mapped, folder })).rejects.toThrow('the disk is full');
      expect(await readPlan(folder)).toBeUndefined();
    },
  );

  it('are no plan when the source breaks off, or the run is told to stop', async () => {
    const folder = new MemoryRunFolder();
    const broken = async function* () {
      yield products(0, 1200);
      throw new Error('the file ends in the middle of a quote');
    };
    await expect(planOf({ mapped: [], folder, options: { openMapped: broken } })).rejects.toThrow(
      'middle of a quote',
    );
    const stopped = AbortSignal.abort(new Error('told to stop'));
    await expect(planOf({ mapped: products(0, 3), folder, options: { signal: stopped } })).rejects.toThrow(
      'told to stop',
    );
    expect(await readPlan(folder)).toBeUndefined();
    expect(await folder.exists('rejections.jsonl')).toBe(false);
  });

  it('are no plan when the ledger cannot be asked', async () => {
    const ledger = new MemoryLedger();
    ledger.marks = () => Promise.reject(new Error('the ledger is locked'));
    const folder = new MemoryRunFolder();
    await expect(planOf({ mapped: products(0, 1200), ledger, folder })).rejects.toThrow(
      'the ledger is locked',
    );
    expect(await folder.list()).toEqual([]);
  });

  it('are refused when damaged, with the file and line', async () => {
    const { folder } = await planOf({ mapped: products(0, 3) });
    const shard = String(folder.files.get('shard-00001.jsonl'));
    folder.files.set('cut.jsonl', Buffer.from(shard.slice(0, -5)));
    folder.files.set('edited.jsonl', Buffer.from(shard.replace('"rows":1', '"rows":"one"')));
    folder.files.set('plan.json', Buffer.from('{"job":"x"}'));
    await expect(readShard(folder, 'cut.jsonl')).rejects.toThrow(
      'memory/cut.jsonl ends in the middle of a line',
    );
    await expect(readShard(folder, 'edited.jsonl')).rejects.toThrow('Line 1 of memory/edited.jsonl');
    await expect(readPlan(folder)).rejects.toThrow('plan.json is not a plan');
  });
});
