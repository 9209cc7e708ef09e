import { describe, expect, it } from 'vitest';
import { confirmInterrupt } from '../../../src/dashboard/actions/confirmation.ts';
import { aRun } from '../../report/run-facts.ts';

const READING = { timezone: 'UTC', now: 0 };

function afterwards(run: Parameters<typeof aRun>[0]) {
  return String(confirmInterrupt(aRun({ ...run, status: 'running' }), READING).effects?.at(-1));
}

describe('who interrupts a run', () => {
  it('learns that a retry continues a retry, and a run of the job takes its place', () => {
    expect(afterwards({ kind: 'run' })).toContain('The next run of the job continues where it stopped');
    expect(afterwards({ kind: 'retry' })).toBe(
      'To send the rest, retry again: nothing is sent twice. A run of the job would take its place.',
    );
  });

  it('learns that an export keeps what it was already writing', () => {
    expect(afterwards({ kind: 'export' })).toContain('unless this one was already writing');
  });

  it('learns that the rest of a restore is compared again, and that of a release released', () => {
    expect(afterwards({ kind: 'release', restore: { of: 'abc' } })).toContain('compare the store again');
    expect(afterwards({ kind: 'release', release: { of: 'abc' } })).toContain('release it again');
  });
});
