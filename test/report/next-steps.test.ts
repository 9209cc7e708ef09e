import { describe, expect, it } from 'vitest';
import type { Plan } from '../../src/model/plan.ts';
import type { Run, Verification } from '../../src/model/run.ts';
import { nextSteps as stepsOf } from '../../src/report/run-document.ts';
import { aPlan, aRun, COUNTS, facts } from './run-facts.ts';

const { totals } = facts({});
const nextSteps = (
  { rejectsFile, ...run }: Run & { readonly rejectsFile?: null },
  plan: Plan | null,
  program = 'storeferry',
  changedIdCount = 0,
) => stepsOf({ run, plan, changedIdCount, ...(rejectsFile === undefined ? {} : { rejectsFile }) }, program);
const REJECTED = totals.rejected;
const unmatched = (records: number) =>
  aPlan({
    rejections: [
      {
        ...{ code: 'crosswalk-no-match', message: 'no contact has this email', field: 'id', column: null },
        ...{ records, rows: records, lines: [] },
      },
    ],
  });
const whats = (...args: Parameters<typeof nextSteps>) => nextSteps(...args).map(({ what }) => what);

const AS_KNOWN: Verification = {
  ...{ sampled: 50, known: 11_990, notComparable: 10, asKnown: 50, recreated: 0, altered: 0, rejected: 0 },
  ...{ missing: 0, unsent: 0, alteredFields: [], forgottenShare: { estimate: 0, low: 0, high: 0.058 } },
};

