import { hash, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  globSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, parse } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { type Path, valueAt } from '../model/json-object.ts';
import { originOf } from '../model/remote-address.ts';
import { jobFile, jobFileName } from '../model/run.ts';
import {
  type ConfigurationProblem,
  errorCode,
  formatPlace,
  StoreferryError,
  UsageError,
} from '../model/storeferry-error.ts';
import { addressAt } from './complete-places.ts';
import type { Inspection } from './inspection.ts';
import type { Workspace } from './workspace.ts';
import { literalSecrets, type WrittenAddress, writeAddress } from './write-address.ts';
import { parseYaml } from './yaml-file.ts';
import { editYaml, keepPlaceholders, pausedPart, type YamlEdit } from './yaml-text.ts';

export { freeVariable, hasSecret, hideSecrets, variableOf, type WrittenAddress } from './write-address.ts';

/** A file that is written completely or not at all. */
export interface FileToWrite {
  /** An absolute path. */
  readonly path: string;
  readonly content: { readonly text: string } | { readonly copyOf: string };
  /** Permissions; default: those of the user's other files. */
  readonly mode?: number | undefined;
  /** `add` appends the text to an existing file; `refuse` makes such a file an error. */
  readonly existing: 'refuse' | 'add';
}

/**
 * Writes files together: all or none. It never overwrites existing files; UsageError if one has appeared meanwhile.
 * It is synchronous, so only the death of the process can interrupt it.
 */
export function writeTogether(files: readonly FileToWrite[]): void {
  const undo: (() => void)[] = [];
  try {
    const prepared = files.map((file) => prepare(file, undo));
    for (const commit of prepared) commit();
  } catch (error) {
    for (const step of undo.reverse()) attempt(step);
    throw error;
  }
  // All files are in place; their temporary files are no longer needed.
  for (const file of files) rmSync(temporaryOf(file.path), { force: true });
}

/** The files of a workspace are in these folders. */
const FOLDERS = ['.', 'jobs', 'mappings', 'schemas', 'uploads'] as const;
const TEMPORARY = /^\..+\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;
/** No writer needs so long. */
const ABANDONED_AFTER_MS = 60 * 60 * 1_000;

/** Removes what killed processes have left of files that they wrote: copies of keys and sources. */
export function removeTemporaryFiles(workspaceDir: string, now: number): void {
  for (const path of globSync(
    FOLDERS.map((folder) => join(folder, '.*.tmp')),
    { cwd: workspaceDir },
  )) {
    const whole = join(workspaceDir, path);
    const modified = TEMPORARY.test(basename(path))
      ? lstatSync(whole, { throwIfNoEntry: false })?.mtimeMs
      : undefined;
    if (modified !== undefined && now - modified > ABANDONED_AFTER_MS)
      attempt(() => rmSync(whole, { force: true }));
  }
}

/** A step of a clean-up that fails must not prevent the others, nor hide the first error. */
function attempt(step: () => void) {
  try {
    step();
  } catch {
    // The first error is the one to report.
  }
}

const MARK = randomUUID();

function temporaryOf(path: string) {
  return join(dirname(path), `.${basename(path)}.${MARK}.tmp`);
}

/** Prepares a file beside its final place, and returns the function that moves it there. */
function prepare({ path, content, mode, existing }: FileToWrite, undo: (() => void)[]) {
  if (existsSync(path)) {
    if (existing === 'refuse' || 'copyOf' in content) throw appeared(path);
    return () => append(path, content.text, mode, undo);
  }
  makeFolder(dirname(path), undo);
  const temporary = temporaryOf(path);
  undo.push(() => rmSync(temporary, { force: true }));
  const write = () => {
    if ('copyOf' in content) {
      copyFileSync(content.copyOf, temporary, constants.COPYFILE_EXCL);
      // The copy belongs to the user, even if the original was not writable.
      chmodSync(temporary, statSync(temporary).mode | OWNER_WRITES);
    } else {
      writeFileSync(temporary, content.text, { flag: 'wx', mode });
    }
    sync(temporary);
  };
  // Whoever is killed while a large file is copied has left no secret in a folder whose `.gitignore` is not yet there.
  const isSecret = mode !== undefined;
  if (!isSecret) write();
  return () => {
    if (isSecret) write();
    putNew(temporary, path);
    undo.push(() => rmSync(path, { force: true }));
  };
}

const OWNER_WRITES = 0o200;

/** Appends to an existing file, also through a symbolic link. Permissions that `mode` does not have are removed. */
function append(path: string, text: string, mode: number | undefined, undo: (() => void)[]) {
  const before = statSync(path);
  undo.push(() => {
    truncateSync(path, before.size);
    chmodSync(path, before.mode);
  });
  if (mode !== undefined) chmodSync(path, before.mode & mode);
  appendFileSync(path, text);
}

