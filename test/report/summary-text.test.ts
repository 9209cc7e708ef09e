import { describe, expect, it } from 'vitest';
import { runsText, runText } from '../../src/cli/commands/runs-command.ts';
import { RUN_STATUSES, type Run } from '../../src/model/run.ts';
import { safetySection } from '../../src/report/sections/safety-section.ts';
import { ALL_APPLIED, aPlan, aRun, COUNTS, ESCAPE, facts, NOW, textOf } from './run-facts.ts';

const NOTHING_SENT = { ...ALL_APPLIED, applied: 0, appliedRows: 0, deleted: 0, requests: 0 };
const plain = { colors: false, width: 100, now: NOW };
const view = { now: NOW, program: 'storeferry', version: '1.2.3' };
const linesOf = (text: string) => text.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' '));

describe('the summary of a run for people', () => {
  it('says what became of everything, and asks for nothing when all is well', () => {
    const clean = aPlan({ counts: { ...COUNTS, rejected: { records: 0, rows: 0 } }, rejections: [] });
    const lines = linesOf(textOf(facts({}, { plan: clean })));
    expect(lines[0]).toBe('nightly-catalog: done after 12.3 s (run k3f9)');
    expect(lines).toContain('applied 12 10 new and 2 changed in the plan');
    expect(lines).toContain('deleted 3');
    expect(lines).toContain('requests 15');
    expect(lines).not.toContain('Next');
  });

  it('says how fast it was sent in the end, and why no faster', () => {
    const limits = { concurrency: 9, because: 'answers became slow', rate: null };
    const atOnce = 'Concurrency at the end: 9 requests (answers became slow)';
    const of = (changes: Partial<Run>) => facts(changes, {}, { ...ALL_APPLIED, requests: 100 });
    expect(linesOf(textOf(of({ limits })))).toContain(`${atOnce}.`);
    expect(textOf(facts({ limits })), 'of 15 requests').not.toContain('Sending ended');
    const rate = { requestsPerSecond: 19.437, because: 'the store refused more' };
    const text = textOf(of({ limits: { ...limits, rate } }));
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      `${atOnce}; rate: 19.4 per second (the store refused more).`,
    );
  });

  it('separates what was sent again from what was new or changed', () => {
    const plan = aPlan({ counts: { ...COUNTS, resent: { records: 498, rows: 503 } } });
    const lines = linesOf(textOf(facts({}, { plan })));
    expect(lines).toContain('applied 12 10 new, 2 changed and 498 resent in the plan');
  });

  it('leads from rejects to their file and to retry', () => {
    const refusal = {
      code: 'store-422',
      message: 'sku is taken',
      field: null,
      column: null,
      records: 2,
      rows: 2,
      lines: [40, 7].map((line) => ({ file: 0, line })),
    };
    const rejects = { refusals: [refusal], rejectsFile: '.storeferry/artifacts/k3f9/rejects.csv' };
    const lines = linesOf(textOf(facts({ status: 'done-with-rejects' }, rejects)));
    expect(lines).toContain('line 14 · price-not-a-number');
    expect(lines).toContain('2 rows: sku is taken');
    expect(lines).toContain('lines 7 and 40 · store-422');
    expect(lines).toContain('Rejects file: .storeferry/artifacts/k3f9/rejects.csv');
    expect(lines).toContain('storeferry retry k3f9');
  });

  it('of a failed run says why, what is unsent, and how to go on', () => {
    const tally = { ...ALL_APPLIED, applied: 5, appliedRows: 6, deleted: 0, requests: 70 };
    const unsent = {
      unsentReasons: [{ reason: { code: 'store-503', message: 'the store answered 503' }, count: 7 }],
    };
    const lines = linesOf(
      textOf(facts({ status: 'failed', error: 'The store has been failing.' }, unsent, tally)),
    );
    expect(lines).toContain('The store has been failing.');
    expect(lines).toContain('unsent 7');
    expect(lines).toContain('deleted 0 3 still to be deleted');
    expect(lines).toContain('7 operations: the store answered 503');
    expect(lines).toContain('storeferry run nightly-catalog');
  });

  it('of a run that a limit stopped says that nothing was sent, and how to approve it', () => {
    const tally = { ...ALL_APPLIED, applied: 0, appliedRows: 0, deleted: 0, requests: 0 };
    const lines = linesOf(textOf(facts({ status: 'stopped', error: 'maxDeletes: too many' }, {}, tally)));
    expect(lines[0]).toContain('stopped by a safety limit');
    expect(lines).toContain('Nothing was sent to the store.');
    expect(lines).toContain('storeferry approve k3f9');
  });

  const NOTHING_REJECTED = { counts: { ...COUNTS, rejected: { records: 0, rows: 0 } }, rejections: [] };

  it('of a run whose deletes the store refused says so, and counts them where they stop it', () => {
    const tally = { ...ALL_APPLIED, deleted: 1, rejected: 2 };
    const safety = {
      limit: 'maxRejects',
      exceeded: false,
      figure: 0,
      base: 511,
      message: 'maxRejects',
    } as const;
    const changes = { plan: aPlan({ ...NOTHING_REJECTED, safety: [safety] }) };
    const lines = linesOf(textOf(facts({ status: 'done-with-rejects' }, changes, tally)));
    expect(lines).toContain('Done, except for 2 products that the store did not delete.');
    const error = 'maxRejects: too many';
    const stopped = textOf(facts({ status: 'stopped', error }, changes, tally));
    expect(stopped).toContain('Stopped after 15 requests: 2 of 511 records are rejected');
  });

  it('of an approved run judges what the store has refused, too, and not where a percentage has a small basis', () => {
    const tally = { ...ALL_APPLIED, applied: 0, rejected: 12 };
    const rejects = (base: number, allowed: { readonly text: string; readonly amount: number }) => {
      const verdict = {
        limit: 'maxRejects',
        exceeded: false,
        figure: 0,
        base,
        allowed,
        message: '',
      } as const;
      const plan = aPlan({ ...NOTHING_REJECTED, safety: [verdict] });
      const section = safetySection(facts({ status: 'done-with-rejects', approved: true }, { plan }, tally));
      return [section?.title, JSON.stringify(section).match(/"words":"(exceeded|within)"/)?.[1]];
    };
    const overridden = ['Safety limits: overridden by a person', 'exceeded'];
    const within = ['Safety limits: none exceeded', 'within'];
    expect(rejects(100, { text: '5%', amount: 5 })).toEqual(overridden);
    expect(rejects(12, { text: '12', amount: 12 })).toEqual(within);
    expect(rejects(4, { text: '5% (stops nothing on fewer than 5 records)', amount: 0 })).toEqual(within);
    expect(rejects(4, { text: '3', amount: 3 })).toEqual(overridden);
  });

  it('names a guard for held records only where nothing else holds them', () => {
    const held = { counts: { ...COUNTS, held: { records: 4, rows: 4 } } };
    const continued = { records: 0, byId: false, waiting: 4, examples: [] };
    const edited = { kept: 0, held: 3, overwritten: 0, records: [] };
    const said = (changes: Parameters<typeof aPlan>[0]) =>
      textOf(facts({ status: 'planned' }, { plan: aPlan({ ...held, ...changes }) }, NOTHING_SENT)).replaceAll(
        /\s+/g,
        ' ',
      );
    expect(said({})).toContain('4 products would be held by a guard.');
    expect(said({ renamed: continued })).toContain('held, because they may be products under other urls.');
    expect(said({ edited })).toContain('4 products would be held until somebody releases them.');
  });

  it('of an interrupted retry names the retry to repeat', () => {
    const text = textOf(facts({ status: 'interrupted', kind: 'retry', retryOf: 'a1' }));
    expect(linesOf(text)).toContain('storeferry retry a1');
  });

  it('warns when the store answered another id than before', () => {
    const changedIds = [{ key: 'lamp', knownId: 5, answeredId: 9 }];
    const text = textOf(facts({}, { changedIds }));
    const words = text.replaceAll(/\s+/g, ' ');
    expect(words).toContain('another id than before for 1 product: it lost it and created it again');
    expect(words).toContain('or it has it twice. lamp (was 5, now 9). Next');
    expect(linesOf(text)).toContain('storeferry verify nightly-catalog');
  });

  it('counts all ids that changed, of which it knows the first few only', () => {
    const changedIds = Array.from({ length: 20 }, (_, index) => ({
      ...{ key: `lamp-${index}`, knownId: index, answeredId: 100 + index },
    }));
    const text = textOf(facts({}, { changedIds, changedIdCount: 1_234 })).replaceAll(/\s+/g, ' ');
    expect(text).toContain('another id than before for 1,234 products: it lost them');
    expect(text).toContain('lamp-2 (was 2, now 102) and others.');
  });

  it('of a run that failed before it had a plan says only why', () => {
    const failed = facts({ status: 'failed', error: 'catalog.csv does not exist' }, { plan: null });
    const lines = linesOf(textOf(failed));
    expect(lines).toContain('catalog.csv does not exist');
    expect(lines.some((line) => line.startsWith('records'))).toBe(false);
  });

  it.each(RUN_STATUSES)('has words for %s', (status) => {
    expect(textOf(facts({ status }))).toMatch(/^nightly-catalog: \w+/);
    expect(textOf(facts({ status }), { colors: true })).toContain(ESCAPE);
  });
});

