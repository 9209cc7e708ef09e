import { describe, expect, it } from 'vitest';
import { jobsText } from '../../src/cli/commands/runs-command.ts';
import type { Run } from '../../src/model/run.ts';
import { type JobFacts, NO_TOTALS, type ScheduleStatus } from '../../src/report/run-facts.ts';
import { aRun, NOW } from './run-facts.ts';

const HOUR = 3_600_000;
const schedule = { cron: '15 2 * * *', timezone: 'Europe/London' };
const aJob: JobFacts = { job: 'nightly', schedule, next: NOW + 5 * HOUR, broken: false, last: undefined };

function lines(jobs: readonly JobFacts[], schedules: ScheduleStatus = 'worker'): string[] {
  const options = { colors: false, width: 120, now: NOW, program: 'storeferry -C shop' };
  return jobsText(jobs, schedules, options).trimEnd().split('\n');
}

describe('the list of jobs', () => {
  it('says when each runs, in the zone of this process, and what came of the last run', () => {
    const tokyo = { ...aJob, job: 'tokyo', schedule: { cron: '0 9 * * 1', timezone: 'Asia/Tokyo' } };
    const [header, london, second] = lines([{ ...aJob, last: aRun({ startedAt: NOW - 2 * HOUR }) }, tokyo]);
    expect(header).toMatch(/job +schedule +next +last +outcome/);
    expect(london).toMatch(
      /^nightly +15 2 \* \* \* Europe\/London +Wed 2 Jan 08:00 UTC \(in 5 h\) +2 h ago +done$/,
    );
    expect(second).toMatch(/^tokyo +0 9 \* \* 1 Asia\/Tokyo +Wed 2 Jan 08:00 UTC \(in 5 h\) +never$/);
  });

  it('distinguishes unscheduled from broken, running from done, due from unseen', () => {
    const running = aRun({ status: 'running', startedAt: NOW - 180_000, finishedAt: null });
    const shown = lines([
      { ...aJob, job: 'manual', schedule: null, next: null, last: running },
      { ...aJob, job: 'broken', schedule: null, next: null, broken: true },
      { ...aJob, job: 'due', next: NOW - 5 },
      { ...aJob, job: 'unseen', next: null },
    ]).join('\n');
    expect(shown).toMatch(/manual +by hand +3 min ago +running for 3 min/);
    expect(shown).toMatch(/broken +broken file +never/);
    expect(shown).toMatch(/due +15 2 \* \* \* Europe\/London +due now/);
    expect(shown).toMatch(/unseen +15 2 \* \* \* Europe\/London +once a worker has read the schedule/);
    expect(shown).toContain('storeferry -C shop check');
  });

  it('says why nothing came of a run, and what of a stopped one matters: its deletes', () => {
    const outcome = (run: Partial<Run>) =>
      lines([{ ...aJob, schedule: null, next: null, last: aRun(run) }])[1]?.replace(/^.* ago +/, '');
    const error = 'The source nightly.csv is not there.\nLook at the job.';
    expect(outcome({ status: 'failed', totals: NO_TOTALS, error })).toBe(
      'failed: The source nightly.csv is not there.',
    );
    const stopped = {
      ...NO_TOTALS,
      rows: 500,
      records: 189,
      new: 189,
      unsent: 189,
      removed: 204,
      operations: 393,
    };
    const reason = 'maxDeletes: 204 products would be deleted (51%)';
    expect(outcome({ status: 'stopped', totals: stopped, error: reason })).toBe(`stopped: ${reason}`);
    expect(outcome({ status: 'planned', kind: 'plan', totals: stopped, error: null })).toBe(
      'planned: 204 to delete, 189 planned',
    );
    const halfway = { ...stopped, applied: 100, unsent: 89, requests: 100 };
    expect(outcome({ status: 'failed', totals: halfway, error: 'The store failed.' })).toBe(
      'failed: 100 applied, 204 to delete, 89 unsent',
    );
  });

  it('says what keeps scheduled jobs from running', () => {
    expect(lines([aJob], 'no-worker').at(-1)).toContain('storeferry -C shop worker');
    expect(lines([aJob], 'worker')).toHaveLength(2);
    expect(lines([{ ...aJob, schedule: null, next: null }], 'no-worker')).toHaveLength(2);
    expect(lines([], 'no-worker')).toEqual(['']);
  });
});
