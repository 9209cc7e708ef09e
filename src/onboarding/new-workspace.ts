import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { dotEnvLine, type FileToWrite } from '../config/edit-file.ts';
import type { StoreConfig } from '../config/store-config.ts';
import { loadEnvironment, SCHEMA_NAMES, schemaFor } from '../config/workspace.ts';
import { flow, placeholder, SCHEMA_FOLDER, schemaLine, yamlTemplate, yamlText } from '../config/yaml-text.ts';
import type { MappingSpec } from '../mapping/spec/mapping-spec.ts';
import { withoutAbsent } from '../model/json-object.ts';
import type { MappingProposal } from './guess/propose-mapping.ts';
import { jobText, type NewJob } from './job-text.ts';

/** The name of the store in a new workspace. */
export const NEW_STORE = 'main';

/** The variables of a new workspace in `.env`. */
export const STORE_VARIABLES = { url: 'STORE_URL', apiKey: 'STORE_API_KEY' } as const;

/** The store that the environment or `.env` of the folder already names. */
export function knownStore(dir: string, variables: Readonly<Record<string, string | undefined>>) {
  const environment = loadEnvironment(dir, variables);
  return {
    url: environment.get(STORE_VARIABLES.url),
    apiKey: environment.get(STORE_VARIABLES.apiKey),
    /** The names of those that have another value in the environment, which has priority over what is written into `.env`. */
    overridden: (written: Readonly<Record<string, string>>): readonly string[] =>
      Object.keys(written).filter((name) => (variables[name] ?? written[name]) !== written[name]),
  };
}

/** A new workspace, or a new job in an existing one: the answers to all questions of a draft. */
export interface NewWorkspace {
  readonly dir: string;
  /** Undefined if there is already a stores.yaml. */
  readonly weightUnit: StoreConfig['weightUnit'] | undefined;
  /** What a new store sells in; undefined if nobody said it. */
  readonly currency?: StoreConfig['currency'];
  /** For `.env`. */
  readonly variables: Readonly<Record<string, string>>;
  /** Variables that the store needs and that have no value yet. */
  readonly unset: readonly string[];
  /** Whether the store is the sandbox. */
  readonly sandbox: boolean;
  readonly job: NewJob;
  /** Whether the crosswalk of the job does not exist yet. */
  readonly crosswalkToCome: boolean;
  readonly starter: StarterMapping | undefined;
  /** Files that are copied to paths that the job names. */
  readonly copies: readonly { readonly path: string; readonly from: string }[];
}

/** A file to write, and its purpose. */
export interface NewFile extends FileToWrite {
  /** Relative to the workspace. */
  readonly name: string;
  readonly what: string;
}

const ONLY_ITS_OWNER = 0o600;

/** The files to write; existing files that need no change are left out. */
export function composeFiles(workspace: NewWorkspace): NewFile[] {
  const { dir, weightUnit, currency, variables, job, starter, copies } = workspace;
  const files: NewFile[] = [];
  const add = (name: string, what: string, file: Omit<NewFile, 'name' | 'what' | 'path'>) =>
    files.push({ name, what, path: join(dir, name), ...file });
  const addText = (name: string, what: string, text: string) =>
    add(name, what, { content: { text }, existing: 'refuse' });

  // In this order: a process that is killed leaves no key that git would take, and no store without its address.
  const ignored = gitignoreAddition(readIfThere(join(dir, '.gitignore')));
  if (ignored !== '') {
    const content = { text: ignored };
    add('.gitignore', 'keeps .env and .storeferry/ out of git', { content, existing: 'add' });
  }
  const dotEnv = dotEnvAddition(readIfThere(join(dir, '.env')), variables);
  if (dotEnv !== '')
    add('.env', `${Object.keys(variables).join(' and ')}, readable by you only`, {
      content: { text: dotEnv },
      mode: ONLY_ITS_OWNER,
      existing: 'add',
    });
  if (weightUnit !== undefined)
    addText('stores.yaml', 'the store, without its key', storesText(weightUnit, currency));
  for (const schema of SCHEMA_NAMES) {
    const name = `${SCHEMA_FOLDER}/${schema}.schema.json`;
    if (existsSync(join(dir, name))) continue;
    const text = `${JSON.stringify(schemaFor(schema), null, 2)}\n`;
    addText(name, 'lets an editor check and complete what you type', text);
  }
  if (starter !== undefined)
    addText(
      `mappings/${starter.name}.yaml`,
      'the mapping, with the evidence of each guess',
      mappingText(starter),
    );
  for (const { path, from } of copies)
    add(path, `a copy of ${from}`, { content: { copyOf: from }, existing: 'refuse' });
  addText(`jobs/${job.name}.yaml`, 'the job', jobText(job));
  return files;
}

