import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HashKey } from '../../src/model/block-index.ts';
import type { Mapped, MappedRecord, MappedRejection } from '../../src/model/mapped-record.ts';
import type { DuplicatesPolicy, Plan } from '../../src/model/plan.ts';
import { mergeContacts } from '../../src/plan/copies/resolve-copies.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { planOf, product, record, rejected, skipped } from './plan-of.ts';

type Claim = MappedRecord | MappedRejection;

/** What should become of each key, said as plainly as possible, with everything in memory. */
function expectedOf(
  mapped: readonly Mapped[],
  policy: DuplicatesPolicy,
  ledger: MemoryLedger,
  resend: boolean,
) {
  const sent = new Map<string, string>();
  const figures = { upserts: 0, unchanged: 0, rejected: 0, skipped: 0, held: 0 };
  const inRows = { upserts: 0, unchanged: 0, rejected: 0, skipped: 0, held: 0 };
  const rejectedLines: number[] = [];
  const claims = new Map<string, Claim[]>();
  const skippedKeys = new Set<string>();
  const reject = (claim: Claim) => {
    inRows.rejected += claim.rows;
    rejectedLines.push(...claim.spans.map((span) => span.from));
  };
  for (const item of mapped) {
    if (item.kind === 'skipped') {
      inRows.skipped += item.rows;
      if (item.key === null) figures.skipped++;
      else skippedKeys.add(item.key);
    } else if (item.key === null) {
      figures.rejected++;
      reject(item);
    } else {
      claims.set(item.key, [...(claims.get(item.key) ?? []), item]);
    }
  }
  for (const key of skippedKeys) if (!claims.has(key)) figures.skipped++;
  for (const [key, copies] of claims) {
    const winner = winnerOf(key, copies, policy);
    if (winner === 'none') {
      figures.rejected++;
      for (const copy of copies) reject(copy);
      continue;
    }
    if (winner.merged !== true) {
      for (const copy of copies) if (copy !== winner.of) inRows.skipped += copy.rows;
    }
    if (winner.of.kind === 'rejected') {
      figures.rejected++;
      reject(winner.of);
    } else {
      const body = JSON.stringify(winner.of.body);
      const isSame = !resend && ledger.entries.get(key)?.body === body;
      const [id, other] = [key, key.toLowerCase()].map((url) => ledger.entries.get(url)?.id);
      const isTwin = 'url' in winner.of.body && key === 'A' && claims.has('a') && id !== undefined;
      const standing = isSame ? 'unchanged' : isTwin && id === other ? 'held' : 'upserts';
      figures[standing]++;
      inRows[standing] += winner.of.rows;
      if (standing === 'upserts') sent.set(key, body);
    }
  }
  return { sent, figures, inRows, rejectedLines: rejectedLines.sort((a, b) => a - b) };
}

function winnerOf(key: string, copies: readonly Claim[], policy: DuplicatesPolicy) {
  const [first] = copies;
  const last = copies.at(-1);
  if (first === undefined || last === undefined) return 'none';
  const records = copies.filter((copy) => copy.kind === 'record');
  const bodies = new Set(records.map(({ body }) => JSON.stringify(body)));
  if (copies.length === 1 || (records.length === copies.length && bodies.size === 1)) return { of: first };
  if (copies.some((copy) => copy.partial)) return 'none';
  switch (policy) {
    case 'reject':
      return 'none';
    case 'first':
      return { of: first };
    case 'last':
      return { of: last };
    case 'merge':
      if (records.length < copies.length) return 'none';
      return { of: mergeContacts(key, records), merged: true };
    default:
      return policy satisfies never;
  }
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', '__proto__', 'é', 'A');
const nullableKey = fc.oneof({ weight: 4, arbitrary: key }, { weight: 1, arbitrary: fc.constant(null) });
const rows = fc.integer({ min: 0, max: 3 });
const partial = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constant({ partial: true as const }) },
);