const ALL = 0o777;
const ONLY_ITS_OWNER = 0o600;

/**
 * Sets variables in `.env`, which only its owner can read: in the lines that they have there, so that no earlier value stays.
 * UsageError for a value that cannot be quoted in such a file.
 */
export function setVariables(workspaceDir: string, variables: Readonly<Record<string, string>>): void {
  const path = join(workspaceDir, '.env');
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  let text = before ?? '';
  for (const [name, value] of Object.entries(variables)) text = withVariable(text, name, value);
  if (text === (before ?? '')) return;
  if (before === undefined)
    writeTogether([{ path, content: { text }, mode: ONLY_ITS_OWNER, existing: 'refuse' }]);
  else if (!replaceFile(path, text, sha256Of(Buffer.from(before)), ONLY_ITS_OWNER))
    throw new UsageError('.env was changed meanwhile, and nothing was written.', { hint: 'Try again.' });
}

/** Writes a new file, and then the variables that it uses; neither if one of both fails. */
export function writeWithVariables(
  workspaceDir: string,
  file: FileToWrite,
  variables: Readonly<Record<string, string>>,
): void {
  writeTogether([file]);
  setVariablesOrElse(workspaceDir, variables, () => rmSync(file.path, { force: true }));
}

function setVariablesOrElse(
  workspaceDir: string,
  variables: Readonly<Record<string, string>>,
  undo: () => void,
) {
  try {
    setVariables(workspaceDir, variables);
  } catch (error) {
    attempt(undo);
    throw error;
  }
}

function withVariable(text: string, name: string, value: string) {
  const line = dotEnvLine(name, value);
  const isOf = (written: string) => {
    const assigned = written
      .trimStart()
      .replace(/^export /, '')
      .trimStart();
    return assigned.startsWith(name) && assigned.slice(name.length).trimStart().startsWith('=');
  };
  const lines = text.split('\n').map((written) => (isOf(written) ? line : written));
  const replaced = lines.join('\n');
  // A line may be part of a value of several lines.
  if (isDeepStrictEqual(parseEnv(replaced), { ...parseEnv(text), [name]: value })) return replaced;
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
}

/** The line of `.env` that sets a variable. UsageError for a value that cannot be quoted there. */
export function dotEnvLine(name: string, value: string): string {
  const ways = [value, `'${value}'`, `"${value}"`, `\`${value}\``];
  const line = ways.map((way) => `${name}=${way}`).find((text) => parseEnv(text)[name] === value);
  if (line !== undefined) return line;
  throw new UsageError(`The value of ${name} cannot be written into .env: it mixes all kinds of quotes.`, {
    hint: `Set ${name} in the environment instead.`,
  });
}

/**
 * Replaces the text of an existing file atomically, also through a symbolic link; permissions stay. False, with nothing
 * changed, if the file has not, or no longer, the content of this hash. Synchronous, so that requests of one process exclude
 * each other.
 */
