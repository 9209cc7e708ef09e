import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pc from 'picocolors';
import { REJECTS_FILE } from '../report/rejects-index.ts';
import { startSandbox } from '../sandbox/start-sandbox.ts';
import type { Invocation } from './invocation.ts';

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = process.argv[1] ?? '';
const API_KEY = 'demo-key';
const JOB = 'nightly-catalog';

/** What the demo must find at the end of each command, or it has not shown what it says. */
interface Act {
  readonly title: string;
  readonly command: readonly string[];
  readonly exitCode: number;
  /** Done before the command. */
  readonly prepare?: () => Promise<void>;
}

/** Runs two nights of the sample catalog against a sandbox, typing the commands a user would type. */
export async function demo({ terminal }: Invocation): Promise<number> {
  const colors = pc.createColors(terminal.colors);
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-demo-'));
  const store = await startSandbox({ port: 0, apiKey: API_KEY });
  try {
    await mkdir(join(dir, 'jobs', 'samples'), { recursive: true });
    await cp(join(PACKAGE, 'stores.yaml'), join(dir, 'stores.yaml'));
    const job = await readFile(join(PACKAGE, 'jobs', `${JOB}.yaml`), 'utf8');
    await writeFile(join(dir, 'jobs', `${JOB}.yaml`), job.replace('mode: upsert', 'mode: mirror'));
    const catalog = join(dir, 'jobs', 'samples', 'catalog.csv');
    await cp(join(PACKAGE, 'jobs', 'samples', 'catalog.csv'), catalog);
    await writeFile(join(dir, '.env'), `STORE_URL=${store.url}\nSTORE_API_KEY=${API_KEY}\n`);

    const acts: readonly Act[] = [
      { title: 'Is everything right?', command: ['check'], exitCode: 0 },
      { title: 'What would the first night do?', command: ['plan', JOB], exitCode: 0 },
      { title: 'The first night.', command: ['run', JOB], exitCode: 0 },
      {
        title: 'The second night: a few changes, one product gone, one broken.',
        command: ['run', JOB],
        exitCode: 3,
        prepare: () => cp(join(PACKAGE, 'jobs', 'samples', 'catalog-second-night.csv'), catalog),
      },
      {
        title: 'The same again: nothing has changed, so nothing is sent.',
        command: ['run', JOB],
        exitCode: 3,
      },
    ];
    const perform = async ({ title, command, exitCode, prepare }: Act): Promise<void> => {
      await prepare?.();
      terminal.out(`\n${colors.bold(title)}\n${colors.dim(`$ storeferry ${command.join(' ')}`)}\n`);
      const code = await storeferry(dir, command);
      if (code !== exitCode) throw new Error(`The demo expected exit code ${exitCode} and got ${code}.`);
    };
    for (const act of acts) await perform(act);

    const rejects = await latestRejects(dir);
    terminal.out(`\n${colors.bold('The rejects file, to correct in a spreadsheet (shortened):')}\n`);
    for (const line of rejects.text.replace('\uFEFF', '').trimEnd().split('\n')) {
      terminal.out(`  ${shortened(line, terminal.width - 2)}\n`);
    }
    await perform({
      title: `The price 'tbc' is corrected to 23.50 there, and the file goes back.`,
      command: ['retry', rejects.run],
      exitCode: 0,
      prepare: () => writeFile(rejects.path, rejects.text.replace(',tbc,', ',23.50,')),
    });
    await perform({ title: 'What happened?', command: ['runs'], exitCode: 0 });
    terminal.out(
      `\n${colors.bold('That was the demo.')} Your own import: storeferry --help, and README.md.\n`,
    );
    return 0;
  } finally {
    await store.close();
    await rm(dir, { recursive: true, force: true });
  }
}

/** Types a command into the demo's workspace; what it prints goes straight to the terminal. */
function storeferry(dir: string, command: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    // In the folder rather than with -C, and not as npm's script: what is printed to be typed next then matches the titles.
    const { npm_lifecycle_event: _, ...env } = process.env;
    const child = spawn(process.execPath, [MAIN, ...command], { cwd: dir, env, stdio: 'inherit' });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

interface Rejects {
  readonly run: string;
  readonly path: string;
  readonly text: string;
}

/** The rejects file of the last run that has one. */
async function latestRejects(dir: string): Promise<Rejects> {
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

/** A long line by its two ends: the keys stand at the one, the reasons at the other. */
function shortened(line: string, width: number): string {
  const half = Math.floor((width - 3) / 2);
  return line.length <= width ? line : `${line.slice(0, half)} … ${line.slice(-half)}`;
}
