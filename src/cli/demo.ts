import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pc from 'picocolors';
import { startSandbox } from '../sandbox/start-sandbox.ts';
import type { Invocation } from './program.ts';

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
      { title: 'What happened?', command: ['runs'], exitCode: 0 },
    ];
    for (const { title, command, exitCode, prepare } of acts) {
      await prepare?.();
      terminal.out(`\n${colors.bold(title)}\n${colors.dim(`$ storeferry ${command.join(' ')}`)}\n`);
      const code = await storeferry(dir, command);
      if (code !== exitCode) {
        terminal.err(`The demo expected exit code ${exitCode} and got ${code}.\n`);
        return 1;
      }
    }
    await showRejects(dir, terminal.out, colors.bold('\nThe rejects file, to correct in a spreadsheet:\n'));
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
    const child = spawn(process.execPath, [MAIN, '-C', dir, ...command], { stdio: 'inherit' });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

async function showRejects(dir: string, print: (text: string) => void, title: string): Promise<void> {
  const runs = join(dir, '.storeferry', 'artifacts');
  for (const run of await readdir(runs)) {
    const path = join(runs, run, 'rejects.csv');
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text === null) continue;
    print(title);
    print(`${text.replace('\uFEFF', '').trimEnd()}\n`);
    return;
  }
}
