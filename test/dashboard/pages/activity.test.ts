import { describe, expect, it } from 'vitest';
import { needOf, settledRuns } from '../../../src/dashboard/pages/activity.ts';
import type { Run, RunTotals } from '../../../src/model/run.ts';
import { sampleRun } from '../../state/samples.ts';

const NONE = { applied: 0, unchanged: 0, rejected: 0, skipped: 0, unsent: 0, held: 0 };
const totals = (some: Partial<RunTotals>): RunTotals => ({
  ...{ rows: 9, records: 9, new: 0, changed: 0, removed: 0, operations: 0, deleted: 0, requests: 0 },
  ...{ ...NONE, fieldsChanged: {}, inRows: NONE, ...some },
});
const ended = (sequence: number, kind: Run['kind'], status: Run['status'], some: Partial<RunTotals> = {}) =>
  sampleRun({ id: `r${sequence}`, sequence, kind, status, totals: totals(some), digest: 'd', error: null });

/** What the job needs, of its runs, newest first. */
function need(...runs: readonly Run[]) {
  const last = runs.find(({ kind }) => kind !== 'plan');
  return needOf({ last, runs, problems: [] });
}

describe('what a job needs', () => {
  const rejecting = ended(1, 'run', 'done-with-rejects', { rejected: 3, held: 1 });

  it.each(['undo', 'release'] as const)('is still to correct what was rejected before an %s', (kind) => {
    const after = ended(2, kind, 'done');
    expect(need(after, rejecting)).toMatchObject({
      why: '3 records were rejected and not sent.',
      look: { id: 'r1' },
    });
    expect([...settledRuns([after, rejecting])]).toEqual([]);
  });

  it('is nothing after a run, a retry, or where nothing was rejected', () => {
    for (const kind of ['run', 'retry'] as const) {
      const after = ended(2, kind, 'done');
      expect(need(after, rejecting)).toBeNull();
      expect([...settledRuns([after, rejecting])]).toEqual(['r1']);
    }
    const held = ended(1, 'run', 'done-with-rejects', { held: 1 });
    expect(need(ended(2, 'release', 'done'), held)).toBeNull();
    expect(need(ended(2, 'undo', 'done'), ended(1, 'run', 'done'))).toBeNull();
  });

  it('is a look at records that are held', () => {
    expect(need(ended(1, 'run', 'done-with-rejects', { held: 3 }))).toMatchObject({
      why: '3 records are held and not sent.',
    });
  });

  it('is a look at deletes that the store refused', () => {
    expect(need(ended(1, 'run', 'done-with-rejects', { refusedDeletes: 1 }))).toMatchObject({
      why: 'The store refused 1 delete: see the reasons.',
    });
  });

  it('is a look at many skipped records', () => {
    expect(need(ended(1, 'run', 'done-with-rejects', { skipped: 4 }))).toMatchObject({
      why: '4 records were skipped: see the reasons.',
    });
  });
});
