import { existsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import pc from 'picocolors';
import { freeName, writeTogether } from '../../config/edit-file.ts';
import { loadEnvironment, overriddenText } from '../../config/environment.ts';
import { whyNoSchedule } from '../../config/job/job.ts';
import { isName } from '../../config/store-config.ts';
import { isWorkspace } from '../../config/workspace.ts';
import { type MappingSpec, unsetParams, updateMatch } from '../../mapping/spec/mapping-spec.ts';
import { isTimezone } from '../../model/clock.ts';
import { InterruptedError, UsageError } from '../../model/storeferry-error.ts';
import {
  composeFiles,
  knownStore,
  leftToDo,
  NEW_STORE,
  type NewFile,
  type NewWorkspace,
  USUAL_SCHEDULES,
} from '../../onboarding/new-workspace.ts';
import type { SourceLook } from '../../onboarding/preview-source.ts';
import { knownProducts } from '../../run/records/known-products.ts';
import { printable, shellWord } from '../../text/printable.ts';
import { defineCommand, type Invocation, optionalArgument } from '../define-command.ts';
import { askCrosswalk } from '../init/ask-crosswalk.ts';
import { askMapping } from '../init/ask-mapping.ts';
import { askSource } from '../init/ask-source.ts';
import { askCurrency, askStore, askVariables, askWeightUnit, type StoreAnswer } from '../init/ask-store.ts';
import { type Asking, terminalPrompter } from '../init/asking.ts';
import { INIT_OPTIONS } from '../init/init-options.ts';
import { typedProgram } from '../typed-program.ts';
import { planCommand } from './plan-command.ts';

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
    const asking: Asking = {
      options,
      prompter: terminal.interactive && process.stdin.isTTY ? terminalPrompter(signal) : null,
      known: knownStore(dir, process.env),
      dir,
      say: (line) => terminal.err(`${printable(line)}\n`),
      signal,
    };
    refuseMissingFlags(asking, existing.stores);
    await confirmAdding(asking, existing.workspace);
    const answers = await askAll(asking, existing.stores);
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
function findExisting(dir: string): { readonly workspace: boolean; readonly stores: boolean } {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(
      `${dir} is a file; a folder was expected. To import the file: storeferry init --source ${shellWord(dir)}`,
    );
  const stores = statSync(resolve(dir, 'stores.yaml'), { throwIfNoEntry: false }) !== undefined;
  return { workspace: isWorkspace(dir), stores };
}

/** Plans the new job and prints the steps before its first run, or prints what is missing before it can be planned. */
async function planIfReady(invocation: Invocation, answers: NewWorkspace): Promise<number> {
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

/** Asks all questions, and writes nothing. `hasStores`: there is a stores.yaml, which will not be changed. */
async function askAll(asking: Asking, hasStores: boolean): Promise<NewWorkspace> {
  const { dir } = asking;
  const store = await askStore(asking, hasStores);
  const source = await askSource(asking);
  const mapping = await askMapping(asking, source.look);
  const { spec } = mapping;
  if (updateMatch(spec) !== undefined) await sayKnownProducts(asking, store, spec, source.look);
  const imports = spec.import;
  const params = spec.params ?? {};
  const paramValues = await askParams(asking, params);
  const contact = spec.import === 'contacts' ? spec.contact : undefined;
  const crosswalk = imports === 'contacts' ? await askCrosswalk(asking, contact) : undefined;
  const weightUnit = store.kind === 'known' ? undefined : await askWeightUnit(asking, imports);
  const currency = await askCurrency(asking, store, {
    look: source.look,
    spec,
    params: paramValues,
    answered: mapping.kind === 'new' ? mapping.currency : undefined,
  });
  const name = await askJobName(asking, mapping.kind === 'known' ? mapping.name : `my-${imports}`);
  const schedule = await askSchedule(asking);
  const variables = await askVariables(asking, store);

  const mappingName = mapping.kind === 'known' ? mapping.name : newMappingName(dir, name);
  return {
    dir,
    weightUnit,
    currency,
    variables,
    unset: store.kind === 'known' ? store.unset.filter((variable) => variables[variable] === undefined) : [],
    sandbox: store.kind === 'new' && store.sandbox,
    copyOf: source.copyOf,
    job: {
      name,
      imports,
      store: store.kind === 'known' ? store.name : NEW_STORE,
      source: source.written,
      mapping: mappingName,
      match: updateMatch(spec),
      params,
      paramValues,
      crosswalk,
      schedule,
      timezone: schedule?.timezone ?? localTimezone(),
    },
    crosswalkToCome: crosswalk?.there === false,
    starter:
      mapping.kind === 'known'
        ? undefined
        : {
            name: mappingName,
            file: basename(source.written.path),
            header: source.look.header,
            proposal: mapping.proposal,
            spec,
          },
  };
}

/** Prints whether the store has the products that the job would change. */
async function sayKnownProducts(
  { dir, say, signal }: Asking,
  store: StoreAnswer,
  spec: MappingSpec,
  look: SourceLook,
): Promise<void> {
  const { openContext } = await import('../open-context.ts');
  await using open = store.kind === 'known' ? await openContext(dir, () => undefined, signal) : null;
  const config = store.kind === 'known' && open !== null ? open.workspace.store(store.name) : null;
  const text = await knownProducts(open?.context.state ?? null, config, spec, look);
  if (text !== null) say(text);
}

/** A name that no mapping of the workspace has. */
function newMappingName(dir: string, job: string): string {
  return freeName(resolve(dir, 'mappings'), `${job}.yaml`).replace(/\.yaml$/, '');
}

/** Without a terminal no question can be asked: UsageError that names every missing option. */
function refuseMissingFlags({ options, prompter, known }: Asking, existing: boolean): void {
  if (prompter !== null) return;
  const missing: string[] = [];
  if (!existing && !options.sandbox) {
    if (options.storeUrl === undefined && known.url === undefined) {
      missing.push('--store-url URL (or --sandbox)');
    }
    if (known.apiKey === undefined) {
      missing.push('STORE_API_KEY in the environment (there is no option for it: others could read it)');
    }
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

/** Asks for the name of the job, which is the name of a new file in jobs/. */
async function askJobName(asking: Asking, usual: string): Promise<string> {
  const { options, prompter, dir } = asking;
  const whyNot = (name: string): string | undefined => {
    if (!isName(name)) return 'only letters, digits, dots, - and _, beginning with a letter or digit';
    return existsSync(jobPath(dir, name)) ? `there is a job ${name} already` : undefined;
  };
  const free = freeName(join(dir, 'jobs'), `${usual}.yaml`).replace(/\.yaml$/, '');
  const name =
    options.job ??
    (options.yes ? free : await prompter?.text('Name of the job:', { fallback: free, check: whyNot })) ??
    free;
  const wrong = whyNot(name);
  if (wrong !== undefined) throw new UsageError(`The job cannot be called '${name}': ${wrong}.`);
  return name;
}

/** The path of a job file. */
function jobPath(dir: string, name: string): string {
  return join(dir, 'jobs', `${name}.yaml`);
}

type Schedule = { readonly cron: string; readonly timezone: string };

/** Asks when workers run the job; undefined for never. */
export async function askSchedule({ options, prompter }: Asking): Promise<Schedule | undefined> {
  const timezone = options.timezone ?? localTimezone();
  if (options.schedule !== undefined) return schedule(options.schedule, timezone);
  if (options.yes || prompter === null) return undefined;
  const chosen = await prompter.choose(
    'Run it on a schedule? (needs `storeferry worker`)',
    [
      { value: 'no', name: 'No: by hand, or by cron of this machine' },
      ...USUAL_SCHEDULES.map((one) => ({ ...one, name: `${one.name}, ${timezone}` })),
      { value: 'other', name: 'At other times' },
    ],
    'no',
  );
  if (chosen === 'no') return undefined;
  if (chosen !== 'other') return schedule(chosen, timezone);
  const cron = await prompter.text('Minute, hour, day, month, weekday (cron):', {
    fallback: '15 2 * * *',
    check: (text) => whyNoSchedule(text, timezone),
  });
  return schedule(cron, timezone);
}

function schedule(cron: string, timezone: string): Schedule {
  const wrong = whyNoSchedule(cron, timezone);
  if (wrong !== undefined) throw new UsageError(`The schedule '${cron}' in ${timezone}: ${wrong}.`);
  return { cron, timezone };
}

/** The name of this machine's time zone. */
function localTimezone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return isTimezone(timeZone) ? timeZone : 'UTC';
}

/** Asks for the parameters of a mapping that have no default. */
async function askParams(
  { options, prompter }: Asking,
  params: NonNullable<MappingSpec['params']>,
): Promise<Record<string, string>> {
  const values: Record<string, string> = { ...options.param };
  const unknown = Object.keys(values).find((name) => !Object.hasOwn(params, name));
  if (unknown !== undefined) throw new UsageError(`--param ${unknown}: the mapping has no such parameter.`);
  for (const { name, description } of unsetParams({ params }, values)) {
    const about = description === undefined ? '' : ` (${description})`;
    const value = await prompter?.text(`${name}${about}:`);
    if (value === undefined) {
      throw new UsageError(`The mapping needs the parameter ${name}${about}.`, {
        hint: `Give --param ${name}=VALUE.`,
      });
    }
    values[name] = value;
  }
  return values;
}
