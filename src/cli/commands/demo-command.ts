import { spawn } from 'node:child_process';
import { cp, lstat, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pc from 'picocolors';
import { REJECTS_FILE } from '../../rejects/rejects-file.ts';
import { startSandbox } from '../../sandbox/start-sandbox.ts';
import { isAlive, makeTemporaryFolder } from '../../state/file-access.ts';
import { defineCommand } from '../define-command.ts';
import { MAIN, PACKAGE_DIR } from '../package-version.ts';
import type { Terminal } from '../terminal.ts';
import { TYPED_IN_VARIABLE } from '../typed-program.ts';

const API_KEY = 'demo-key';
const CATALOG = 'nightly-catalog';
const CONTACTS = 'bulk-contacts';
const LISTS = 'list-statistics';

/** A command of the demo. An unexpected exit code makes the demo fail. */
interface DemoStep {
  readonly title: string;
  readonly command: readonly string[];
  readonly exitCode: number;
  /** What to do before the command. */
  readonly prepare?: () => Promise<void>;
}

/** `storeferry demo`: runs the sample jobs against a sandbox, with the commands that a user would type. */
export const demoCommand = defineCommand({
  arguments: {},
  options: {},
  examples: ['demo'],
  async run({ terminal }) {
    const colors = pc.createColors(terminal.colors);
    await removeEarlierDemos();
    const store = await startSandbox({ port: 0, apiKey: API_KEY });
    const dir = await makeDemoWorkspace({ url: store.url, apiKey: API_KEY });
    const runStep = async ({ title, command, exitCode, prepare }: DemoStep) => {
      await prepare?.();
      terminal.out(`\n${colors.bold(title)}\n${colors.dim(`$ storeferry ${command.join(' ')}`)}\n`);
      const code = await storeferry(dir, command);
      if (code !== exitCode) throw new Error(`The demo expected exit code ${exitCode} and got ${code}.`);
    };
    try {
      for (const step of catalogSteps(dir)) await runStep(step);
      await runStep(await correctedRejects(dir, terminal));
      for (const step of contactSteps()) await runStep(step);
      await runStep({ title: 'All runs of this demo.', command: ['runs'], exitCode: 0 });
      terminal.out(`\n${colors.bold('That was the demo.')} Your own import: storeferry init my-shop\n`);
      terminal.out(`Its files stay in ${dir} until the next demo.\n`);
      return 0;
    } finally {
      await store.close();
    }
  },
});

function catalogSteps(dir: string): DemoStep[] {
  return [
    { title: 'Are the files of the workspace valid?', command: ['check'], exitCode: 0 },
    { title: 'What would the first run do?', command: ['plan', CATALOG], exitCode: 0 },
    { title: 'The first run.', command: ['run', CATALOG], exitCode: 0 },
    {
      title: 'The next day: a few products changed, one is gone, one has an error.',
      command: ['run', CATALOG],
      exitCode: 3,
      prepare: () => copyNextCatalog(dir),
    },
    {
      title: 'The same file again: nothing has changed, so nothing is sent.',
      command: ['run', CATALOG],
      exitCode: 3,
    },
  ];
}

/** Shows the rejects file, corrects it and sends it again. */
async function correctedRejects(dir: string, terminal: Terminal): Promise<DemoStep> {
  const { run, path, text } = await latestRejects(dir);
  const colors = pc.createColors(terminal.colors);
  terminal.out(`\n${colors.bold('The rejects file, to correct in a spreadsheet (shortened):')}\n`);
  for (const line of text.replace('\uFEFF', '').trimEnd().split('\n'))
    terminal.out(`  ${shortenMiddle(line, terminal.width - 2)}\n`);
  return {
    title: `The price 'tbc' is corrected to 23.50, and the file is sent.`,
    command: ['retry', run],
    exitCode: 0,
    prepare: () => writeFile(path, text.replace(',tbc,', ',23.50,')),
  };
}

function contactSteps(): DemoStep[] {
  return [
    { title: 'Export the statistics of the subscriber lists.', command: ['run', LISTS], exitCode: 0 },
    {
      title: 'Import contacts from a CRM: 300 get their ids by e-mail, ten are not known to the store.',
      command: ['run', CONTACTS],
      exitCode: 3,
    },
    {
      title: 'Export the statistics again, as a schedule would every morning.',
      command: ['run', LISTS],
      exitCode: 0,
    },
    { title: 'How did the lists change?', command: ['stats', LISTS], exitCode: 0 },
  ];
}

/** Runs a command in the workspace of the demo; its output goes directly to the terminal. */
function storeferry(dir: string, command: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    // In the folder instead of with -C, and not as an npm script, so that the printed commands match the titles.
    const { npm_lifecycle_event: _, ...env } = process.env;
    const child = spawn(process.execPath, [MAIN, ...command], {
      cwd: dir,
      env: { ...env, [TYPED_IN_VARIABLE]: process.cwd() },
      stdio: 'inherit',
    });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/** The start and the end of a long line: the keys are at the start, the reasons at the end. */
function shortenMiddle(line: string, width: number) {
  const half = Math.floor((width - 3) / 2);
  return line.length <= width ? line : `${line.slice(0, half)} … ${line.slice(-half)}`;
}

const MIRRORED_JOB = 'jobs/nightly-catalog.yaml';
const CATALOG_FILE = 'jobs/samples/catalog.csv';
const COPIED = [
  'stores.yaml',
  'jobs/bulk-contacts.yaml',
  'jobs/list-statistics.yaml',
  CATALOG_FILE,
  'jobs/samples/crm-export.csv',
  'jobs/samples/contact-ids.csv',
];

const FOLDER = 'storeferry-demo-';

/** Removes the folders of earlier demos of this user, except those of running ones. */
async function removeEarlierDemos() {
  const names = await readdir(tmpdir());
  for (const name of names.filter((one) => one.startsWith(FOLDER))) {
    const dir = join(tmpdir(), name);
    const found = await lstat(dir).catch(() => null);
    const isOurs = found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
    const pid = /^(\d+)-/.exec(name.slice(FOLDER.length))?.[1];
    if (isOurs && pid !== undefined && !isAlive(Number(pid)))
      await rm(dir, { recursive: true, force: true }).catch(() => {});
  }
}

/** Creates a temporary workspace with the sample jobs for a store at this address, and returns its folder. */
async function makeDemoWorkspace(store: { readonly url: string; readonly apiKey: string }) {
  const dir = await makeTemporaryFolder(`${FOLDER}${process.pid}-`);
  await mkdir(join(dir, 'jobs', 'samples'), { recursive: true });
  await Promise.all(COPIED.map((file) => cp(join(PACKAGE_DIR, file), join(dir, file))));
  const job = await readFile(join(PACKAGE_DIR, MIRRORED_JOB), 'utf8');
  await writeFile(join(dir, MIRRORED_JOB), job.replace('mode: upsert', 'mode: mirror'));
  const env = `STORE_URL=${store.url}\nSTORE_API_KEY=${store.apiKey}\n`;
  await writeFile(join(dir, '.env'), env, { mode: 0o600 });
  return dir;
}

/** The catalog one day later. */
async function copyNextCatalog(dir: string) {
  await cp(join(PACKAGE_DIR, 'jobs', 'samples', 'catalog-second-night.csv'), join(dir, CATALOG_FILE));
}

/** A rejects file and its run. */
interface FoundRejects {
  readonly run: string;
  readonly path: string;
  readonly text: string;
}

/** The rejects file of the last run that has one. */
async function latestRejects(dir: string): Promise<FoundRejects> {
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
