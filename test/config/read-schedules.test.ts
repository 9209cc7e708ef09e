import { rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nextTick } from '../../src/config/job/job.ts';
import { readSchedules, readWorkspace, schedulesVersion } from '../../src/config/workspace.ts';
import { makeWorkspace } from '../support/workspace.ts';

const JOB = 'import: products\nstore: main\nsource: { path: a.csv }\nmapping: shopify-products\n';
const STORES = `main: { baseUrl: "http://127.0.0.1:1", apiKey: "\${API_KEY}" }\n`;

describe('the schedules of a workspace', () => {
  it('distinguish jobs with a schedule, without one, and unusable ones', async () => {
    await using workspace = await makeWorkspace({
      'stores.yaml': STORES,
      'jobs/nightly.yaml': `${JOB}schedule: { cron: "15 2 * * *", timezone: Europe/London }\n`,
      'jobs/manual.yaml': JOB,
      'jobs/broken.yaml': `${JOB}schedule: { cron: "15 25 * * *" }\n`,
      'jobs/unset.yaml': `${JOB}schedule: { cron: "0 3 * * *" }\nnotify: { url: "\${NOT_SET}" }\n`,
      'jobs/lists.yaml':
        'export: subscriber-lists\nstore: main\ndestination: { path: a.csv }\nschedule: { cron: "0 6 * * *" }\n',
    });
    const { scheduled, unscheduled, broken } = readSchedules(readWorkspace(workspace.dir, { API_KEY: 'k' }));
    expect(scheduled).toEqual([
      { job: 'lists', cron: '0 6 * * *', timezone: 'UTC' },
      { job: 'nightly', cron: '15 2 * * *', timezone: 'Europe/London' },
    ]);
    expect(unscheduled).toEqual(['manual']);
    expect(broken).toEqual([
      { job: 'broken', problem: expect.stringContaining('jobs/broken.yaml:5') },
      { job: 'unset', problem: expect.stringContaining('NOT_SET') },
    ]);
  });

  it('have another version when a file is changed, added or gone, and only then', async () => {
    await using workspace = await makeWorkspace({ 'stores.yaml': STORES, 'jobs/nightly.yaml': JOB });
    const path = join(workspace.dir, 'jobs', 'nightly.yaml');
    const versions = [await schedulesVersion(workspace.dir)];
    expect(await schedulesVersion(workspace.dir)).toBe(versions[0]);
    const changes = [
      () => writeFile(path, `${JOB}mode: mirror\n`),
      () => utimes(path, 1, 1),
      () => workspace.write('jobs/other.yaml', JOB),
      () => workspace.write('.env', 'API_KEY=k\n'),
      () => rm(path),
    ];
    for (const change of changes) {
      await change();
      versions.push(await schedulesVersion(workspace.dir));
    }
    expect(new Set(versions).size).toBe(1 + changes.length);
  });
});

describe('the next tick', () => {
  const ticks = (cron: string, timezone: string, from: string) => {
    const first = nextTick({ cron, timezone }, Date.parse(from));
    const second = nextTick({ cron, timezone }, first);
    return [first, second].map((moment) => new Date(moment).toISOString());
  };

  it('goes by the clock of its time zone', () => {
    expect(ticks('0 9 * * 1', 'Asia/Tokyo', '2026-01-05T00:00:00Z')).toEqual([
      '2026-01-12T00:00:00.000Z',
      '2026-01-19T00:00:00.000Z',
    ]);
  });

  it('comes an hour later where its time is left out, and once where it comes twice', () => {
    expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z')).toEqual([
      '2026-03-29T01:30:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z')).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
  });

  it('comes also on the day whose midnight the clocks leave out', () => {
    expect(ticks('0 0 * * *', 'Africa/Cairo', '2027-04-29T12:00:00Z')).toEqual([
      '2027-04-29T22:00:00.000Z',
      '2027-04-30T21:00:00.000Z',
    ]);
    expect(ticks('15 0 * * 0', 'America/Santiago', '2026-09-02T12:00:00Z')).toEqual([
      '2026-09-06T04:15:00.000Z',
      '2026-09-13T03:15:00.000Z',
    ]);
    expect(ticks('15 23 * * *', 'America/Nuuk', '2027-03-27T12:00:00Z')).toEqual([
      '2027-03-28T01:15:00.000Z',
      '2027-03-29T00:15:00.000Z',
    ]);
  });
});
