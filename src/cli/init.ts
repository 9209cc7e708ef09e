import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import pc from 'picocolors';
import { loadEnvironment } from '../config/environment.ts';
import { toBeChosen } from '../config/new-workspace/mapping-text.ts';
import { NEW_STORE, STORE_VARIABLES } from '../config/new-workspace/stores-text.ts';
import { writeTogether } from '../config/new-workspace/write-together.ts';
import { looksSecret } from '../config/secrets.ts';
import { type StoreConfig, storeSchema } from '../config/stores.ts';
import { isWorkspace } from '../config/workspace-files.ts';
import { InterruptedError, UsageError } from '../model/errors.ts';
import { askCrosswalk } from './init/ask-crosswalk.ts';
import { askJobName, askParams, askSchedule, localTimezone } from './init/ask-job.ts';
import { askMapping } from './init/ask-mapping.ts';
import { askSource } from './init/ask-source.ts';
import { askStore, type StoreAnswer } from './init/ask-store.ts';
import { type ComposedFile, composeFiles, type WorkspaceToBe } from './init/compose-files.ts';
import { freeName } from './init/free-name.ts';
import type { Asking, InitOptions } from './init/init-options.ts';
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
  const asking: Asking = {
    options,
    prompter: terminal.interactive && process.stdin.isTTY ? terminalPrompter(signal) : null,
    environment: loadEnvironment(dir, process.env),
    dir,
    say: (line) => terminal.err(`${line}\n`),
  };
  const existing = prepare(asking);
  refuseMissingFlags(asking, existing.stores);
  await confirmAdding(asking, existing.workspace);

  const store = await askStore(asking, existing.stores);
  const source = await askSource(asking);
  const mapping = await askMapping(asking, source.look.header);
  const imports = mapping.kind === 'known' ? mapping.spec.import : mapping.imports;
  const spec = mapping.kind === 'known' ? mapping.spec : undefined;
  const params = spec?.params ?? {};
  const paramValues = await askParams(asking, params);
  const crosswalk =
    imports === 'contacts'
      ? await askCrosswalk(asking, spec?.import === 'contacts' ? spec.contact : undefined)
      : undefined;
  const weightUnit = store.kind === 'known' ? undefined : await askWeightUnit(asking, imports);
  const name = await askJobName(asking, mapping.kind === 'known' ? mapping.name : `my-${imports}`);
  const schedule = await askSchedule(asking);
  const variables = await askVariables(asking, store);

  const mappingName = mapping.kind === 'known' ? mapping.name : newMappingName(dir, name);
  const toBe: WorkspaceToBe = {
    dir,
    weightUnit,
    variables,
    copyOf: source.copyOf,
    job: {
      name,
      imports,
      store: store.kind === 'known' ? store.name : NEW_STORE,
      source: { path: source.path, encoding: source.encoding, delimiter: source.delimiter },
      mapping: mappingName,
      params,
      paramValues,
      crosswalk,
      schedule,
      timezone: schedule?.timezone ?? localTimezone(),
    },
    starter:
      mapping.kind === 'known'
        ? undefined
        : {
            name: mappingName,
            imports,
            file: basename(source.path),
            header: source.look.header,
            suggested: mapping.suggested,
          },
  };
  const files = composeFiles(toBe);
  await confirmWriting(asking, files);
  if (signal.aborted) throw new InterruptedError('Given up; nothing has been written.');
  writeTogether(files);

  const paint = pc.createColors(terminal.colors);
  terminal.out(`${paint.bold(`Written into ${dir}`)}\n`);
  for (const { name: file, what } of files) terminal.out(`  ${file.padEnd(28)} ${paint.dim(what)}\n`);
  for (const warning of overridden(variables)) terminal.out(`${paint.yellow(warning)}\n`);

  const undone = [
    ...undoneMapping(toBe),
    ...(crosswalk?.there === false
      ? [
          `Put the ids of the store into ${crosswalk.path}: a CSV file with the columns ${crosswalk.id} and ${crosswalk.match}.`,
        ]
      : []),
    ...(store.kind === 'known' ? store.unset : [])
      .filter((variable) => variables[variable] === undefined)
      .map((variable) => `Set ${variable} in .env or in the environment.`),
  ];
  const say = (steps: readonly (readonly [what: string, command: string])[]) => {
    for (const [what, command] of steps) terminal.out(`  ${what}\n    ${paint.bold(command)}\n`);
  };
  if (undone.length > 0) {
    terminal.out(`\n${paint.bold('Left to do')}\n`);
    for (const step of undone) terminal.out(`  ${step}\n`);
    say([
      ['Then, to see what is wrong:', `${program} check`],
      ['To see what would be sent:', `${program} plan ${name}`],
    ]);
    return 0;
  }
  terminal.out('\n');
  const code = await plan({ terminal, directory: dir, program }, name, {});
  terminal.out(`\n${paint.bold('Before the first run')}\n`);
  say(
    store.kind === 'new' && store.sandbox
      ? [
          [
            'The sandbox is the store; start it in another terminal, and leave it running:',
            `${typedProgram(undefined, process.env)} sandbox`,
          ],
        ]
      : [['To see whether the store answers and takes the key:', `${program} check --online`]],
  );
  return code;
}

