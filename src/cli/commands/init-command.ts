import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import pc from 'picocolors';
import {
  composeFiles,
  knownStore,
  leftToDo,
  type NewFile,
  type NewWorkspace,
} from '../../config/new-workspace/new-workspace.ts';
import { writeTogether } from '../../config/new-workspace/write-together.ts';
import { isWorkspace } from '../../config/workspace.ts';
import { InterruptedError, UsageError } from '../../model/storeferry-error.ts';
import { printable } from '../../report/printable.ts';
import { defineCommand, type Invocation, optional } from '../define-command.ts';
import { askAll, refuseMissingFlags } from '../init/ask-all.ts';
import { type Asking, terminalPrompter } from '../init/asking.ts';
import { INIT_OPTIONS } from '../init/init-options.ts';
import { interruptSignal } from '../interrupt-signal.ts';
import { typedProgram } from '../typed-program.ts';
import { planCommand } from './plan-command.ts';

/**
 * `storeferry init`: asks questions, then creates a workspace or adds a job to one. It writes all files at the end,
 * and plans the job.
 */
export const initCommand = defineCommand({
  arguments: { dir: optional('the folder of the workspace; default: the folder of -C') },
  options: INIT_OPTIONS,
  examples: [
    'init my-shop',
    'init my-shop --sandbox --source export.csv --yes     no questions, no store needed',
    'init my-shop --store-url https://shop.example --source export.csv --job nightly --yes',
    "init my-shop --sandbox --source pricelist.csv --yes --column 'price=Preis brutto' --decimal ,",
  ],
  async run(invocation, { dir: folder }, options) {
    const { terminal } = invocation;
    const dir = resolve(folder ?? invocation.directory);
    const program = folder === undefined ? invocation.program : typedProgram(folder, process.env);
    const signal = interruptSignal(() => {});
    const existing = whatIsThere(dir);
    const asking: Asking = {
      options,
      prompter: terminal.interactive && process.stdin.isTTY ? terminalPrompter(signal) : null,
      known: knownStore(dir, process.env),
      dir,
      say: (line) => terminal.err(`${printable(line)}\n`),
    };
    refuseMissingFlags(asking, existing.stores);
    await confirmAdding(asking, existing.workspace);
    const toBe = await askAll(asking, existing.stores);
    const files = composeFiles(toBe);
    await confirmWriting(asking, files);
    signal.throwIfAborted();
    writeTogether(files);

    const { bold, dim, yellow } = pc.createColors(terminal.colors);
    terminal.out(`${bold(`Written into ${dir}`)}\n`);
    for (const { name, what } of files) terminal.out(`  ${name.padEnd(28)} ${dim(what)}\n`);
    for (const warning of overridden(toBe.variables)) terminal.out(`${yellow(warning)}\n`);
    return await planIfReady({ terminal, directory: dir, program }, toBe);
  },
});

/** The existing workspace files; UsageError if there can be no workspace. */
function whatIsThere(dir: string): { readonly workspace: boolean; readonly stores: boolean } {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(`${dir} is a file; a folder was expected.`);
  const stores = statSync(resolve(dir, 'stores.yaml'), { throwIfNoEntry: false }) !== undefined;
  return { workspace: isWorkspace(dir), stores };
}

/** Plans the new job and prints the steps before its first run, or prints what is missing before it can be planned. */
async function planIfReady(invocation: Invocation, toBe: NewWorkspace): Promise<number> {
  const { terminal, program } = invocation;
  const { bold } = pc.createColors(terminal.colors);
  const heading = (text: string) => terminal.out(`\n${bold(text)}\n`);
  const step = (what: string, command: string) => terminal.out(`  ${what}\n    ${bold(command)}\n`);
  const { job, sandbox } = toBe;
  const undone = leftToDo(toBe);
  if (undone.length > 0) {
    heading('Left to do');
    for (const text of undone) terminal.out(`  ${text}\n`);
    step('Then check the workspace:', `${program} check`);
    step('See what would be sent:', `${program} plan ${job.name}`);
    return 0;
  }
  terminal.out('\n');
  const code = await planCommand.run(
    invocation,
    { job: job.name },
    { json: false, resend: false, show: undefined, only: undefined, limit: undefined },
  );
  heading('Before the first run');
  if (sandbox) {
    const command = `${typedProgram(undefined, process.env)} sandbox`;
    step('The sandbox is the store: start it in another terminal and leave it running:', command);
  } else {
    step('Check that the store answers and accepts the key:', `${program} check --online`);
  }
  return code;
}

/** Announces what will happen. A job is added to an existing workspace only after confirmation. */
async function confirmAdding({ options, prompter, dir, say }: Asking, workspace: boolean): Promise<void> {
  if (!workspace) {
    say(
      `This creates a workspace in ${dir}. Files are written only at the end; Ctrl-C cancels and leaves nothing behind.`,
    );
    return;
  }
  say(`${dir} is a workspace already: a job is added, and nothing in it is overwritten.`);
  if (prompter === null || options.yes || (await prompter.confirm('Add a job to it?', true))) return;
  throw new InterruptedError('Cancelled; nothing has been written.');
}

/** Shows the files, and writes them only after confirmation. */
async function confirmWriting({ options, prompter, say }: Asking, files: readonly NewFile[]): Promise<void> {
  if (prompter === null || options.yes) return;
  say('');
  say('Files to write:');
  for (const { name, path, existing, what } of files)
    say(`  ${name}${existing === 'add' && existsSync(path) ? ' (added to)' : ''}: ${what}`);
  if (!(await prompter.confirm('Write these files?', true))) {
    throw new InterruptedError('Cancelled; nothing has been written.');
  }
}

/** Warns about variables of the process, which have priority over `.env`: the answers would have no effect. */
function overridden(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables)
    .filter(([name, value]) => process.env[name] !== undefined && process.env[name] !== value)
    .map(
      ([name]) =>
        `${name} is set in the environment, which has priority over .env. Unset it; otherwise its value is used.`,
    );
}
