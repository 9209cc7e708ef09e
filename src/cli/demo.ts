import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import pc from 'picocolors';
import { startSandbox } from '../sandbox/start-sandbox.ts';
import { bringSecondNight, latestRejects, makeDemoWorkspace, removeEarlierDemos } from './demo/workspace.ts';
import type { Invocation } from './invocation.ts';
import type { Terminal } from './terminal.ts';
import { TYPED_IN_VARIABLE } from './typed-program.ts';

const MAIN = process.argv[1] ?? '';
const API_KEY = 'demo-key';
const CATALOG = 'nightly-catalog';
const CONTACTS = 'bulk-contacts';
const LISTS = 'list-statistics';

/** What the demo must find at the end of each command, or it has not shown what it says. */
interface Act {
  readonly title: string;
  readonly command: readonly string[];
  readonly exitCode: number;
  /** Done before the command. */
  readonly prepare?: () => Promise<void>;
}

/** Runs the sample jobs against a sandbox, typing the commands a user would type. */
export async function demo({ terminal }: Invocation): Promise<number> {
  const colors = pc.createColors(terminal.colors);
  await removeEarlierDemos();
  const store = await startSandbox({ port: 0, apiKey: API_KEY });
  const dir = await makeDemoWorkspace({ url: store.url, apiKey: API_KEY });
  const perform = async ({ title, command, exitCode, prepare }: Act): Promise<void> => {
    await prepare?.();
    terminal.out(`\n${colors.bold(title)}\n${colors.dim(`$ storeferry ${command.join(' ')}`)}\n`);
    const code = await storeferry(dir, command);
    if (code !== exitCode) throw new Error(`The demo expected exit code ${exitCode} and got ${code}.`);
  };
  try {
    for (const act of twoNights(dir)) await perform(act);
    await perform(await correctedRejects(dir, terminal));
    for (const act of contactsAndLists()) await perform(act);
    await perform({ title: 'What happened?', command: ['runs'], exitCode: 0 });
    terminal.out(`\n${colors.bold('That was the demo.')} Your own import: storeferry init my-shop\n`);
    terminal.out(`Its files stay in ${dir} until the next demo.\n`);
    return 0;
  } finally {
    await store.close();
  }
}

function twoNights(dir: string): Act[] {
  return [
    { title: 'Is everything right?', command: ['check'], exitCode: 0 },
    { title: 'What would the first night do?', command: ['plan', CATALOG], exitCode: 0 },
    { title: 'The first night.', command: ['run', CATALOG], exitCode: 0 },
    {
      title: 'The second night: a few changes, one product gone, one broken.',
      command: ['run', CATALOG],
      exitCode: 3,
      prepare: () => bringSecondNight(dir),
    },
    {
      title: 'The same again: nothing has changed, so nothing is sent.',
      command: ['run', CATALOG],
      exitCode: 3,
    },
  ];
}

/** Shows the rejects file; correcting it and sending it back is the act. */
async function correctedRejects(dir: string, terminal: Terminal): Promise<Act> {
  const { run, path, text } = await latestRejects(dir);
  const colors = pc.createColors(terminal.colors);
  terminal.out(`\n${colors.bold('The rejects file, to correct in a spreadsheet (shortened):')}\n`);
  for (const line of text.replace('\uFEFF', '').trimEnd().split('\n')) {
    terminal.out(`  ${endsOf(line, terminal.width - 2)}\n`);
  }
  return {
    title: `The price 'tbc' is corrected to 23.50 there, and the file goes back.`,
    command: ['retry', run],
    exitCode: 0,
    prepare: () => writeFile(path, text.replace(',tbc,', ',23.50,')),
  };
}

function contactsAndLists(): Act[] {
  return [
    { title: 'How do the mailing lists stand?', command: ['run', LISTS], exitCode: 0 },
    {
      title: 'A CRM moves in: 300 contacts find their ids by e-mail, ten are not known to the store.',
      command: ['run', CONTACTS],
      exitCode: 3,
    },
    { title: 'The lists once more, as every morning.', command: ['run', LISTS], exitCode: 0 },
    { title: 'What has become of them?', command: ['stats', LISTS], exitCode: 0 },
  ];
}

/** Types a command into the demo's workspace; what it prints goes straight to the terminal. */
function storeferry(dir: string, command: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    // In the folder rather than with -C, and not as npm's script: what is printed to be typed next then matches the titles.
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

/** A long line by its two ends: the keys stand at the one, the reasons at the other. */
function endsOf(line: string, width: number): string {
  const half = Math.floor((width - 3) / 2);
  return line.length <= width ? line : `${line.slice(0, half)} … ${line.slice(-half)}`;
}
