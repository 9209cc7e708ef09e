import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import pc from 'picocolors';
import { writeTogether } from '../../config/edit-file.ts';
import {
  availableMappings,
  isWorkspace,
  loadEnvironment,
  overriddenText,
  readWorkspace,
} from '../../config/workspace.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { InterruptedError, UsageError } from '../../model/storeferry-error.ts';
import { type DraftSetting, settingOf } from '../../onboarding/job-draft.ts';
import {
  composeFiles,
  knownStore,
  leftToDo,
  type NewFile,
  type NewWorkspace,
} from '../../onboarding/new-workspace.ts';
import type { SourceLook } from '../../onboarding/preview-source.ts';
import { knownProducts } from '../../run/records/record-history.ts';
import { printable, shellWord } from '../../text/printable.ts';
import { defineCommand, type Invocation, optionalArgument } from '../define-command.ts';
import { type Asking, askJob } from '../init/ask-job.ts';
import { INIT_OPTIONS } from '../init/init-options.ts';
import { terminalPrompter } from '../init/prompter.ts';
import { typedProgram } from '../typed-program.ts';
import { planCommand } from './plan-command.ts';
import { SANDBOX } from './sandbox-command.ts';

/**
 * `storeferry init`: asks questions, then creates a workspace or adds a job to one. It writes all files at the end,
 * and plans the job.
 */
export const initCommand = defineCommand({
  arguments: { dir: optionalArgument('the folder of the workspace; default: the folder of -C') },
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
    const signal = invocation.interruptSignal();
    const existing = findExisting(dir);
    if (existing.stores && (options.storeUrl !== undefined || options.sandbox)) throw storesKeptError();
    const asking: Asking = {
      options,
      signal,
      prompter: terminal.interactive && process.stdin.isTTY ? terminalPrompter(signal) : null,
      setting: settingIn(dir, existing),
      knownProducts: async (store, ...file) => await productsKnownIn(dir, store, ...file),
      say: (line) => terminal.err(`${printable(line)}\n`),
    };
    refuseMissingFlags(asking, existing.stores);
    await confirmAdding(asking, existing.workspace);
    const answers = await askJob(asking);
    const files = composeFiles(answers);
    await confirmWriting(asking, files);
    signal.throwIfAborted();
    writeTogether(files);

    const { bold, dim, yellow } = pc.createColors(terminal.colors);
    terminal.out(`${bold(`Written into ${dir}`)}\n`);
    for (const { name, what } of files) terminal.out(`  ${name.padEnd(28)} ${dim(what)}\n`);
    for (const name of loadEnvironment(dir, process.env).overridden())
      terminal.out(`${yellow(`${overriddenText(name)}.`)}\n`);
    return await planIfReady({ ...invocation, directory: dir, program }, answers);
  },
});

/** The existing workspace files; UsageError if there can be no workspace. */
function findExisting(dir: string) {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(
      `${dir} is a file; a folder was expected. To import the file: storeferry init --source ${shellWord(dir)}`,
    );
  const stores = statSync(resolve(dir, 'stores.yaml'), { throwIfNoEntry: false }) !== undefined;
  return { workspace: isWorkspace(dir), stores };
}

function storesKeptError() {
  return new UsageError('There is a stores.yaml already, and it is not changed.', {
    hint: 'Leave out --store-url and --sandbox; --store NAME chooses one of its stores.',
  });
}

/** What the questions depend on in a folder. ConfigurationError for a stores.yaml with errors. */
function settingIn(dir: string, existing: ReturnType<typeof findExisting>): DraftSetting {
  const workspace = existing.workspace ? readWorkspace(dir, process.env) : null;
  if (existing.stores) workspace?.storeNames();
  return {
    dir,
    ...(workspace === null
      ? { mappings: availableMappings(dir, process.env), stores: undefined }
      : settingOf(workspace)),
    known: knownStore(dir, process.env),
    sandbox: SANDBOX,
    isVisitor: false,
    now: Date.now(),
  };
}

/** What the state of a workspace knows of the products that a file changes. */
async function productsKnownIn(dir: string, store: string | undefined, spec: MappingSpec, look: SourceLook) {
  if (store === undefined) return await knownProducts(null, null, spec, look);
  const { openContext } = await import('../open-context.ts');
  await using open = await openContext(dir, () => undefined, new AbortController().signal);
  return await knownProducts(open.context.state, open.workspace.store(store), spec, look);
}

/** Plans the new job and prints the steps before its first run, or prints what is missing before it can be planned. */
async function planIfReady(invocation: Invocation, answers: NewWorkspace) {
  const { terminal, program } = invocation;
  const { bold } = pc.createColors(terminal.colors);
  const heading = (text: string) => terminal.out(`\n${bold(text)}\n`);
  const step = (what: string, command: string) => terminal.out(`  ${what}\n    ${bold(command)}\n`);
  const { job, sandbox } = answers;
  const undone = leftToDo(answers);
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
    { json: false, markdown: false, resend: false, show: undefined, only: undefined, limit: undefined },
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

/** Announces what will happen. On a terminal and without --yes, a job is added to an existing workspace only after confirmation. */
async function confirmAdding({ options, prompter, setting: { dir }, say }: Asking, workspace: boolean) {
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
async function confirmWriting({ options, prompter, say }: Asking, files: readonly NewFile[]) {
  if (prompter === null || options.yes) return;
  say('');
  say('Files to write:');
  for (const { name, path, existing, what } of files)
    say(`  ${name}${existing === 'add' && existsSync(path) ? ' (added to)' : ''}: ${what}`);
  if (!(await prompter.confirm('Write these files?', true)))
    throw new InterruptedError('Cancelled; nothing has been written.');
}

/** Without a terminal no question can be asked: UsageError that names every missing option, but not `--store`: the question of the store does. */
function refuseMissingFlags({ options, prompter, setting: { known } }: Asking, existing: boolean) {
  if (prompter !== null) return;
  const missing: string[] = [];
  if (!existing && !options.sandbox) {
    if (options.storeUrl === undefined && known.url === undefined)
      missing.push('--store-url URL (or --sandbox)');
    if (known.apiKey === undefined)
      missing.push('STORE_API_KEY in the environment (there is no option for it: others could read it)');
  }
  if (options.source === undefined) missing.push('--source FILE');
  if (!options.yes) {
    if (options.mapping === undefined) missing.push('--mapping NAME (or --yes for the recognised one)');
    if (options.job === undefined) missing.push('--job NAME (or --yes for the default)');
  }
  if (missing.length === 0) return;
  throw new UsageError(
    `There is no terminal for questions. Missing:\n${missing.map((flag) => `  ${flag}`).join('\n')}`,
  );
}
