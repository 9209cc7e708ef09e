import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import pc from 'picocolors';
import { loadEnvironment } from '../config/environment.ts';
import {
  composeFiles,
  leftToDo,
  type NewFile,
  type NewWorkspace,
} from '../config/new-workspace/new-workspace.ts';
import { isWorkspace } from '../config/workspace.ts';
import { InterruptedError, UsageError } from '../model/errors.ts';
import { printable } from '../report/printable.ts';
import { askAll, refuseMissingFlags } from './init/ask-all.ts';
import { type Asking, type InitOptions, terminalPrompter } from './init/asking.ts';
import { writeTogether } from './init/write-together.ts';
import { interruptSignal } from './interrupt-signal.ts';
import type { Invocation } from './invocation.ts';
import { plan } from './plan.ts';
import { typedProgram } from './typed-program.ts';

/** Makes a workspace, or adds a job to one, by asking; writes everything at the end, and plans the new job. */
export async function init(
  invocation: Invocation,
  folder: string | undefined,
  options: InitOptions,
): Promise<number> {
  const { terminal } = invocation;
  const dir = resolve(folder ?? invocation.directory);
  const program = folder === undefined ? invocation.program : typedProgram(folder, process.env);
  const signal = interruptSignal(() => {});
  const existing = whatIsThere(dir);
  const asking: Asking = {
    options,
    prompter: terminal.interactive && process.stdin.isTTY ? terminalPrompter(signal) : null,
    environment: loadEnvironment(dir, process.env),
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
}

/** What is there already; UsageError where no workspace can be. */
function whatIsThere(dir: string): { readonly workspace: boolean; readonly stores: boolean } {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(`${dir} is a file; a folder was expected.`);
  const stores = statSync(resolve(dir, 'stores.yaml'), { throwIfNoEntry: false }) !== undefined;
  return { workspace: isWorkspace(dir), stores };
}

/** Plans the new job and says what comes before its first run, or says what is left to do before it can be planned. */
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
    step('Then, to see what is wrong:', `${program} check`);
    step('To see what would be sent:', `${program} plan ${job.name}`);
    return 0;
  }
  terminal.out('\n');
  const code = await plan(invocation, job.name, {});
  heading('Before the first run');
  if (sandbox) {
    const command = `${typedProgram(undefined, process.env)} sandbox`;
    step('The sandbox is the store; start it in another terminal, and leave it running:', command);
  } else {
    step('To see whether the store answers and takes the key:', `${program} check --online`);
  }
  return code;
}

/** Warnings about variables of the process, which win over `.env`: the answers would have no effect. */
function overridden(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables)
    .filter(([name, value]) => process.env[name] !== undefined && process.env[name] !== value)
    .map(
      ([name]) =>
        `${name} is set in the environment, which wins over .env: unset it, or its value is used instead.`,
    );
}

/** Says what is about to happen; where there is a workspace already, a person must want a job in it. */
async function confirmAdding({ options, prompter, dir, say }: Asking, workspace: boolean): Promise<void> {
  if (!workspace) {
    say(`This makes a workspace in ${dir}. Nothing is written before the end; Ctrl-C leaves nothing behind.`);
    return;
  }
  say(`${dir} is a workspace already: it gets a further job, and nothing in it is overwritten.`);
  if (prompter === null || options.yes === true || (await prompter.confirm('Add a job to it?', true))) return;
  throw new InterruptedError('Given up; nothing has been written.');
}

/** Shows what would be written; a person must want it. */
async function confirmWriting({ options, prompter, say }: Asking, files: readonly NewFile[]): Promise<void> {
  if (prompter === null || options.yes === true) return;
  say('');
  say('To be written:');
  for (const { name, path, existing, what } of files)
    say(`  ${name}${existing === 'add' && existsSync(path) ? ' (added to)' : ''}: ${what}`);
  if (!(await prompter.confirm('Write these files?', true))) {
    throw new InterruptedError('Given up; nothing has been written.');
  }
}