/** What is there already; UsageError where no workspace can be. */
function prepare({ dir }: Asking): { readonly workspace: boolean; readonly stores: boolean } {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(`${dir} is a file; a folder was expected.`);
  const stores = statSync(resolve(dir, 'stores.yaml'), { throwIfNoEntry: false }) !== undefined;
  return { workspace: isWorkspace(dir), stores };
}

async function confirmAdding({ options, prompter, dir, say }: Asking, workspace: boolean): Promise<void> {
  if (!workspace) {
    say(`This makes a workspace in ${dir}. Nothing is written before the end; Ctrl-C leaves nothing behind.`);
    return;
  }
  say(`${dir} is a workspace already: it gets a further job, and nothing in it is overwritten.`);
  if (prompter === null || options.yes === true || (await prompter.confirm('Add a job to it?', true))) return;
  throw new InterruptedError('Given up; nothing has been written.');
}

async function askWeightUnit(
  { options, prompter }: Asking,
  imports: WorkspaceToBe['job']['imports'],
): Promise<StoreConfig['weightUnit']> {
  const units = storeSchema.shape.weightUnit;
  if (options.weightUnit !== undefined) {
    const read = units.safeParse(options.weightUnit);
    if (read.success) return read.data;
    throw new UsageError(`--weight-unit ${options.weightUnit}: expected kg, g, lb or oz.`);
  }
  if (imports === 'contacts' || options.yes === true || prompter === null) return units.parse(undefined);
  return await prompter.choose(
    'In which unit does the store show weights?',
    (['kg', 'g', 'lb', 'oz'] as const).map((value) => ({ value, name: value })),
    'kg',
  );
}

/** What goes into `.env`: of a new store all, of one that is there what it still waits for. */
async function askVariables({ prompter }: Asking, store: StoreAnswer): Promise<Record<string, string>> {
  if (store.kind === 'new') {
    return { [STORE_VARIABLES.url]: store.url, [STORE_VARIABLES.apiKey]: store.apiKey };
  }
  const values: Record<string, string> = {};
  for (const name of prompter === null ? [] : store.unset) {
    const check = (text: string) => (text.trim() === '' ? 'expected a value' : undefined);
    const question = `The store ${store.name} waits for ${name} (it goes into .env):`;
    const value = looksSecret(name)
      ? await prompter?.secret(question, check)
      : await prompter?.text(question, { check });
    if (value !== undefined) values[name] = value.trim();
  }
  return values;
}

/** Beside the mapping that a workspace has, never in its place. */
function newMappingName(dir: string, job: string): string {
  return freeName(resolve(dir, 'mappings'), `${job}.yaml`).replace(/\.yaml$/, '');
}

async function confirmWriting(
  { options, prompter, say }: Asking,
  files: readonly ComposedFile[],
): Promise<void> {
  if (prompter === null || options.yes === true) return;
  say('\nTo be written:');
  for (const { name, existing, what } of files)
    say(`  ${name}${existing === 'add' ? ' (added to)' : ''}: ${what}`);
  if (!(await prompter.confirm('Write these files?', true))) {
    throw new InterruptedError('Given up; nothing has been written.');
  }
}

/** The process's variables go before `.env`, which surprises those who have just answered otherwise. */
function overridden(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables)
    .filter(([name, value]) => process.env[name] !== undefined && process.env[name] !== value)
    .map(
      ([name]) =>
        `${name} is set in the environment, which goes before .env: unset it, or that is what is used.`,
    );
}

function undoneMapping({ starter }: WorkspaceToBe): string[] {
  if (starter === undefined) return [];
  const fields = toBeChosen(starter);
  return fields.length === 0
    ? []
    : [`Say in mappings/${starter.name}.yaml which column holds ${fields.join(' and ')}.`];
}