/** What must be done before the job can be planned; empty if it can be planned immediately. */
export function leftToDo({ crosswalkToCome, job, unset }: NewWorkspace): string[] {
  const { crosswalk } = job;
  return [
    ...(crosswalk === 'store'
      ? [`Find out how the store finds contacts: storeferry probe ${job.store}`]
      : crosswalk === undefined || !crosswalkToCome
        ? []
        : [
            `Put the ids of the store into ${crosswalk.path}: a CSV file with the columns ${crosswalk.id} and ${crosswalk.match}.`,
          ]),
    ...unset.map((variable) => `Set ${variable} in .env or in the environment.`),
  ];
}

/** `stores.yaml` of a new workspace: one store, with address and key from the environment. */
export function storesText(
  weightUnit: StoreConfig['weightUnit'],
  currency?: StoreConfig['currency'],
  name = NEW_STORE,
): string {
  return `${schemaLine('stores', '')}
# The stores that jobs write to and read from, by name. Values in \${…} come from the environment, or from the
# file .env beside this one: keys belong there and nowhere else.
${name}:
  baseUrl: ${placeholder(STORE_VARIABLES.url)}
  apiKey: ${placeholder(STORE_VARIABLES.apiKey)}
  weightUnit: ${weightUnit} # kg, g, lb or oz: the unit the store shows; the source's weights are converted into it
  ${currency === undefined ? '# currency: EUR' : `currency: ${currency}`} # what the store sells in; a price in another currency is rejected
  # Upper bounds for requests. Storeferry starts with few requests, and sends fewer when the store is slow or fails.
  # limits: { concurrency: 16, requestsPerSecond: 20 }
`;
}

