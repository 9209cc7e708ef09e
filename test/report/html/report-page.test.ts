import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { documentSections, reportFile } from '../../../src/report/html/document-sections.ts';
import { runDocument } from '../../../src/report/run-document.ts';
import { htmlFindings } from '../../support/html-findings.ts';
import { ALL_APPLIED, facts as factsOf, NOW } from '../run-facts.ts';
import { aReason, fullPlan, REPORTS, type Sample, sample } from './report-samples.ts';

const reports = Object.entries(REPORTS);
const NOTHING_SENT = { ...ALL_APPLIED, applied: 0, appliedRows: 0, deleted: 0, requests: 0 };
const VIEW = { now: NOW, program: 'storeferry', version: '1.2.3' };
const fileOf = ({ facts, view }: Sample) => reportFile(runDocument(facts, view));
const named = (name: string): Sample => {
  const report = REPORTS[name];
  if (report === undefined) throw new Error(`there is no sample ${name}`);
  return report();
};

async function pageOf(shown: Sample) {
  const { document } = parseHTML(await fileOf(shown));
  const text = (selector: string) =>
    [...document.querySelectorAll(selector)].map((element) =>
      element.textContent.replaceAll(/\s+/g, ' ').trim(),
    );
  return { document, text, all: text('main').join(' ') };
}