describe('the next steps', () => {
  it('after a plan that sends nothing lead to its refused rows, and nowhere where all is well', () => {
    const planned = aRun({ kind: 'plan', status: 'planned' });
    expect(nextSteps(planned, aPlan({ shards: [] }))).toEqual([
      { what: 'Correct the rejected rows in the source, then:', command: 'storeferry plan nightly-catalog' },
    ]);
    const clean = aPlan({ shards: [], counts: { ...COUNTS, rejected: { records: 0, rows: 0 } } });
    expect(nextSteps(planned, clean)).toEqual([]);
  });

  it('offer to keep edits only where a release can: not of whole products, nor of urls', () => {
    const run = aRun({ status: 'done-with-rejects', totals: { ...totals, held: 1 } });
    const offers = (field: string, sent: Partial<Plan> = {}) => {
      const records = [{ key: 'mug', how: 'held' as const, fields: [field] }];
      const edited = { kept: 0, held: 1, overwritten: 0, records };
      const steps = nextSteps(run, aPlan({ edited, ...sent }));
      return steps.some(({ command }) => command.endsWith(' --conflicts store'));
    };
    expect([offers('title'), offers('title', { sendsWhole: true }), offers('url')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('after a stop with nothing to send do not speak of sending', () => {
    const stopped = aRun({ status: 'stopped' });
    expect(whats(stopped, aPlan({ shards: [] })).at(-1)).toBe(
      'If the plan is correct (it has nothing to send):',
    );
    expect(whats(stopped, null).at(-1)).toBe('If the plan is correct, to send it:');
  });

  it('lead to a run where there is nothing to retry, or nothing to verify', () => {
    const ended = aRun({ status: 'done-with-rejects', totals });
    const run = 'storeferry run nightly-catalog';
    expect(nextSteps({ ...ended, rejectsFile: null }, null)).toEqual([
      {
        what: 'There is no rejects file: it was removed, or a row has too many cells. Correct the source, then:',
        command: run,
      },
    ]);
    const deletes = aRun({ status: 'done-with-rejects', totals: { ...totals, rejected: 0 } });
    expect(nextSteps({ ...deletes, rejectsFile: null }, null)).toEqual([
      { what: 'To send the refused requests again:', command: run },
    ]);
    const unverified = { ...AS_KNOWN, sampled: 0, known: 0, notComparable: 0, asKnown: 0 };
    const failed = aRun({ kind: 'verify', status: 'failed', verification: unverified });
    expect(nextSteps(failed, null).map(({ command }) => command)).toEqual([run]);
  });

  it('after a stop by what the store refused do not blame the source', () => {
    const stopped = aRun({ status: 'stopped', totals: { ...totals, requests: 40 } });
    expect(whats(stopped, aPlan())[0]).toBe('Correct the cause of the refusals, then:');
    expect(whats(stopped, aPlan()).at(-1)).toBe('If the plan is correct, to send the rest of it:');
    expect(whats(aRun({ status: 'stopped', totals: { ...totals, requests: 0 } }), aPlan())[0]).toContain(
      'source',
    );
  });

  it('after an interrupted retry or restore lead to its rest, and to nothing that would leave it out', () => {
    const steps = (run: Run) => nextSteps(run, null);
    expect(steps(aRun({ kind: 'retry', status: 'interrupted', retryOf: 'abc' }))).toEqual([
      { what: 'To continue where it stopped:', command: 'storeferry retry abc' },
    ]);
    expect(steps(aRun({ kind: 'release', status: 'interrupted', restore: { of: 'abc' } }))).toEqual([
      {
        what: 'To compare the store again, and plan the rest:',
        command: 'storeferry drift nightly-catalog --restore',
      },
    ]);
  });

  it('say --resend again where it was said: without it the run would not go on', () => {
    const commands = (run: Run) => nextSteps(run, null).map(({ command }) => command);
    expect(commands(aRun({ status: 'failed', resend: true }))).toEqual([
      'storeferry run nightly-catalog --resend',
    ]);
    expect(commands(aRun({ status: 'failed' }))).toEqual(['storeferry run nightly-catalog']);
    expect(commands(aRun({ kind: 'plan', status: 'planned', resend: true }))).toContain(
      'storeferry run nightly-catalog --resend',
    );
  });

  it('lead to verify where ids changed, unless everything was sent anyway', () => {
    const commands = (...args: Parameters<typeof nextSteps>) =>
      nextSteps(...args).map(({ command }) => command);
    const verify = 'storeferry verify nightly-catalog';
    expect(commands(aRun({ status: 'done' }), null, 'storeferry', 2)).toEqual([verify]);
    expect(commands(aRun({ status: 'done' }), null, 'storeferry', 0)).toEqual([]);
    expect(commands(aRun({ status: 'done-with-rejects' }), null, 'storeferry', 2)).toEqual([
      'storeferry retry k3f9',
      verify,
    ]);
    expect(commands(aRun({ status: 'done', resend: true }), null, 'storeferry', 2)).toEqual([]);
    expect(commands(aRun({ status: 'failed' }), null, 'storeferry', 2)).toEqual([
      'storeferry run nightly-catalog',
    ]);
  });

  it('after a verification lead to sending everything again only if something was forgotten', () => {
    const verified = (found: Partial<Verification>) =>
      nextSteps(aRun({ kind: 'verify', verification: { ...AS_KNOWN, ...found } }), null, 'storeferry', 2);
    expect(verified({})).toEqual([]);
    expect(verified({ altered: 3, rejected: 1 })).toEqual([]);
    const resend = {
      what: 'To send every record of the source again, about 12,000 requests:',
      command: 'storeferry run nightly-catalog --resend',
    };
    expect(verified({ recreated: 1 })).toEqual([resend]);
    expect(verified({ rejected: 1, missing: 1 })).toEqual([resend]);
    expect(nextSteps(aRun({ kind: 'verify', status: 'failed' }), null)).toEqual([
      { what: 'To verify again:', command: 'storeferry verify nightly-catalog' },
    ]);
  });

  it('after a retry of foreign keys alone lead to the keys, and where its file was refused not to the same again', () => {
    const retried = aRun({ kind: 'retry', status: 'done-with-rejects', retryOf: 'a1b2', totals });
    const [group] = unmatched(REJECTED).rejections;
    const plan = aPlan({ rejections: group === undefined ? [] : [{ ...group, code: 'key-not-rejected' }] });
    expect(nextSteps(retried, plan)).toEqual([
      { what: 'Restore the keys in the rejects file, then:', command: 'storeferry retry k3f9' },
    ]);
    expect(nextSteps(aRun({ ...retried, status: 'failed' }), null)).toEqual([
      {
        what: 'If the rejects file is wrong, correct it, then:',
        command: 'storeferry retry a1b2',
      },
      { what: 'Or correct the source, then:', command: 'storeferry run nightly-catalog' },
    ]);
  });

  it('ask for contacts where rows lack nothing but a match, and for corrections otherwise', () => {
    const ended = aRun({ status: 'done-with-rejects', totals });
    expect(REJECTED).toBeGreaterThan(0);
    expect(whats(ended, unmatched(REJECTED))).toEqual([
      'Create these contacts in the store or complete the crosswalk, then:',
    ]);
    const correct = ['Correct the rows in the rejects file, then:'];
    const more = aRun({ status: 'done-with-rejects', totals: { ...totals, rejected: REJECTED + 1 } });
    expect(whats(more, unmatched(REJECTED))).toEqual(correct);
    expect(whats(ended, aPlan())).toEqual(correct);
    expect(whats(ended, null)).toEqual(correct);
  });
});