function readIfThere(path: string) {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** The lines that `.env` lacks; its later lines have priority over earlier ones. */
function dotEnvAddition(existing: string | null, variables: Readonly<Record<string, string>>) {
  const known = parseEnv(existing ?? '');
  const added = dotEnvText(
    Object.fromEntries(Object.entries(variables).filter(([name, value]) => known[name] !== value)),
  );
  return added === '' ? '' : lineBreakAfter(existing) + added;
}

/** The lines that set variables in `.env`. UsageError for a value that cannot be quoted in such a file. */
export function dotEnvText(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${dotEnvLine(name, value)}\n`)
    .join('');
}

/** What a process that was killed leaves of `.env` has a name of its own. */
const IGNORED = ['.env', '.storeferry/', '.*.tmp'] as const;

/** The text to add to a `.gitignore` (null: there is none), so that git ignores keys and state; '' for nothing. */
export function gitignoreAddition(existing: string | null): string {
  const lines = new Set((existing ?? '').split(/\r?\n/).map((line) => line.trim()));
  const missing = IGNORED.filter((entry) => !lines.has(entry) && !lines.has(`/${entry}`));
  return missing.length === 0 ? '' : `${lineBreakAfter(existing)}${missing.join('\n')}\n`;
}

/** Adds a line break to the last line of a file if necessary. */
function lineBreakAfter(existing: string | null): string {
  return existing === null || existing === '' || existing.endsWith('\n') ? '' : '\n';
}

/** A new mapping that was proposed for a file. */
interface StarterMapping {
  readonly name: string;
  /** The name of the file, for people. */
  readonly file: string;
  readonly header: readonly string[];
  /** What the guesses rest on, and the mapping itself. */
  readonly proposal: Pick<MappingProposal, 'evidence' | 'notes'>;
  readonly spec: MappingSpec;
}

/** Nobody looks through more. */
const MAX_COLUMNS_LISTED = 500;

/** A mapping file with the evidence of each guess as a comment, and the columns that are not used, to be added. */
export function mappingText({ file, header, proposal, spec }: StarterMapping): string {
  const { import: imports, columns, tests: _, ...parts } = spec;
  const used = Object.entries(columns);
  const taken = used.flatMap(([, column]) => headersOf(column).map((text) => text.split(/\{\w+\}/)));
  const isTaken = (text: string) =>
    taken.some(([before = '', after]) =>
      after === undefined ? text === before : text.startsWith(before) && text.endsWith(after),
    );
  const words = new Set(used.map(([name]) => name));
  const others = [...new Set(header.map((text) => text.trim()))].filter(
    (text) => text !== '' && !isTaken(text),
  );
  const lines = withoutAbsent([
    schemaLine('mapping', '../'),
    `# How the rows of ${inLine(file)} become ${imports}. docs/mappings.md of Storeferry describes the format;`,
    `# storeferry check   shows what is wrong with it, and runs its tests`,
    '# It was proposed by the headers and the values of the file: change what is wrong.',
    ...proposal.notes.map((note) => `#   ${inLine(note)}`),
    `import: ${imports}`,
    'columns: # a name for each column that is used, and its header in the file',
    ...used.map(
      ([name, column]) =>
        `  ${yamlTemplate(name)}: ${flow(column)} # ${inLine(proposal.evidence[name] ?? 'the file has it')}`,
    ),
    others.length !== 0 && '  # The other columns of the file; remove the # where you use one below.',
    ...others
      .slice(0, MAX_COLUMNS_LISTED)
      .map((text) => `  # ${yamlTemplate(wordFor(text, words))}: ${yamlText(text)}`),
    others.length > MAX_COLUMNS_LISTED && `  # ${others.length - MAX_COLUMNS_LISTED} more columns`,
    ...Object.entries(parts).flatMap(([key, part]) => partLines(key, part)),
    '# There is more: price rules, look-ups, conditions, and products over several rows (docs/mappings.md of Storeferry).',
    '',
    '# Rows of the file, and what must be sent for them; storeferry check compares it with what the mapping gives.',
    '# tests:',
    '#   - name: a row of the file',
    '#     rows: |',
    `#       ${inLine(header.slice(0, 4).join(','))}`,
    '#       …',
    '#     expect:',
    `#       - sends: { ${imports === 'products' ? 'title' : 'email'}: … }`,
  ]);
  return `${lines.join('\n')}\n`;
}

/** A part of the mapping: a map has a line for each of its keys. */
function partLines(key: string, part: unknown) {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return [`${key}: ${flow(part)}`];
  if (Object.keys(part).length === 0) return [];
  const about = key === 'product' ? ' # url is the key: the same url is the same product in every run' : '';
  return [
    `${key}:${about}`,
    ...Object.entries(part).map(([name, value]) => `  ${yamlTemplate(name)}: ${flow(value)}`),
  ];
}

function inLine(text: string) {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

function headersOf(column: MappingSpec['columns'][string]): readonly string[] {
  const written = typeof column === 'object' && 'header' in column ? column.header : column;
  return typeof written === 'string' ? [written] : written;
}

/** A name for a column, made from its header: letters and digits, not yet used. */
function wordFor(header: string, taken: Set<string>) {
  const parts = header.match(/[\p{L}\p{N}]+/gu) ?? [];
  const word =
    parts
      .map((part, index) =>
        index === 0 ? part.toLowerCase() : part.charAt(0).toUpperCase() + part.slice(1).toLowerCase(),
      )
      .join('') || 'column';
  let unique = word;
  for (let number = 2; taken.has(unique); number++) unique = `${word}${number}`;
  taken.add(unique);
  return unique;
}
