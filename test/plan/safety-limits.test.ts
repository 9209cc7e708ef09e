import { describe, expect, it } from 'vitest';
import { safetySchema } from '../../src/config/job/import-job-schema.ts';
import type { Mapped, MappedSkip } from '../../src/model/mapped-record.ts';
import { hasManyUnaskedSkips } from '../../src/model/plan.ts';
import type { SafetyFigures } from '../../src/model/safety-limits.ts';
import { judgeSafety } from '../../src/plan/judge-safety.ts';
import { judgeRejectsWhileApplying } from '../../src/plan/plan-file.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { NO_LIMITS, planOf, product, products, record, skipped } from './plan-of.ts';

const DEFAULTS = safetySchema.parse({});

const USUAL: SafetyFigures = {
  resource: 'products',
  deletes: 0,
  keysOfJob: 100,
  rejected: 0,
  skipped: 0,
  records: 200,
  rows: 1000,
  previousRows: 1000,
  changed: 0,
  created: 0,
  known: 50,
  priceMoves: 0,
  prices: [],
  lostPrices: { products: 0, examples: [] },
  keyChange: null,
};

function exceeded(figures: Partial<SafetyFigures>, limits: Parameters<typeof judgeSafety>[0] = DEFAULTS) {
  return judgeSafety(limits, { ...USUAL, ...figures }, 'r7')
    .filter((verdict) => verdict.exceeded)
    .map(({ limit }) => limit);
}

function rejectsStop(rejected: number, records: number, limits: typeof DEFAULTS = DEFAULTS) {
  return judgeRejectsWhileApplying(limits, { resource: 'products', rejected, records }, 'r7');
}