describe('the report page', () => {
  it.each(reports)(
    'of the kind %s is well-formed and fit for the policy of the dashboard',
    async (_, shown) => {
      const { facts, view } = shown();
      const sections = documentSections(runDocument(facts, view));
      const page = `<!doctype html><html lang="en"><head><title>Run</title></head><body><main><h1>Run</h1>${sections}</main></body></html>`;
      expect(htmlFindings(page)).toEqual([]);
    },
  );

  it.each(reports)('of the kind %s is one file that loads and runs nothing', async (_, shown) => {
    const { document } = await pageOf(shown());
    expect(document.querySelectorAll('script, link, img, iframe, object, embed, form, a, base')).toHaveLength(
      0,
    );
    expect(document.querySelectorAll('[src], [href], [style], [srcset]')).toHaveLength(0);
    expect(document.querySelectorAll('style')).toHaveLength(1);
    expect(document.querySelector('style')?.textContent).not.toMatch(/@import|url\(/);
    expect(document.querySelectorAll('h1')).toHaveLength(1);
  });

  it.each(reports)('of the kind %s is the same whenever it is made of the same', async (_, shown) => {
    expect(await fileOf(shown())).toBe(await fileOf(shown()));
  });

  it('says why products are deleted: an undo and a copy have no source', async () => {
    const of = async (run: Parameters<typeof factsOf>[0], tally = ALL_APPLIED) =>
      (await pageOf({ facts: factsOf(run, {}, tally), view: VIEW })).all;
    const plan = async (run: Parameters<typeof factsOf>[0]) =>
      await of({ ...run, kind: 'plan', status: 'planned' }, NOTHING_SENT);
    const gone = 'sent by this job before, and no longer in the source';
    expect(await plan({})).toContain(`${gone}: 3 would be deleted`);
    expect(await of({})).toContain(gone);
    const undo = { of: 'k1' };
    const first = 'first sent by the run that is undone';
    expect(await plan({ undo })).toContain(`${first}: 3 would be deleted`);
    expect(await of({ kind: 'undo', undo })).toContain(first);
    expect(await of({ kind: 'undo', undo })).not.toContain(gone);
    const copy = { of: 'k1', store: 'test', storeId: '//test', at: null };
    expect(await of({ kind: 'copy', copy })).toContain('sent by this job before, and deleted from test');
  });

  it('says whether the file of an export is whole', async () => {
    const { facts, view } = named('orders');
    expect((await pageOf({ facts, view })).all).toContain('3,204 lines, as the whole file');
    const { exported } = facts;
    const none = exported && { ...exported, mode: 'new' as const, lines: 0, bytes: 0 };
    const { all, text } = await pageOf({ facts: { ...facts, exported: none }, view });
    expect(all).toContain('0 lines, because nothing is new or changed');
    expect(text('.headline')).toEqual(['3,204 orders read, 0 lines in the file.']);
    expect(all).not.toContain(exported?.location);
    const table = exported && { ...exported, mode: 'append' as const, isTable: true as const };
    const headlineOf = async (begun?: true) =>
      (
        await pageOf({ facts: { ...facts, exported: table && { ...table, ...(begun && { begun }) } }, view })
      ).text('.headline');
    expect(await headlineOf()).toEqual(['3,204 orders exported, 3,204 rows added or updated in the table.']);
    expect(await headlineOf(true)).toEqual(['3,204 orders exported, 3,204 rows in the table.']);
  });

  it('says who approved a plan: nobody has one of a release', async () => {
    const terms = async (run: Parameters<typeof factsOf>[0]) =>
      (await pageOf({ facts: factsOf({ approved: true, ...run }), view: VIEW })).all;
    expect(await terms({})).toContain('by a person');
    expect(await terms({ kind: 'release', release: { of: 'k1' } })).not.toContain('by a person');
  });

  it.each([
    ['plan', '10 products would be created, 2 updated and 3 deleted.'],
    ['plan-of-nothing', 'Nothing would be sent: all 511 products are unchanged.'],
    ['stopped', 'Stopped before the first request: 52 of 100 products would be deleted; the limit is 5%.'],
    [
      'stopped-while-applying',
      'Stopped after 131 requests: 80 of 511 records are rejected; the limit is 10%.',
    ],
    ['done', 'Done: 12 products were sent (10 new and 2 updated) and 3 deleted.'],
    ['done-with-rejects', 'Done, except for 3 of 511 products that were rejected.'],
    ['failed', 'Failed: 9 of 511 products are not sent.'],
    ['failed-early', 'Failed before anything was sent.'],
    ['interrupted', 'Interrupted: 7 of 511 products are not sent.'],
    ['running', 'Running: 7 of 511 products are still to be sent.'],
    ['nothing', 'Nothing to do: all 511 products are unchanged.'],
    [
      'unchanged',
      'Nothing to do: all 511 products are unchanged. The source has not changed since run j2e8 read it.',
    ],
    ['contacts', '9,920 contacts would be updated.'],
    ['retry', 'Done: 2 products were sent.'],
    ['lists', '3 lists exported, 3 lines added to the file.'],
    ['orders', '3,204 orders exported, 3,204 lines in the file.'],
    ['export-failed', 'Failed: the file was not written.'],
  ])('of the kind %s says first: %s', async (name, sentence) => {
    const { text } = await pageOf(named(name));
    expect(text('.headline')).toEqual([sentence]);
  });

  it.each([
    [{}, true],
    [{ applied: 0, unchanged: 0 }, false],
  ])('says of other records that they are up to date only where there are some', async (totals, isSaid) => {
    const { facts, view } = named('done-with-rejects');
    const { all } = await pageOf({ facts: { ...facts, totals: { ...facts.totals, ...totals } }, view });
    expect(all.includes('All other records are up to date.')).toBe(isSaid);
  });

  it('says when an export read the store in the time zone of the others', async () => {
    const { facts, view } = named('lists');
    const { text } = await pageOf({ facts, view: { ...view, timezone: 'Asia/Tokyo' } });
    expect(text('#export')[0]).not.toContain('UTC');
  });

  it.each(reports)('of the kind %s accounts for every record and row', async (_, shown) => {
    const { totals } = shown().facts;
    const { document } = await pageOf(shown());
    const rows = [...document.querySelectorAll('#records tbody tr')].map((row) =>
      [...row.querySelectorAll('.num')].map((cell) => Number(cell.textContent.replaceAll(',', ''))),
    );
    const sum = (column: number) => rows.reduce((whole, row) => whole + (row[column] ?? 0), 0);
    expect([sum(0), sum(2)]).toEqual([totals.records, totals.rows]);
  });

  it('shows the command to type by itself, and nothing to type where nothing is left to do', async () => {
    expect((await pageOf(named('plan'))).text('pre.command code')).toEqual([
      'storeferry -C shop approve k3f9',
      'storeferry -C shop run nightly-catalog',
    ]);
    const rejects = await pageOf(named('done-with-rejects'));
    expect(rejects.text('pre.command code')).toEqual([
      'storeferry -C shop retry k3f9',
      'storeferry -C shop verify nightly-catalog',
    ]);
    expect(rejects.text('#next')[0]).toContain('.storeferry/artifacts/k3f9/rejects.csv');
    expect(rejects.text('#rejected')[0]).not.toContain('rejects.csv');
    expect((await pageOf(named('done'))).document.querySelector('#next')).toBeNull();
  });

  it('puts a price a hundred times as high before everything else', async () => {
    const { text } = await pageOf(named('plan'));
    expect(text('.look-first li')[0]).toBe('lamp-aurora (Large / Brass): price 10.00 → 1,000.00 (×100)');
    expect(text('#prices tbody tr')[0]).toContain('×100, unusual');
    expect(text('#prices tbody tr').at(-1)).not.toContain('unusual');
    const calm = fullPlan({ moves: { prices: fullPlan().moves.prices.slice(3), stocks: [] } });
    const page = await pageOf(sample({ kind: 'plan', status: 'planned' }, { plan: calm }));
    expect(page.text('.look-first')).toEqual([]);
  });

  it('names the limits that stopped the run first, in words and not by colour alone', async () => {
    const rows = (await pageOf(named('stopped'))).text('#safety tbody tr');
    expect(rows.map((row) => /exceeded|not met|within/.exec(row)?.[0])).toEqual([
      'exceeded',
      'not met',
      'within',
    ]);
    const byStore = (await pageOf(named('stopped-while-applying'))).text('#safety tbody tr');
    expect(byStore[0]).toMatch(/^Rejected records maxRejects ?exceeded ?80 of 511 records are rejected/);
  });

  it('claims no limit that the plan of an earlier version did not keep', async () => {
    const safety = fullPlan().safety.map(({ allowed: _, ...verdict }) => verdict);
    const plan = fullPlan({ safety });
    const { text } = await pageOf(sample({ kind: 'plan', status: 'planned' }, { plan }));
    expect(text('#safety tbody tr td:last-child').join(' ')).not.toContain('not empty');
  });

  it('says of rejections why, how many, and where', async () => {
    const { text } = await pageOf(named('done-with-rejects'));
    const [byMapping, byStore] = text('#rejected tbody tr');
    expect(byMapping).toContain('The price is not a number');
    expect(byMapping).toContain('1 record (2 rows)');
    expect(byMapping).toContain('Line 14');
    expect(byMapping).toContain('variants.price, column "Variant Price"');
    expect(byStore).toContain('Lines 7 and 40');
  });

  it('draws requests over time only where there is a course to see', async () => {
    const { document, text } = await pageOf(named('failed'));
    expect(text('#traffic figcaption')).toEqual([
      'Requests per second',
      'Latency, in seconds',
      'Concurrent requests allowed by the limiter',
    ]);
    for (const plot of document.querySelectorAll('#traffic svg.plot')) {
      expect(plot.getAttribute('role')).toBe('img');
      expect(plot.getAttribute('aria-label')).not.toBe('');
    }
    expect((await pageOf(named('done-with-rejects'))).document.querySelector('#traffic')).toBeNull();
  });

  it('shows lists with what they have gained since the reading before', async () => {
    const { text, document } = await pageOf(named('lists'));
    expect(text('#lists tbody tr')[0]).toMatch(/^Newsletter ?4,557 ?\+18 \(\+0\.4%\)/);
    expect(document.querySelectorAll('#lists svg.plot')).toHaveLength(3);
  });

  it('names the rejects file for further reasons only where it has their rows', async () => {
    const many = Array.from({ length: 30 }, (_, index) => aReason({ code: `reason-${index}` }));
    const unsentReasons = many.map(({ code, message }) => ({ reason: { code, message }, count: 1 }));
    const { text } = await pageOf(
      sample(
        { status: 'done-with-rejects' },
        { plan: fullPlan({ skips: many }), refusals: many, unsentReasons, rejectsFile: 'rejects.csv' },
      ),
    );
    const more = (id: string) =>
      text(`#${id}`)
        .join(' ')
        .match(/and 5 more reasons[^–]*/i)?.[0];
    expect(more('rejected')).toContain('the rejects file names the reason of every row');
    for (const id of ['skipped', 'unsent']) {
      expect(more(id)).toBeDefined();
      expect(more(id)).not.toContain('rejects file');
    }
  });

  it('stays under 500 KB however much went wrong, and says how much it leaves out', async () => {
    const long = 'a reason of two hundred characters and more, '.repeat(30);
    const many = Array.from({ length: 3_000 }, (_, index) =>
      aReason({ code: `reason-${index}`, message: long, column: long, records: 40, rows: 40 }),
    );
    const samples = Array.from({ length: 3 }, () => ({ key: long, old: long, new: long }));
    const move = { key: long, what: long, field: 'variants.price', old: 1, new: 1_000 };
    const plan = fullPlan({
      rejections: many,
      skips: many,
      notices: many.map(({ message }) => ({ message, records: 40 })),
      fieldsChanged: many.map(({ code }) => ({ field: code, records: 4, samples })),
      moves: {
        prices: Array.from({ length: 20 }, () => move),
        stocks: Array.from({ length: 20 }, () => move),
      },
      source: {
        files: many.map(({ code }) => ({
          name: code,
          rows: 40,
          delimiter: ',',
          encoding: 'utf-8',
          blankLines: 1,
        })),
        columnsNotUsed: many.map(({ message }) => message),
        dates: null,
      },
    });
    const traffic = {
      samples: Array.from({ length: 300 }, (_, index) => ({
        at: index * 1_000,
        ms: 1_000,
        requests: 1 + ((index * 7_919) % 97),
        failed: index % 5,
        retries: index % 3,
        p50: 100.25 + index,
        p95: 900.75 + index * 3,
        concurrency: 1 + (index % 16),
        pausedMs: (index % 2) * 333,
      })),
    };
    const text = await fileOf(
      sample({ status: 'done-with-rejects' }, { plan, refusals: many, traffic, rejectsFile: 'rejects.csv' }),
    );
    expect(Buffer.byteLength(text)).toBeLessThan(500_000);
    expect(text).toContain('And 2,975 more reasons');
    expect(text).toContain('And 2,975 more fields');
    expect(text).toContain('And 2,980 more files');
  });
});
