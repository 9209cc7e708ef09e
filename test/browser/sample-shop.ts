import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Papa from 'papaparse';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { brokenCatalog, catalogOfDay } from './sample-catalogs.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDER = 'my-shop';
const KEY = 'sample-key';
const DAY_MS = 86_400_000;
/** The time of day at which the schedule starts the catalog job. */
const NIGHTLY_MS = 2.25 * 3_600_000;
const CATALOG = 'jobs/samples/catalog.csv';
const HISTORY = 'exports/list-statistics.csv';
const READINGS = 30;
const COPIED = [
  ...['stores.yaml', 'jobs/nightly-catalog.yaml', 'jobs/bulk-contacts.yaml', 'jobs/list-statistics.yaml'],
  ...['jobs/samples/crm-export.csv', 'jobs/samples/contact-ids.csv'],
];

/** The sample jobs in a workspace with a past, seen from the folder above it: `storeferry -C my-shop`. */
export interface SampleShop extends AsyncDisposable {
  readonly workspace: Workspace;
  /** The runs of the catalog, the oldest first: the second was done with rejects, the last was stopped by its limits. */
  readonly catalogRuns: readonly string[];
  readonly contacts: string;
  readonly lists: string;
  /** The path of a file of a run. */
  artifact(run: string, name: string): string;
}

/** Runs the sample jobs against a sandbox, the catalog of so many days: three at least. */
export async function sampleShop(days: number): Promise<SampleShop> {
  const sandbox = await startSandbox({ port: 0, apiKey: KEY });
  const whole = await makeWorkspace({}, {}, ['sh', '-c', 'cd "$HOME" && exec "$@"', 'sh']);
  const dir = join(whole.dir, FOLDER);
  const start: Workspace['start'] = (...args) => whole.start('-C', FOLDER, ...args);
  const write: Workspace['write'] = (name, content) => whole.write(join(FOLDER, name), content);
  const workspace = { ...whole, dir, start, write, storeferry: (...args: string[]) => start(...args).ended };
  const run = async (job: string) => String((await workspace.storeferry('run', job, '--json')).json()['run']);

  for (const name of COPIED) await write(name, await shipped(name));
  // As shipped, but for the sandbox: 50 requests a second would be seconds of waiting.
  await write(
    'stores.yaml',
    (await shipped('stores.yaml')).replace('requestsPerSecond: 50', 'requestsPerSecond: 500'),
  );
  await write('.env', `STORE_URL=${sandbox.url}\nSTORE_API_KEY=${KEY}\n`);
  await write(
    'jobs/nightly-catalog.yaml',
    (await shipped('jobs/nightly-catalog.yaml')).replace('upsert', 'mirror'),
  );
  const second = await shipped('jobs/samples/catalog-second-night.csv');
  const corrected = second.replace(',tbc,', ',21.00,');
  const between = Array.from({ length: days - 3 }, (_, index) => catalogOfDay(corrected, index));
  const ran: string[] = [];
  for (const catalog of [await shipped(CATALOG), second, ...between, brokenCatalog(corrected)]) {
    await write(CATALOG, catalog);
    ran.push(await run('nightly-catalog'));
  }
  await makePast(dir, ran);
  const contacts = await run('bulk-contacts');
  const lists = await run('list-statistics');
  await write(HISTORY, earlierReadings(await readFile(join(dir, HISTORY), 'utf8')));
  return {
    ...{ workspace, catalogRuns: ran, contacts, lists },
    artifact: (id, name) => join(dir, '.storeferry', 'artifacts', id, name),
    async [Symbol.asyncDispose]() {
      await whole[Symbol.asyncDispose]();
      await sandbox.close();
    },
  };
}

async function shipped(name: string): Promise<string> {
  return await readFile(join(ROOT, name), 'utf8');
}

/** Puts runs of this minute into the days before: one each day. */
async function makePast(dir: string, runs: readonly string[]): Promise<void> {
  await using state = await openSqliteState(join(dir, '.storeferry'));
  const today = Math.floor((Date.now() - NIGHTLY_MS) / DAY_MS) * DAY_MS + NIGHTLY_MS;
  for (const [index, id] of runs.entries()) {
    const { startedAt = 0, finishedAt = null } = (await state.runs.get(id)) ?? {};
    const began = today - (runs.length - 1 - index) * DAY_MS;
    const finished = finishedAt === null ? null : began + finishedAt - startedAt;
    await state.runs.update(id, { startedAt: began, finishedAt: finished });
  }
}

/** A history of one reading, as if lists had been read on the days before too: some grow, others wither. */
function earlierReadings(history: string): string {
  const { data, meta } = Papa.parse<Record<string, string>>(history.trimEnd(), { header: true });
  const readings = Array.from({ length: READINGS }, (_, index) => READINGS - 1 - index).flatMap((daysAgo) =>
    data.map((reading, list) => {
      const swing = Math.sin(daysAgo * 1.7 + list) * 0.02;
      const scaled = (name: string, by: number) => Number(reading[name]) * (daysAgo === 0 ? 1 : by);
      return {
        ...reading,
        subscribers: Math.round(scaled('subscribers', 1 - (list % 3 === 1 ? -0.004 : 0.006) * daysAgo)),
        opens: scaled('opens', 1 + swing + 0.002 * daysAgo).toFixed(4),
        clicks: scaled('clicks', 1 - swing).toFixed(4),
        read_at: new Date(Date.parse(reading['read_at'] ?? '') - daysAgo * DAY_MS).toISOString(),
      };
    }),
  );
  return `${Papa.unparse({ fields: meta.fields ?? [], data: readings }, { newline: '\n' })}\n`;
}