describe('safety limits', () => {
  it('let a usual run pass, and say how far it was from each limit', () => {
    const verdicts = judgeSafety(DEFAULTS, USUAL, 'r7');
    expect(verdicts.map(({ limit }) => limit)).toEqual([
      'maxDeletes',
      'maxRejects',
      'maxSkipped',
      'minRows',
      'maxPriceMoves',
    ]);
    expect(verdicts.some((verdict) => verdict.exceeded)).toBe(false);
    const upserts = judgeSafety(DEFAULTS, { ...USUAL, deletes: null }, 'r7');
    expect(upserts.map(({ limit }) => limit)).toEqual([
      'maxRejects',
      'maxSkipped',
      'minRows',
      'maxPriceMoves',
    ]);
    expect(verdicts.some(({ message }) => message.includes('approve'))).toBe(false);
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([
      { text: '5%', amount: 5 },
      { text: '10%', amount: 20 },
      { text: '50%', amount: 100 },
      { text: '80%', amount: 800 },
      { text: '5%', amount: 2.5 },
    ]);
  });

  it.each([
    ['maxDeletes', { deletes: 5 }, { deletes: 6 }],
    ['maxRejects', { rejected: 20 }, { rejected: 21 }],
    ['maxSkipped', { skipped: 100 }, { skipped: 101 }],
    ['minRows', { rows: 800 }, { rows: 799 }],
    ['maxPriceMoves', { priceMoves: 2 }, { priceMoves: 3 }],
    ['maxDeletes', { deletes: 2, keysOfJob: 40 }, { deletes: 2, keysOfJob: 39 }],
  ] as const)('hold %s against its own base: exactly at the limit passes', (limit, within, beyond) => {
    expect(exceeded(within)).toEqual([]);
    expect(exceeded(beyond)).toEqual([limit]);
  });

  it.each([
    ['maxRejects', { rejected: 4, records: 4 }, { rejected: 1, records: 5 }],
    ['maxSkipped', { skipped: 4, records: 4 }, { skipped: 3, records: 5 }],
    ['maxPriceMoves', { priceMoves: 4, known: 4 }, { priceMoves: 1, known: 5 }],
    ['maxDeletes', { deletes: 1, keysOfJob: 2 }, { deletes: 2, keysOfJob: 2 }],
    ['minRows', { rows: 1, previousRows: 4 }, { rows: 3, previousRows: 5 }],
  ] as const)('of %s in percent stop nothing where there are only a few records', (limit, few, enough) => {
    expect(exceeded(few)).toEqual([]);
    expect(exceeded(enough)).toEqual([limit]);
    const spared = judgeSafety(DEFAULTS, { ...USUAL, ...few }, 'r7').find(
      (verdict) => verdict.limit === limit,
    );
    expect(spared?.allowed?.text).toMatch(
      /^\d+% \(stops nothing on fewer than [25] (records|deletes|rows)\)$/,
    );
  });

  it('that are numbers stop however few records there are', () => {
    const limits = { ...DEFAULTS, maxRejects: { kind: 'count', count: 0 } } as const;
    expect(exceeded({ rejected: 1, records: 4 }, limits)).toEqual(['maxRejects']);
    expect(rejectsStop(1, 4, limits)?.exceeded).toBe(true);
  });

  it('judge price moves of products only, and only where the ledger knows some', () => {
    const judged = (figures: Partial<SafetyFigures>) =>
      judgeSafety(DEFAULTS, { ...USUAL, ...figures }, 'r7').map(({ limit }) => limit);
    expect(judged({ known: 0 })).not.toContain('maxPriceMoves');
    expect(judged({ resource: 'contacts', deletes: null })).toEqual(['maxRejects', 'maxSkipped', 'minRows']);
  });

  it('name the prices that stop a run, worst first, and how many more there are', () => {
    const prices = [
      { key: 'lamp', what: 'Red / L', field: 'variants.price', old: 10, new: 1000 },
      { key: 'x'.repeat(90), what: null, field: 'variants.salePrice', old: 9.5, new: 0 },
      { key: 'desk', what: null, field: 'variants.price', old: 9, new: 3 },
      { key: 'mug', what: null, field: 'variants.price', old: 10, new: 29 },
    ];
    const stopped = (priceMoves: number) =>
      judgeSafety(DEFAULTS, { ...USUAL, priceMoves, prices, known: 60 }, 'r7').find(
        ({ limit }) => limit === 'maxPriceMoves',
      )?.message;
    expect(stopped(60)).toBe(
      `maxPriceMoves: 60 known products have a price that becomes at least 3 times as high, at most a third, or 0, of 60 known products (100%); the limit is 5%. lamp (Red / L): price 10.00 → 1,000.00; ${'x'.repeat(39)}…: salePrice 9.50 → 0.00; desk: price 9.00 → 3.00; and 57 more. If this is correct, approve run r7`,
    );
    expect(stopped(4)).not.toContain('mug');
    expect(stopped(3)).toBe(
      'maxPriceMoves: 3 known products have a price that becomes at least 3 times as high, at most a third, or 0, of 60 known products (5%); the limit is 5%',
    );
  });

  it('hold changes against the records that the ledger knows', () => {
    const limits = { ...DEFAULTS, maxChanges: { kind: 'percent', percent: 50 } } as const;
    expect(exceeded({ changed: 25 }, limits)).toEqual([]);
    expect(exceeded({ changed: 26 }, limits)).toEqual(['maxChanges']);
  });

  it('can be plain numbers', () => {
    const limits = {
      ...NO_LIMITS,
      maxDeletes: { kind: 'count', count: 3 },
      minRows: { kind: 'count', count: 900 },
    } as const;
    expect(exceeded({ deletes: 3, rows: 900 }, limits)).toEqual([]);
    expect(exceeded({ deletes: 4, rows: 899 }, limits).sort()).toEqual(['maxDeletes', 'minRows']);
    expect(exceeded({ rows: 899, previousRows: null }, limits)).toEqual(['minRows']);
  });

  it('do not compare the rows of a first run with anything', () => {
    expect(exceeded({ rows: 1, previousRows: null })).toEqual([]);
  });

  it('stop at a source without rows, unless minRows is 0', () => {
    expect(exceeded({ rows: 0, previousRows: null })).toEqual(['minRows']);
    expect(exceeded({ rows: 0 }, { ...DEFAULTS, minRows: { kind: 'off' } })).toEqual(['minRows']);
    expect(exceeded({ rows: 0 }, { ...DEFAULTS, minRows: { kind: 'count', count: 0 } })).toEqual([]);
  });

  it('stop at a joined table that is empty or cut off, and name it', () => {
    const of = (
      figure: number,
      base: number | null,
      minRows: (typeof DEFAULTS)['minRows'] = DEFAULTS.minRows,
    ) =>
      judgeSafety({ ...DEFAULTS, minRows }, { ...USUAL, tables: [{ table: 'stock', figure, base }] }, 'r7')
        .filter((verdict) => verdict.exceeded)
        .map(({ limit, table, message }) => [limit, table, message]);
    const empty =
      "minRows: the joined table 'stock' has no rows; if this is correct, set `minRows: 0`. If this is correct, approve run r7";
    expect(of(0, 30)).toEqual([['minRows', 'stock', empty]]);
    expect(of(0, null), 'nothing to compare with').toEqual([]);
    expect(of(0, 0), 'approved before').toEqual([]);
    expect(of(0, 30, { kind: 'off' })).toEqual([]);
    expect(of(14, 30)).toEqual([
      [
        'minRows',
        'stock',
        "minRows: the joined table 'stock' has 14 rows; the last completed run had 30 (47%); the limit is 50%. If this is correct, approve run r7",
      ],
    ]);
    expect(of(15, 30), 'fewer offers').toEqual([]);
    expect(of(8, 30, { kind: 'percent', percent: 20 })).toEqual([]);
    expect(of(1, null)).toEqual([]);
    expect(of(3, 4), 'a few').toEqual([]);
    expect(of(0, 30, { kind: 'count', count: 0 })).toEqual([]);
    expect(of(2, 30, { kind: 'count', count: 900 }), 'a number is of the source').toEqual([]);
  });

  it('stop when what makes the key changed and both new and missing keys appear', () => {
    expect(exceeded({ keyChange: { new: 90, missing: 90, heldKnown: 0, allHeld: false } })).toEqual(['key']);
    expect(exceeded({ keyChange: { new: 90, missing: 0, heldKnown: 0, allHeld: false } })).toEqual([]);
    expect(exceeded({ keyChange: { new: 0, missing: 90, heldKnown: 0, allHeld: false } })).toEqual([]);
    // Nobody knows the keys of rejected records.
    expect(
      exceeded({ keyChange: { new: 0, missing: 90, heldKnown: 0, allHeld: false }, rejected: 1 }),
    ).toEqual(['key']);
  });

  it('say of new keys that are all held what becomes of them', () => {
    const judge = (allHeld: boolean) =>
      judgeSafety(DEFAULTS, { ...USUAL, keyChange: { new: 9, missing: 9, heldKnown: 0, allHeld } }, 'r7')[0];
    expect(judge(true)?.message).toContain('a second time with other urls once they are released.');
    expect(judge(false)?.message).toContain('a second time with other urls.');
  });

  it('stop when what makes the key changed and most known records get other contents', () => {
    const keyChange = { new: 0, missing: 0, heldKnown: 0, allHeld: false };
    expect(exceeded({ keyChange, known: 100, changed: 50 })).toEqual(['key']);
    expect(exceeded({ keyChange, known: 100, changed: 49 })).toEqual([]);
    // Guards hold them back one by one, and say nothing of the whole.
    expect(exceeded({ keyChange: { ...keyChange, heldKnown: 60 }, known: 100, changed: 40 })).toEqual([
      'key',
    ]);
    const [key] = judgeSafety(DEFAULTS, { ...USUAL, keyChange, known: 90, changed: 90 }, 'r7');
    expect(key?.message).toMatch(
      /90 of 90 known ones change: the run may write the fields of one .* approve run r7$/,
    );
  });

  it('say limit, figure, base and what to do', () => {
    const [over] = judgeSafety(DEFAULTS, { ...USUAL, deletes: 1800, keysOfJob: 30_000 }, 'r7');
    expect(over?.message).toBe(
      'maxDeletes: 1,800 products would be deleted, of 30,000 products that this job sent (6%); the limit is 5%. If this is correct, approve run r7',
    );
  });

  it('are met exactly, however a percentage is rounded', () => {
    const limits = { ...DEFAULTS, maxRejects: { kind: 'percent', percent: 1.1 } } as const;
    for (let thousands = 1; thousands <= 100; thousands++) {
      expect(exceeded({ rejected: 11 * thousands, records: 1000 * thousands }, limits)).toEqual([]);
      expect(exceeded({ rejected: 11 * thousands + 1, records: 1000 * thousands }, limits)).toEqual([
        'maxRejects',
      ]);
    }
  });

  it('are judged again on rejects while applying', () => {
    expect(rejectsStop(1, 4)).toBeNull();
    expect(rejectsStop(20, 200)).toBeNull();
    expect(rejectsStop(21, 200)?.limit).toBe('maxRejects');
    expect(rejectsStop(200, 200, NO_LIMITS)).toBeNull();
  });
});

