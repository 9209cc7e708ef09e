import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REJECTS_FILE } from '../../report/rejects/rejects-index.ts';

const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url));
const MIRRORED_JOB = 'jobs/nightly-catalog.yaml';
const CATALOG = 'jobs/samples/catalog.csv';
const COPIED = [
  ...['stores.yaml', 'jobs/bulk-contacts.yaml', 'jobs/list-statistics.yaml'],
  ...[CATALOG, 'jobs/samples/crm-export.csv', 'jobs/samples/contact-ids.csv'],
];

const FOLDER = 'storeferry-demo-';

/** Removes what demos of this user have left, except those under way. */
export async function removeEarlierDemos(): Promise<void> {
  const names = await readdir(tmpdir());
  for (const name of names.filter((one) => one.startsWith(FOLDER))) {
    const dir = join(tmpdir(), name);
    const found = await lstat(dir).catch(() => null);
    const isOurs = found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
    const pid = /^(\d+)-/.exec(name.slice(FOLDER.length))?.[1];
    if (isOurs && pid !== undefined && !isAlive(Number(pid))) {
      await rm(dir, { recursive: true, force: true }).catch(() => {});
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** A temporary workspace with the sample jobs, for a store at this address. Gives its folder. */
export async function makeDemoWorkspace(store: {
  readonly url: string;
  readonly apiKey: string;
}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), `${FOLDER}${process.pid}-`));
  await mkdir(join(dir, 'jobs', 'samples'), { recursive: true });
  await Promise.all(COPIED.map((file) => cp(join(PACKAGE, file), join(dir, file))));
  const job = await readFile(join(PACKAGE, MIRRORED_JOB), 'utf8');
  await writeFile(join(dir, MIRRORED_JOB), job.replace('mode: upsert', 'mode: mirror'));
  await writeFile(join(dir, '.env'), `STORE_URL=${store.url}\nSTORE_API_KEY=${store.apiKey}\n`);
  return dir;
}

/** The catalog as it is a night later. */
export async function bringSecondNight(dir: string): Promise<void> {
  await cp(join(PACKAGE, 'jobs', 'samples', 'catalog-second-night.csv'), join(dir, CATALOG));
}

/** A rejects file, with the run it belongs to. */
export interface FoundRejects {
  readonly run: string;
  readonly path: string;
  readonly text: string;
}

/** The rejects file of the last run that has one. */
export async function latestRejects(dir: string): Promise<FoundRejects> {
  const folder = join(dir, '.storeferry', 'artifacts');
  const found = await Promise.all(
    (await readdir(folder)).map(async (run) => {
      const path = join(folder, run, REJECTS_FILE);
      const written = await stat(path).catch(() => null);
      return written === null ? [] : [{ run, path, at: written.mtimeMs }];
    }),
  );
  const latest = found.flat().sort((a, b) => b.at - a.at)[0];
  if (latest === undefined) throw new Error('The demo expected a rejects file.');
  return { ...latest, text: await readFile(latest.path, 'utf8') };
}
