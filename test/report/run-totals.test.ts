import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refusedDeletes, runTotals, unsentDeletes } from '../../src/report/run-facts.ts';
import { runSummary } from '../../src/report/run-summary.ts';
import { ALL_APPLIED, aPlan, aRun, COUNTS, NOW } from './run-facts.ts';

const NOTHING_SENT = {
  left: 0,
  applied: 0,
  appliedRows: 0,
  rejected: 0,
  rejectedRows: 0,
  deleted: 0,
  requests: 0,
};

describe('the totals of a run', () => {
  it('add up, in records and in rows, however far it has come', () => {
    const count = fc.record({ records: fc.nat(50), rows: fc.nat(90) });
    const counts = fc.record({
      new: count,
      changed: count,
      resent: count,
      unchanged: count,
      rejected: count,
      skipped: count,
      held: count,
      removed: fc.nat(9),
      deletes: fc.nat(9),
    });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(counts, share, share, (found, far, refused) => {
        const { removed: _, deletes: __, ...outcomes } = found;
        const all = Object.values(outcomes);
        const sum = (of: 'records' | 'rows') => all.reduce((total, each) => total + each[of], 0);
        const upserts = found.new.records + found.changed.records + found.resent.records;
        const sent = Math.floor(upserts * far);
        const rejected = Math.floor(sent * refused);
        const plan = aPlan({ counts: { ...found, records: sum('records'), rows: sum('rows') } });
        const tally = {
          ...NOTHING_SENT,
          applied: sent - rejected,
          rejected,
          appliedRows: 1,
          rejectedRows: 2,
        };
        const { records, rows, inRows, ...totals } = runTotals(plan, tally);
        const { applied: sentRecords, unchanged: same, rejected: refusals, unsent: left } = totals;
        expect(sentRecords + same + refusals + left + totals.skipped + totals.held).toBe(records);
        const { applied, unchanged, rejected: refusedRows, unsent, skipped, held } = inRows;
        expect(applied + unchanged + refusedRows + unsent + skipped + held).toBe(rows);
        expect(totals.unsent).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('count planned upserts without an outcome as unsent', () => {
    expect(runTotals(aPlan(), NOTHING_SENT)).toMatchObject({
      unsent: 12,
      applied: 0,
      operations: 15,
      rejected: 1,
    });
    expect(runTotals(aPlan(), ALL_APPLIED)).toMatchObject({
      unsent: 0,
      applied: 12,
      deleted: 3,
      requests: 15,
    });
  });

  it('keep a refused delete out of the records', () => {
    const tally = { ...ALL_APPLIED, deleted: 1, rejected: 1 };
    expect(runTotals(aPlan(), tally)).toMatchObject({
      rejected: 1,
      unsent: 0,
      deleted: 1,
      refusedDeletes: 1,
    });
    const totals = runTotals(aPlan(), tally);
    expect(runSummary({ run: aRun(), totals, rejectsFile: null }, NOW)).toHaveProperty('refusedDeletes', 1);
    expect(refusedDeletes(aPlan(), tally)).toBe(1);
    expect(unsentDeletes(aPlan(), tally)).toBe(1);
    expect(unsentDeletes(aPlan(), NOTHING_SENT)).toBe(3);
  });

  it('are all zero without a plan', () => {
    const { fieldsChanged, inRows, requests, ...figures } = runTotals(null, { ...NOTHING_SENT, requests: 4 });
    expect(requests).toBe(4);
    expect(new Set([...Object.values(figures), ...Object.values(inRows)])).toEqual(new Set([0]));
    expect(fieldsChanged).toEqual({});
  });
});

describe('the summary for programs', () => {
  it('has the members of `--json`, in their order', () => {
    const summary = runSummary(
      { run: aRun(), totals: runTotals(aPlan(), ALL_APPLIED), rejectsFile: null },
      NOW,
    );
    expect(Object.keys(summary).join()).toBe(
      'run,job,status,rows,records,new,changed,unchanged,removed,operations,applied,deleted,rejected,skipped,unsent,held,requests,fieldsChanged,rejectsFile,durationMs,error',
    );
    expect(summary).toMatchObject({
      run: 'k3f9',
      status: 'done',
      rows: COUNTS.rows,
      removed: 3,
      fieldsChanged: { 'variants.price': 2, file: 1 },
      durationMs: 12_345,
      error: null,
    });
  });

  it('lasts until now while the run is not over', () => {
    const totals = runTotals(null, NOTHING_SENT);
    const run = aRun({ status: 'running', finishedAt: null });
    expect(runSummary({ run, totals, rejectsFile: null }, NOW).durationMs).toBe(60_000);
  });
});