describe('a plan', () => {
  const renamed = [
    record('new-a', product('new-a'), { line: 2 }),
    record('new-b', product('new-b'), { line: 3 }),
  ];
  const ledger = () => new MemoryLedger().put('a', product('a')).put('b', product('b'));
  const digests = { keyDigest: 'now', previous: { rows: 2, keyDigest: 'before' } };

  it('notices in upsert mode too that a changed url expression would create the catalog a second time', async () => {
    const { plan } = await planOf({ mapped: renamed, ledger: ledger(), options: digests });
    expect(plan.safety).toMatchObject([{ limit: 'key', exceeded: true, figure: 2, base: 2 }, {}]);
  });

  it('does not mind a url expression that gives the same urls', async () => {
    const same = [record('a', product('a'), { line: 2 }), record('b', product('b'), { line: 3 })];
    const { plan } = await planOf({ mapped: same, ledger: ledger(), options: digests });
    expect(plan.safety.some((verdict) => verdict.exceeded)).toBe(false);
  });

  it('of a retry is held against no limit', async () => {
    const { plan } = await planOf({
      mapped: [],
      ledger: ledger(),
      options: { ...digests, origin: { kind: 'retry' } },
    });
    expect(plan.safety).toEqual([]);
  });
});

describe('records that are left out without a `skip` of the mapping', () => {
  const left = (count: number, reason: Partial<MappedSkip['reason']>, from = 0): MappedSkip[] =>
    Array.from({ length: count }, (_, index) => {
      const skip = skipped(`s${from + index}`, { line: 100 + from + index });
      return { ...skip, reason: { ...skip.reason, ...reason } };
    });
  const NO_PRICE = { code: 'no-price', field: 'variants.price' };
  const made = async (mapped: readonly Mapped[]) => {
    const job = { name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject' } as const;
    const { plan } = await planOf({ mapped, options: { job: { ...job, safety: DEFAULTS } } });
    const verdict = plan.safety.find(({ limit }) => limit === 'maxSkipped');
    return { figure: verdict?.figure, stops: verdict?.exceeded, many: hasManyUnaskedSkips(plan) };
  };

  it('stop a run beyond maxSkipped, and are many above a tenth', async () => {
    expect(await made([...products(0, 9), ...left(1, NO_PRICE)])).toEqual({
      figure: 1,
      stops: false,
      many: false,
    });
    expect(await made([...products(0, 8), ...left(2, NO_PRICE)])).toEqual({
      figure: 2,
      stops: false,
      many: true,
    });
    expect(await made([...products(0, 4), ...left(6, NO_PRICE)])).toEqual({
      figure: 6,
      stops: true,
      many: true,
    });
    expect(await made([...products(0, 1), ...left(3, NO_PRICE)])).toEqual({
      figure: 3,
      stops: false,
      many: false,
    });
  });

  it('are not those that the mapping names, unless nothing else is there', async () => {
    // A mapping may call its own reason so.
    const named = { code: 'no-price' };
    expect(await made([...products(0, 1), ...left(9, named)])).toEqual({
      figure: 0,
      stops: false,
      many: false,
    });
    expect(await made(left(9, named))).toEqual({ figure: 9, stops: true, many: false });
  });
});
