import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import pc from 'picocolors';
import { loadEnvironment } from '../config/environment.ts';
import { writeTogether } from '../config/new-workspace/write-together.ts';
import { isWorkspace } from '../config/workspace-files.ts';
import { UsageError } from '../model/errors.ts';
import { printable } from '../report/wording/printable.ts';
import { askAll } from './init/ask-all.ts';
import { composeFiles, type WorkspaceToBe } from './init/compose-files.ts';
import { confirmAdding, confirmWriting } from './init/confirm.ts';
import type { Asking, InitOptions } from './init/init-options.ts';
import { leftToDo, overridden } from './init/left-to-do.ts';
import { refuseMissingFlags } from './init/missing-flags.ts';
import { terminalPrompter } from './init/prompter.ts';
import { interruptSignal } from './interrupt.ts';
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
async function planIfReady(invocation: Invocation, toBe: WorkspaceToBe): Promise<number> {
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