function mappedStream(resource: 'products' | 'contacts') {
  const version = fc.integer({ min: 0, max: 2 });
  const bodyOf = (of: string, v: number) =>
    resource === 'products' ? product(of, { title: `v${v}` }) : { name: `v${v}`, tags: [`t${v}`] };
  const item = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(key, version, rows, partial).map(
        ([k, v, n, t]) =>
          (line: number) =>
            record(k, bodyOf(k, v), { line, rows: n, ...t }),
      ),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(nullableKey, rows, partial).map(
        ([k, n, t]) =>
          (line: number) =>
            rejected(k, 'bad', { line, rows: n, ...t }),
      ),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(nullableKey, rows).map(
        ([k, n]) =>
          (line: number) =>
            skipped(k, { line, rows: n }),
      ),
    },
  );
  const acknowledged = fc.array(fc.tuple(key, version)).map((entries) => {
    const ledger = new MemoryLedger();
    for (const [k, v] of entries) ledger.put(k, bodyOf(k, v));
    return ledger;
  });
  const stream = fc
    .array(item, { maxLength: 30 })
    .map((items) => items.map((at, index): Mapped => at(10 * index + 2)));
  return fc.record({
    mapped: stream,
    ledger: acknowledged,
    resend: fc.boolean(),
    batchSize: fc.integer({ min: 1, max: 9 }),
  });
}

function sums(counts: Plan['counts'], of: 'records' | 'rows') {
  const upserts = counts.new[of] + counts.changed[of] + counts.resent[of];
  return {
    upserts,
    unchanged: counts.unchanged[of],
    rejected: counts.rejected[of],
    skipped: counts.skipped[of],
    held: counts.held[of],
  };
}

const everyHashAlike: HashKey = (text, into) => {
  into.high = text.length;
  into.low = 2;
};

const policies = ['reject', 'first', 'last', 'merge'] as const;

describe.each(policies)('a plan under `duplicates: %s`', (policy) => {
  const resource = policy === 'merge' ? 'contacts' : 'products';

  it('sends, leaves, rejects and skips what a model in memory does, and its sums hold', async () => {
    await fc.assert(
      fc.asyncProperty(mappedStream(resource), async ({ mapped, ledger, resend, batchSize }) => {
        const expected = expectedOf(mapped, policy, ledger, resend);
        const options = { mapped, ledger, resource, duplicates: policy, batchSize } as const;
        const { plan, operations, rejections } = await planOf({ ...options, options: { resend } });
        const { counts } = plan;
        expect(sums(counts, 'records')).toEqual(expected.figures);
        expect(sums(counts, 'rows')).toEqual(expected.inRows);
        const keys = mapped.map((item) => item.key).filter((k) => k !== null);
        expect(counts.records).toBe(new Set(keys).size + mapped.length - keys.length);
        expect(counts.rows).toBe(mapped.reduce((sum, item) => sum + item.rows, 0));
        expect(new Map(operations.map((o) => [o.key, 'body' in o ? o.body : '']))).toEqual(expected.sent);
        expect(operations.length).toBe(expected.sent.size);
        const lines = rejections.flatMap((rejection) => rejection.spans.map((span) => span.from));
        expect(lines.sort((a, b) => a - b)).toEqual(expected.rejectedLines);
        expect(rejections.reduce((sum, { records }) => sum + records, 0)).toBe(expected.figures.rejected);
      }),
      { numRuns: 150 },
    );
  });

  it('loses and rejects nothing when different keys have the same hash', async () => {
    await fc.assert(
      fc.asyncProperty(mappedStream(resource), async ({ mapped, ledger, batchSize }) => {
        const expected = expectedOf(mapped, policy, ledger, false);
        const options = { mapped, ledger, resource, duplicates: policy, batchSize } as const;
        const { plan, operations } = await planOf({ ...options, options: { hashKey: everyHashAlike } });
        expect(new Map(operations.map((o) => [o.key, 'body' in o ? o.body : '']))).toEqual(expected.sent);
        expect(sums(plan.counts, 'rows')).toEqual(expected.inRows);
        expect(plan.counts.rejected.records).toBe(expected.figures.rejected);
      }),
      { numRuns: 80 },
    );
  });
});