describe('the list of runs', () => {
  it('gives each a line with its time, status and what became of the records', () => {
    const runs = [
      aRun({
        totals: facts({}).totals,
        startedAt: NOW - 3 * 3_600_000,
        finishedAt: NOW - 3 * 3_600_000 + 62_000 * 2,
      }),
      aRun({ id: 'p1', kind: 'plan', status: 'planned' }),
    ];
    const [header, first, second] = linesOf(runsText(runs, { ...plain, width: 120 }));
    expect(header).toBe('run job status started duration records');
    expect(first).toContain(
      'k3f9 nightly-catalog done 3 h ago 2 min 4 s 12 applied, 498 unchanged, 3 deleted',
    );
    expect(second).toContain('p1 nightly-catalog (plan) planned 1 min ago');
  });

  it('calls planned what a plan was not to send, and read what an export did not write', () => {
    const { totals } = facts({}, {}, NOTHING_SENT);
    const plan = aRun({ kind: 'plan', status: 'superseded', totals });
    const dead = aRun({ status: 'superseded', totals });
    const failed = { ...totals, new: 0, changed: 0, unchanged: 0, rejected: 0, unsent: 0 };
    const exported = aRun({ kind: 'export', status: 'failed', totals: { ...failed, records: 240 } });
    const text = runsText([plan, dead, exported], { ...plain, width: 120 });
    const [, ofPlan, ofDead, ofExport] = linesOf(text);
    expect(ofPlan).toMatch(/498 unchanged, 1 rejected, 12 planned$/);
    expect(ofDead).toMatch(/498 unchanged, 1 rejected, 12 unsent$/);
    expect(ofExport).toMatch(/240 records read$/);
    const shown = linesOf(textOf(facts({ kind: 'plan', status: 'superseded' }, {}, NOTHING_SENT)));
    expect(shown).toContain('new 10 first: aurora (line 12)');
    expect(shown.some((line) => line.startsWith('unsent'))).toBe(false);
  });

  it('says how to begin when there are none', () => {
    expect(runsText([], plain)).toContain('storeferry run JOB');
  });

  it('shows a single run with its store, time and summary', () => {
    const text = runText(facts({ status: 'running', step: 'apply', finishedAt: null }), view, plain);
    expect(text).toContain('on the store main, http://127.0.0.1:3999');
    expect(text).toContain('2030-01-02T02:59:00.000Z');
    expect(text).toContain('at the step apply');
    expect(text).toContain('nightly-catalog: running for 60 s');
  });
});
