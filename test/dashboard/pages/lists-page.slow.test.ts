import { describe, expect, it } from 'vitest';
import { cellsOf, setupPages, textOf } from './setup.ts';

const NOW = Date.UTC(2030, 0, 15, 12);
const STORES = `main:\n  baseUrl: https://shop.example\n  apiKey: \${STORE_API_KEY}\n`;
const STATS = 'export: subscriber-lists\nstore: main\ndestination: { path: lists.csv, mode: append }\n';
const HEADER = 'id,name,created,created_date,subscribers,opens,clicks,read_at';
const options = { env: { STORE_API_KEY: 'key' }, now: () => NOW };

const line = (id: number, name: string, day: number, subscribers: number) =>
  `${id},"${name.replaceAll('"', '""')}",1,2020-01-01,${subscribers},0.4,0.05,2030-01-${String(day).padStart(2, '0')}T06:00:00.000Z`;

const scene = (lines: readonly string[] | null, job = STATS) =>
  setupPages(
    {
      'stores.yaml': STORES,
      'jobs/stats.yaml': job,
      ...(lines === null ? {} : { 'lists.csv': `${[HEADER, ...lines].join('\n')}\n` }),
    },
    options,
  );

describe('the page of lists', () => {
  it('shows where each list stands and how it has moved, the largest first', async () => {
    await using pages = await scene([
      line(1, 'News', 13, 100),
      line(2, 'Trade', 13, 900),
      line(1, 'News', 14, 110),
      line(2, 'Trade', 14, 880),
    ]);
    const { document } = await pages.get('/lists/stats');
    const rows = [...document.querySelectorAll('tbody tr')].map(cellsOf);
    expect(rows[0]).toMatch(/^Trade 2 \| 880 \| −20 \(−2\.2%\) \| 40\.0%/);
    expect(rows[1]).toMatch(/^News 1 \| 110 \| \+10 \(\+10\.0%\) \| 40\.0%/);
    expect([...document.querySelectorAll('[id^="list-"] > h2')].map(textOf)).toEqual([
      'Trade id 2',
      'News id 1',
    ]);
    expect(textOf(document.querySelector('main'))).toContain('2 lists, 2 readings');
  });

  it('says which lists are gone, and what others were called', async () => {
    await using pages = await scene([
      line(1, 'News', 12, 100),
      line(2, 'Old', 12, 5),
      line(1, 'Letters', 13, 100),
      line(1, 'Letters', 14, 100),
      line(2, 'Old', 13, 5),
    ]);
    const sections = [
      ...(await pages.get('/lists/stats')).document.querySelectorAll('section[id^="list-"]'),
    ].map(textOf);
    expect(sections[0]).toContain('Formerly News');
    expect(sections[1]).toContain('The store no longer has this list; it was last read 2 d ago.');
  });

  it('runs nothing that stands in the name of a list', async () => {
    const hostile = [
      '"><img src=x onerror=alert(1)>',
      '<script>alert(1)</script>',
      "' onmouseover='alert(1)",
    ];
    const lines = hostile.flatMap((name, index) => [line(index, name, 13, 10), line(index, name, 14, 12)]);
    await using pages = await scene(lines);
    const { document } = await pages.get('/lists/stats');
    expect(document.querySelector('main script, main img')).toBeNull();
    expect([...document.querySelectorAll('[id^="list-"] > h2')].map(textOf).join()).toContain(hostile[0]);
  });

  it('turns the pages of many lists, and lists all of them in its table', async () => {
    const lines = Array.from({ length: 23 }, (_, id) => [
      line(id, `List ${id}`, 13, id),
      line(id, `List ${id}`, 14, id),
    ]).flat();
    await using pages = await scene(lines);
    const { document } = await pages.get('/lists/stats?page=3');
    expect(document.querySelectorAll('tbody tr')).toHaveLength(23);
    expect(document.querySelectorAll('section[id^="list-"]')).toHaveLength(3);
    expect(document.querySelector('[rel="prev"]')?.getAttribute('href')).toBe('/lists/stats?page=2');
  });

  it('says what one reading is good for, and how to take the first one', async () => {
    await using once = await scene([line(1, 'News', 14, 100)]);
    expect(textOf((await once.get('/lists/stats')).document.querySelector('main'))).toContain(
      'One reading shows no change yet',
    );
    await using empty = await scene([]);
    expect(textOf((await empty.get('/lists/stats')).document.querySelector('.empty'))).toContain(
      'Run it now.',
    );
    await using never = await scene(null);
    const { status, document } = await never.get('/lists/stats');
    expect(status).toBe(200);
    expect(textOf(document.querySelector('.empty'))).toContain('lists.csv does not exist');
  });

  it('leads to the one job that watches lists, shows several, and says how to have one', async () => {
    await using one = await scene([]);
    const answer = await one.app.inject('/lists');
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/lists/stats']);
    await one.workspace.write('jobs/other.yaml', STATS.replace('lists.csv', 'other.csv'));
    const several = await one.get('/lists');
    expect([...several.document.querySelectorAll('h2 a')].map(textOf)).toEqual(['other', 'stats']);
    await using none = await scene(null, STATS.replace('mode: append', 'mode: replace'));
    expect(textOf((await none.get('/lists')).document.querySelector('.empty'))).toContain(
      'Collect list statistics',
    );
    const { status, document } = await none.get('/lists/stats');
    expect(status).toBe(404);
    expect(textOf(document.querySelector('h1'))).toBe('stats collects no list statistics');
  });

  it('says which line of the file is in the way', async () => {
    await using pages = await scene([line(1, 'News', 13, 100), '1,"half']);
    expect(textOf((await pages.get('/lists/stats')).document.querySelector('main'))).toMatch(
      /The history cannot be read ?lists\.csv:3:3: The history cannot be read/,
    );
  });
});
