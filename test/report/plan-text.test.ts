import { describe, expect, it } from 'vitest';
import type { Plan } from '../../src/model/plan.ts';
import type { Run } from '../../src/model/run.ts';
import { ALL_APPLIED, aPlan, COUNTS, ESCAPE, facts, textOf as shownText } from './run-facts.ts';

const NOTHING_SENT = { ...ALL_APPLIED, applied: 0, appliedRows: 0, deleted: 0, requests: 0 };

function textOf(
  plan: Partial<Plan> = {},
  {
    run,
    rejectsFile = null,
    ...options
  }: Parameters<typeof shownText>[1] & {
    readonly run?: Partial<Run>;
    readonly rejectsFile?: string | null;
  } = {},
): string {
  const planned = facts({ status: 'planned', ...run }, { plan: aPlan(plan), rejectsFile }, NOTHING_SENT);
  return shownText(planned, options);
}

const linesOf = (text: string) => text.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' '));

describe('a plan for people', () => {
  it('gives counts, with the first examples of each', () => {
    const lines = linesOf(textOf());
    expect(lines).toContain('511 products in 520 rows');
    expect(lines).toContain('new 10 first: aurora (line 12)');
    const contacts = linesOf(textOf({ resource: 'contacts' }));
    expect(contacts).toContain('not sent before 10 first: aurora (line 12)');
    expect(lines).toContain('changed 2 first: lamp (line 3)');
    expect(lines).toContain('unchanged 498');
    expect(lines).toContain('rejected 1 in 2 rows');
    expect(lines).toContain('removed 3 first: old-lamp');
  });

  it('names the rejects file below the reasons, and ends with what to type', () => {
    const lines = linesOf(textOf({}, { rejectsFile: 'x/rejects.csv' }));
    const at = (line: string) => lines.indexOf(line);
    expect(at('Rejects file: x/rejects.csv')).toBeGreaterThan(at('Rejected, and why'));
    expect(at('Next')).toBeGreaterThan(at('Rejects file: x/rejects.csv'));
    expect(lines.at(-2)).toMatch(/^storeferry run /);
  });

  it('gives the fields that change with old and new values, and distinguishes what was not sent from empty', () => {
    const lines = linesOf(textOf());
    expect(lines).toContain('variants.price 2 lamp: 10 → 12');
    expect(lines).toContain('file 1 song: (not sent before) → (empty)');
  });

  it('says of images only what applies, without empty lines between', () => {
    const images = { addresses: 3, broken: [], unknown: [], unchecked: 0 };
    const lines = textOf({ images }).split('\n');
    const at = lines.indexOf('  Images: 3 new addresses checked, no problems.');
    expect(lines[at - 1]).toBe('Images');
    expect(lines[at + 1]).toMatch(/^ {2}Nothing is rejected for this/);
    const pictures = { from: 'photos', to: 'cdn', pictures: 0, uploads: 0, bytes: 0, broken: [] };
    const named = textOf({ pictures }).split('\n');
    const before = named.findIndex((line) => line.startsWith('  Pictures from photos for cdn.'));
    expect(named[before + 1]).toBe('  The records to send name no pictures.');
  });

  it('puts a price that moves too far before what changes, wherever it stands in the file', () => {
    const move = { key: 'cup', what: 'Slate', field: 'variants.price', old: 9, new: 900 };
    const usual = { ...move, key: 'mug', new: 10 };
    const lines = linesOf(textOf({ moves: { prices: [move, usual], stocks: [] } }));
    const at = lines.indexOf('cup (Slate): price 9.00 → 900.00 (×100)');
    expect(lines[at - 1]).toMatch(/^Look at this first/);
    expect(lines[at + 1]).toBe('');
    expect(at).toBeLessThan(lines.indexOf('What changes'));
    expect(textOf({ moves: { prices: [usual], stocks: [] } })).not.toContain('Look at this');
    const many = { moves: { prices: [move, usual], stocks: [] }, priceMoves: 393 };
    expect(textOf(many)).toContain('and 392 more products');
  });

  it('gives every rejection reason with field, column, count and first lines', () => {
    const lines = linesOf(textOf());
    expect(lines).toContain(
      '1 record (2 rows): the price is not a number [variants.price, column "Variant Price"]',
    );
    expect(lines).toContain('line 14 · price-not-a-number');
  });

  it('says how the source was read, and which columns have no place', () => {
    const lines = linesOf(textOf());
    expect(lines).toContain('catalog.csv 520 rows, separated by semicolon, utf-8');
    expect(lines).toContain('Columns not used: Vendor, Tags');
  });

  it('says how many requests and how long they take', () => {
    const pace = { slowest: 5, fastest: 6, runs: 2 };
    expect(textOf({}, { run: { pace } }).replaceAll(/\s+/g, ' ')).toContain(
      'Sending takes 15 requests (12 to write, 3 to delete): 2 s to 4 s, by the last 2 runs to this store.',
    );
    expect(textOf()).toContain('3 to delete).');
  });

  it('says so when there is nothing to send, and then asks for no approval', () => {
    const none = { records: 0, rows: 0 };
    const text = textOf({ counts: { ...COUNTS, new: none, changed: none, deletes: 0 }, shards: [] });
    expect(text).toContain('Nothing would be sent: 498 products are unchanged.');
    expect(text).not.toContain('approve');
  });

  it('says which command sends it', () => {
    expect(linesOf(textOf())).toContain('storeferry approve k3f9');
    expect(linesOf(textOf())).toContain('storeferry run nightly-catalog');
  });

  it('says what stopped it', () => {
    const allowed = { text: '5%', amount: 25 };
    const message = 'maxDeletes: 400 products would be deleted, of 500; the limit is 5%';
    const safety = [
      { limit: 'maxDeletes', exceeded: true, figure: 400, base: 500, allowed, message } as const,
    ];
    const text = textOf({ safety }, { run: { status: 'stopped' } });
    expect(text).toContain('Safety limits: stopped');
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      'maxDeletes exceeded: 400 of 500 products would be deleted; limit: at most 5%',
    );
    expect(linesOf(text)).toContain('storeferry approve k3f9');
  });

  it('names who owns what the job keeps, and what another job sends as well, whatever their number is', () => {
    const shared = { records: 2, kept: false };
    const text = textOf(
      {
        sharedFields: [
          { ...shared, field: 'variants.quantity', jobs: ['stock', 'shelf', 'outlet'], kept: true },
          { ...shared, field: 'variants.weight', jobs: [], kept: true },
          { ...shared, field: 'title', jobs: ['texts'] },
          { ...shared, field: 'hidden', jobs: ['texts', 'season'] },
        ],
      },
      { width: 400 },
    );
    expect(text).toContain(
      'variants.quantity, which the jobs stock, shelf and outlet send (setting Keep of this job)',
    );
    expect(text).toContain(
      'variants.weight, which no job of this workspace sends (setting Keep of this job)',
    );
    expect(text).toContain(
      '2 records of this plan change title, which the job texts sends as well: in the same record each undoes',
    );
    expect(text).toContain('change hidden, which the jobs texts and season send as well');
  });

  it('warns of takeovers, withheld deletes, emptied fields and copies', () => {
    const text = textOf(
      {
        takeovers: [{ job: 'weekly', sent: 1, left: 2, examples: ['a', 'b', 'c'] }],
        counts: { ...COUNTS, deletes: 0 },
        deletesWithheld: 'key-unreadable',
        unreadableKeys: 1,
        deletesWithoutId: 2,
        emptied: [{ field: 'images', records: 1200 }],
        duplicates: {
          policy: 'reject',
          keys: 1,
          copies: 3,
          identical: 0,
          examples: [{ key: 'lamp', file: 0, line: 3 }],
        },
        notices: [{ message: 'quantity below 0 raised to 0', records: 7 }],
      },
      { width: 400 },
    );
    expect(text).toContain('3 products of this source were last sent by the job weekly');
    expect(text).toContain(
      '3 products are no longer in the source, but nothing is deleted: the url of 1 group of rows cannot be read',
    );
    expect(text).toContain('2 removed products cannot be deleted');
    expect(text).toContain('but an update leaves them as they are: images (1,200 products)');
    const contacts = textOf(
      { resource: 'contacts', emptied: [{ field: 'phone', records: 1200 }] },
      { width: 400 },
    );
    expect(contacts).toContain('but the API cannot clear them: phone (1,200 contacts)');
    expect(text).toContain('1 url occurs more than once, 3 copies in all');
    expect(text).toContain('7 records: quantity below 0 raised to 0');
  });

  it('names files where there are several', () => {
    const file = { rows: 1, delimiter: ',', encoding: 'utf-8', blankLines: 1 };
    const source = {
      files: [
        { ...file, name: 'a.csv' },
        { ...file, name: 'b.csv' },
      ],
      columnsNotUsed: [],
      dates: null,
    };
    const text = textOf({ source });
    expect(text).toContain('a.csv:14 · price-not-a-number');
    expect(text).toContain('1 blank line ignored');
  });

  it('is coloured only on request', () => {
    expect(textOf()).not.toContain(ESCAPE);
    expect(textOf({}, { colors: true })).toContain(ESCAPE);
  });

  it('lets no text of the source act on the terminal', () => {
    const evil = 'x\u001b[2Jy\u202ez\n';
    const text = textOf({
      examples: { new: [{ key: evil, file: 0, line: 2 }], changed: [], removed: [] },
      fieldsChanged: [
        { field: `properties.${evil}`, records: 1, samples: [{ key: evil, old: evil, new: evil }] },
      ],
      rejections: [{ code: 'c', message: evil, field: null, column: evil, records: 1, rows: 1, lines: [] }],
      notices: [{ message: evil, records: 1 }],
      source: {
        files: [{ name: evil, rows: 1, delimiter: '\u001b', encoding: 'utf-8', blankLines: 0 }],
        columnsNotUsed: [evil],
        dates: null,
      },
      takeovers: [{ job: 'weekly', sent: 1, left: 0, examples: [evil] }],
      safety: [{ limit: 'maxDeletes', exceeded: true, figure: 1, base: 1, message: evil }],
    });
    expect(text).not.toContain('\u001b');
    expect(text).not.toContain('\u202e');
  });

  it('keeps to the width, but never breaks a command', () => {
    const run = { job: 'a-job-with-a-name-that-is-longer-than-the-terminal-is-wide' };
    const lines = textOf({}, { width: 50, run }).split('\n');
    expect(lines.filter((line) => line.length > 50).every((line) => line.includes('a-job-with'))).toBe(true);
    expect(lines.map((line) => line.trim())).toContain(`storeferry run ${run.job}`);
  });
});
