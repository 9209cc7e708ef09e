import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planSchema } from '../../src/model/plan.ts';
import { StateError } from '../../src/model/storeferry-error.ts';
import {
  HELD_FILE,
  readPlan,
  readShard,
  replaceHeld,
  verifyHeld,
  verifyRejections,
  writePlan,
} from '../../src/plan/plan-file.ts';
import { parseShardLine, shardLine } from '../../src/plan/shard-writer.ts';
import { sha256Of } from '../../src/state/artifacts.ts';
import { decodeBodies } from '../../src/state/encode-body.ts';
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

  it('have each body once more as the ledger keeps it', async () => {
    const { plan, folder } = await planOf({
      mapped: products(0, 1_020),
      ledger: ledgerOf(1_015, 1_030),
      mode: 'mirror',
    });
    for (const shard of plan.shards) {
      for (const operation of await readShard(folder, shard)) {
        if (operation.kind === 'delete-product') continue;
        const { block, place } = operation.packed ?? { block: Buffer.of(), place: 0 };
        expect(decodeBodies(block)[place]).toBe(operation.body);
      }
    }
    expect(plan.shards.map(({ kind }) => kind)).toEqual(['upserts', 'upserts', 'upserts', 'deletes']);
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

  it('vouch for held records without one, also after a failure between and a repeat; never for edited ones', async () => {
    const folder = new MemoryRunFolder();
    const { plan } = await planOf({ mapped: products(0, 3), folder });
    const [all, rest, edited] = ['one\ntwo\n', 'two\n', 'two!\n'].map((text) => Buffer.from(text));
    if (all === undefined || rest === undefined || edited === undefined) throw new Error('no file');
    await writePlan(folder, { ...plan, heldSha256: sha256Of(all) });
    await folder.write(HELD_FILE, [all]);
    const verify = async () => {
      const read = await readPlan(folder);
      if (read !== undefined) await verifyHeld(folder, read);
    };
    folder.failOn = HELD_FILE;
    await expect(replaceHeld(folder, all, rest)).rejects.toThrow('the disk is full');
    expect(folder.files.get(HELD_FILE)).toEqual(all);
    await expect(verify()).rejects.toThrow('was changed after planning');
    folder.failOn = undefined;
    await replaceHeld(folder, all, rest);
    await verify();
    await folder.write(HELD_FILE, [edited]);
    await replaceHeld(folder, edited, all);
    await expect(verify()).rejects.toThrow('was changed after planning');
  });

  it('are no plan when the source breaks off, or the run is interrupted', async () => {
    const folder = new MemoryRunFolder();
    const broken = async function* () {
      yield products(0, 1200);
      throw new Error('the file ends in the middle of a quote');
    };
    await expect(planOf({ mapped: [], folder, options: { openMapped: broken } })).rejects.toThrow(
      'middle of a quote',
    );
    const stopped = AbortSignal.abort(new Error('interrupted'));
    await expect(planOf({ mapped: products(0, 3), folder, options: { signal: stopped } })).rejects.toThrow(
      'interrupted',
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

  it('are refused when they are gone, cut, longer, or changed in any bit', async () => {
    const mapped = [...products(2, 6), rejected('x', 'bad', { line: 9 })];
    const { plan, folder } = await planOf({ mapped, ledger: ledgerOf(0, 5), mode: 'mirror' });
    const [shard, deletes] = plan.shards;
    if (shard === undefined || deletes === undefined) throw new Error('no shards');
    const readers: Readonly<Record<string, () => Promise<unknown>>> = {
      [shard.name]: () => readShard(folder, shard),
      [deletes.name]: () => readShard(folder, deletes),
      'rejections.jsonl': () => verifyRejections(folder, plan),
      'plan.json': () => readPlan(folder),
    };
    const damage = fc.oneof(
      fc.record({ at: fc.nat(), bit: fc.nat(7) }).map(({ at, bit }) => (bytes: Buffer) => {
        const changed = Buffer.from(bytes);
        changed[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << bit);
        return changed;
      }),
      fc.nat().map((at) => (bytes: Buffer) => bytes.subarray(0, at % bytes.length)),
      fc.constant((bytes: Buffer) => Buffer.concat([bytes, Buffer.from('{}\n')])),
      fc.constant((bytes: Buffer) => Buffer.from(`${String(bytes).split('\n').slice(0, -2).join('\n')}\n`)),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.entries(readers)), damage, async ([name, read], spoil) => {
        const whole = folder.files.get(name) ?? Buffer.alloc(0);
        expect(whole.length).toBeGreaterThan(0);
        folder.files.set(name, spoil(whole));
        // Blanks between the members of plan.json may be others: what it says is the same then.
        const outcome = await read().catch((error: unknown) => error);
        folder.files.set(name, whole);
        if (name === 'plan.json' && !(outcome instanceof Error)) expect(outcome).toEqual(plan);
        else expect(outcome).toBeInstanceOf(StateError);
        await expect(read()).resolves.not.toThrow();
      }),
      { numRuns: 400 },
    );
    for (const [name, read] of Object.entries(readers)) {
      const whole = folder.files.get(name);
      folder.files.delete(name);
      if (name === 'plan.json') expect(await read()).toBeUndefined();
      else await expect(read()).rejects.toThrow(StateError);
      if (whole !== undefined) folder.files.set(name, whole);
    }
  });

  it('without their checksums are no plan', async () => {
    const { plan, folder } = await planOf({ mapped: products(0, 3) });
    const { rejectionsSha256: _, ...rest } = plan;
    for (const written of [plan, rest]) {
      await folder.write('plan.json', [JSON.stringify(written)]);
      await expect(readPlan(folder)).rejects.toThrow('is not a plan of this version');
    }
  });

  it('refuse a delete with a member they do not know: it may be a condition of the delete', () => {
    const operation = { kind: 'delete-product', key: 'mug', rows: 0, spans: [], id: 7 } as const;
    const line = shardLine({ ...operation, idLookupBody: '{"url":"mug"}' }).trimEnd();
    expect(parseShardLine(`${line}\t`, 0)).toEqual({ ...operation, index: 0, idLookupBody: '{"url":"mug"}' });
    expect(() => parseShardLine(`${line.replace('idLookupBody', 'learn')}\t`, 0)).toThrow('learn');
  });

  it('name the file that is damaged, and what to do', async () => {
    const { plan, folder } = await planOf({ mapped: products(0, 3) });
    const [shard] = plan.shards;
    if (shard === undefined) throw new Error('no shard');
    folder.files.set(shard.name, Buffer.from('{}\n'));
    folder.files.set('plan.json', Buffer.from('{"job":"x"}'));
    await expect(readShard(folder, shard)).rejects.toThrow(`memory/${shard.name} was changed after planning`);
    await expect(readShard(folder, shard)).rejects.toMatchObject({
      hint: expect.stringContaining('Run the job again'),
    });
    await expect(readPlan(folder)).rejects.toThrow('plan.json is not a plan');
  });
});

it('a plan as the first version stored it can be read: what it lacks is optional', () => {
  const none = { records: 0, rows: 0 };
  const stored = {
    job: 'one',
    resource: 'products',
    mode: 'upsert',
    counts: {
      rows: 1,
      records: 1,
      new: { records: 1, rows: 1 },
      ...{ changed: none, resent: none, unchanged: none, rejected: none, skipped: none, held: none },
      removed: 0,
      deletes: 0,
    },
    fieldsChanged: [],
    moves: { prices: [], stocks: [] },
    priceMoves: 0,
    ...{ emptied: [], rejections: [], skips: [], notices: [], takeovers: [], sharedFields: [] },
    examples: { new: [{ key: 'a', file: 0, line: 2 }], changed: [], removed: [] },
    guards: [],
    unreadableKeys: 0,
    deletesWithheld: null,
    deletesWithoutId: 0,
    unconfirmed: { keys: 0, examples: [] },
    shards: [
      {
        number: 1,
        kind: 'upserts',
        operations: 1,
        name: 'shard-00001.jsonl',
        bytes: 309,
        sha256: 'ba839c02956394b9b7d8148f32474d37dd00c774a4cda3f297ede91ea88b8e08',
      },
    ],
    duplicates: null,
    rejectionsSha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    source: {
      files: [{ name: 'one.csv', rows: 1, blankLines: 0, delimiter: ',', encoding: 'utf-8' }],
      columnsNotUsed: [],
      dates: null,
    },
    safety: [],
  };
  expect(planSchema.safeParse(stored).error?.issues).toBeUndefined();
});