function replaceFile(path: string, text: string, expectedSha256: string, mode = ALL) {
  const real = realpathSync(path);
  const temporary = temporaryOf(real);
  try {
    // Nobody else may read it meanwhile, nor after a death.
    writeFileSync(temporary, text, { flag: 'wx', mode: 0o600 });
    chmodSync(temporary, statSync(real).mode & mode);
    sync(temporary);
    if (sha256Of(readFileSync(real)) !== expectedSha256) return false;
    renameSync(temporary, real);
    return true;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Writes a file completely or not at all, instead of an existing one: processes that read the old file can finish. `mode`: its permissions.
 * The folder must exist.
 */
export async function writeWhole(
  path: string,
  content: AsyncIterable<Uint8Array | string> | Iterable<string>,
  { mode = 0o666 }: { readonly mode?: number } = {},
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  try {
    const file = await open(temporary, 'wx', mode);
    await pipeline(content, file.createWriteStream({ flush: true }));
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The hash by which `replaceFile` knows the content of a file. */
function sha256Of(content: Uint8Array) {
  return hash('sha256', content);
}

function makeFolder(path: string, undo: (() => void)[]) {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  undo.push(() => {
    for (let folder = path; folder.length >= first.length; folder = dirname(folder)) rmdirSync(folder);
  });
}

function sync(path: string) {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Creating a link fails if the file exists, unlike a rename; file systems without links use a copy. */
function putNew(from: string, path: string) {
  try {
    linkSync(from, path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw appeared(path);
    copyFileSync(from, path, constants.COPYFILE_EXCL);
  }
}

/** Renames a file, unlike a rename never over another one. UsageError if the new name is taken. */
export function moveNew(from: string, to: string): void {
  // A process that died in between has left both names of one file.
  if (!isOneFile(from, to)) putNew(from, to);
  try {
    rmSync(from);
  } catch (error) {
    rmSync(to);
    throw error;
  }
}

/** Whether two names are links of one file; where case does not count, one link has several names. */
function isOneFile(path: string, other: string) {
  const [one, two] = [path, other].map((each) => lstatSync(each, { throwIfNoEntry: false }));
  return one !== undefined && one.nlink > 1 && one.ino === two?.ino && one.dev === two.dev;
}

function appeared(path: string) {
  return new UsageError(`${path} is there already, and nothing is overwritten.`, {
    hint: 'Choose another name, or move the file away.',
  });
}

/** The name, if necessary with a number, so that no file in the folder has it. */
export function freeName(folder: string, wanted: string): string {
  const { name, ext } = parse(wanted);
  let free = wanted;
  for (let number = 2; existsSync(join(folder, free)); number++) free = `${name}-${number}${ext}`;
  return free;
}

/** The same for a YAML file, without its ending. */
export function freeYamlName(folder: string, wanted: string): string {
  return parse(freeName(folder, `${wanted}.yaml`)).name;
}

export type { Path, YamlEdit };

/** A YAML file of a workspace as a form shows it. */
export type EditableFile = ReturnType<typeof readEditable>;

/** The password of an address. */
const CREDENTIALS = /\/\/[^/\s:@"']*:([^/\s@"']+)@/g;

/** Reads a file, named relative to the workspace. */
export function readEditable({ path }: Workspace, file: string) {
  const bytes = readFileSync(path(file));
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const { content, problems } = parseYaml(text, file);
  return {
    text,
    sha256: sha256Of(bytes),
    /** Why it is no YAML file. */
    problems,
    /** Values in addresses that are, or look like, secrets: they must not be shown. */
    secrets: [
      ...literalSecrets(text).map(({ value }) => value),
      ...[...text.matchAll(CREDENTIALS)].map(([, password = '']) => password),
    ],
    /** The value at a path, with its placeholders as written. */
    at: (path: Path) => valueAt(content, path),
    /** The value of a key that is paused: a comment that can become the key again. */
    paused: (key: string) => (problems.length > 0 ? undefined : pausedPart(text, key)),
  };
}

/** The text that a file would have, or why it cannot be changed so. */
export function editedText(
  { text }: EditableFile,
  edits: readonly YamlEdit[],
): { readonly text: string } | { readonly problem: string } {
  try {
    return { text: editYaml(text, edits) };
  } catch (error) {
    if (!(error instanceof StoreferryError)) throw error;
    const { message, hint = '' } = error;
    return { problem: `${message} ${hint}`.trim() };
  }
}

/** Settings that an address may keep when it leads to another server: they carry no secret and open no network. */
const SETTINGS_OF_NO_SERVER: readonly string[] = ['address', 'newest'];

/**
 * The edits, where an address that leads to another server (scheme, host or port) gives up what was meant for the old one: its
 * placeholders, and the settings beside it, such as `auth`, `headers` and `allowPrivateAddresses`. Secrets of a typed address go into
 * variables.
 */
function editsOfAddresses(
  workspace: Workspace,
  file: string,
  { at }: Pick<EditableFile, 'at'>,
  edits: readonly YamlEdit[],
): { readonly edits: readonly YamlEdit[]; readonly variables: WrittenAddress['variables'] } {
  const { fill } = workspace;
  const variables: Record<string, string> = {};
  const written = edits.flatMap((edit): readonly YamlEdit[] => {
    const address = 'to' in edit && typeof edit.to === 'string' ? addressAt(edit.set) : undefined;
    if (address === undefined || !('to' in edit) || typeof edit.to !== 'string') return [edit];
    const before = at(edit.set);
    const origin = typeof before === 'string' ? originOf(fill(before)) : undefined;
    const isSame = origin !== undefined && origin === originOf(fill(keepPlaceholders(edit.to, before)));
    const typed = writeAddress(edit.to, {
      isFree: (name) => !workspace.hasVariable(name),
      before: isSame ? before : undefined,
      mayReplace: (name) => workspace.isInDotEnv(name) && !isUsedElsewhere(workspace, file, name),
    });
    Object.assign(variables, typed.variables);
    const { settings } = address;
    const own = settings === null ? undefined : at(settings);
    const others = Object.keys(typeof own === 'object' && own !== null ? own : {}).filter(
      (key) => !isSame && !SETTINGS_OF_NO_SERVER.includes(key) && key !== edit.set.at(-1),
    );
    const removed = others.map((key) => ({ set: [...(settings ?? []), key], to: undefined }));
    if (Object.keys(typed.variables).length === 0)
      return [isSame ? edit : { ...edit, foreign: true }, ...removed];
    if (typeof typed.url === 'string' || settings === null)
      return [{ set: edit.set, template: typed.url }, ...removed];
    const { address: text, auth } = typed.url;
    return [{ set: edit.set, template: text }, ...removed, { set: [...settings, 'auth'], template: auth }];
  });
  return { edits: written, variables };
}

/** Whether another file of the workspace, or another place of `stores.yaml`, has a placeholder of this variable, or of one whose name begins so. */
export function isUsedElsewhere(
  { files }: Workspace,
  file: string,
  variable: string,
  at: Path = [],
): boolean {
  const jobs = files.jobNames.filter((job) => jobFile(jobFileName(job)) !== file);
  const own = valueAt(files.stores()?.content, at);
  const inStores = countOf(files.stores()?.content, variable) - (at.length > 0 ? countOf(own, variable) : 0);
  const others = [
    ...jobs.map((job) => files.job(job)),
    ...files.ownMappingNames.map((name) => files.mapping(name)?.yaml),
  ];
  return inStores > 0 || others.some((one) => countOf(one?.content, variable) > 0);
}

/** How often a text has a placeholder of this variable, or of one whose name begins so. */
function countOf(content: unknown, variable: string) {
  return JSON.stringify(content ?? null).split(`\${${variable}`).length - 1;
}

/** What became of a change. */
type Saved =
  /** `removed`: the settings of another server, by their names. */
  | { readonly kind: 'saved'; readonly removed: readonly string[] }
  /** The file is no longer the one that was shown; nothing is written. */
  | { readonly kind: 'outdated' }
  /** The file would be wrong; nothing is written. */
  | { readonly kind: 'refused'; readonly problems: readonly EditProblem[] };

/** A problem of the changed file, with the path of the field that it is about, if it is about one of them. */
interface EditProblem {
  readonly at: Path | undefined;
  readonly message: string;
}

/**
 * Changes a file that was shown with this hash, and that the checks accept afterwards, and before it the variables that it uses, in
 * `.env`. What `isNew` comes before its variables: of a process that is killed between, a part without its key is left, which is seen,
 * and no key that another part of the same name would use. Synchronous: no other request comes between. `fields` are the paths of the form; `check` gives what must have no problems.
 */
export function editFile(
  workspace: Workspace,
  file: string,
  {
    sha256,
    edits,
    fields,
    check,
    variables = {},
    isNew = false,
  }: {
    readonly sha256: string;
    readonly edits: readonly YamlEdit[];
    readonly fields: readonly Path[];
    readonly check: (inspection: Inspection) => readonly ConfigurationProblem[];
    readonly variables?: Readonly<Record<string, string>>;
    readonly isNew?: boolean;
  },
): Saved {
  const shown = readEditable(workspace, file);
  if (shown.sha256 !== sha256) return { kind: 'outdated' };
  const { edits: safe, variables: secrets } = editsOfAddresses(workspace, file, shown, edits);
  const allVariables = { ...variables, ...secrets };
  const edited = editedText(shown, safe);
  if ('problem' in edited) return { kind: 'refused', problems: [{ at: undefined, message: edited.problem }] };
  const { text } = edited;
  const problems = check(workspace.inspectionWith({ [file]: text }, allVariables));
  if (problems.length > 0) {
    const yaml = parseYaml(text, file);
    const isAt = (place: string, path: Path) =>
      valueAt(yaml.content, path) !== undefined &&
      (['value', 'key'] as const).some((part) => formatPlace(yaml.placeOf(path, part)) === place);
    return {
      kind: 'refused',
      problems: problems.map(({ place, message }) => ({
        at: fields.find((path) => isAt(formatPlace(place), path)),
        message: place.file === file ? message : `${formatPlace(place)}: ${message}`,
      })),
    };
  }
  const path = workspace.path(file);
  if (!isNew) setVariables(workspace.dir, allVariables);
  if (!replaceFile(path, text, sha256)) return { kind: 'outdated' };
  if (isNew)
    setVariablesOrElse(workspace.dir, allVariables, () =>
      replaceFile(path, shown.text, sha256Of(Buffer.from(text))),
    );
  const removed = safe.flatMap((edit) =>
    'to' in edit && edit.to === undefined && !edits.includes(edit) ? [String(edit.set.at(-1))] : [],
  );
  return { kind: 'saved', removed };
}
