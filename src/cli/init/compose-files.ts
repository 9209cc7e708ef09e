import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { dotEnvText } from '../../config/new-workspace/dot-env-text.ts';
import { gitignoreAddition } from '../../config/new-workspace/gitignore-addition.ts';
import { jobText, type NewJob } from '../../config/new-workspace/job-text.ts';
import { mappingText, type StarterMapping } from '../../config/new-workspace/mapping-text.ts';
import { storesText } from '../../config/new-workspace/stores-text.ts';
import type { NewFile } from '../../config/new-workspace/write-together.ts';
import { SCHEMA_FOLDER } from '../../config/new-workspace/yaml-text.ts';
import { SCHEMA_NAMES, schemaFor } from '../../config/reference/json-schema.ts';
import type { StoreConfig } from '../../config/stores.ts';

const ONLY_ITS_OWNER = 0o600;

/** What the answers to all questions come to. */
export interface WorkspaceToBe {
  readonly dir: string;
  /** Undefined where stores.yaml is there already. */
  readonly weightUnit: StoreConfig['weightUnit'] | undefined;
  /** For `.env`. */
  readonly variables: Readonly<Record<string, string>>;
  /** Variables that the store waits for, and that nobody has given. */
  readonly unset: readonly string[];
  /** Whether the store is the sandbox. */
  readonly sandbox: boolean;
  readonly job: NewJob;
  /** Whether the crosswalk of the job is yet to be made. */
  readonly crosswalkToCome: boolean;
  readonly starter: StarterMapping | undefined;
  /** The source, where it is to be copied to the path that the job names. */
  readonly copyOf: string | undefined;
}

/** A file of the workspace, and what it is for. */
export interface ComposedFile extends NewFile {
  /** Relative to the workspace. */
  readonly name: string;
  readonly what: string;
}

/** The files that are to be written; those that are there and need nothing are left out. */
export function composeFiles(toBe: WorkspaceToBe): ComposedFile[] {
  const { dir, weightUnit, variables, job, starter, copyOf } = toBe;
  const files: ComposedFile[] = [];
  const add = (name: string, what: string, file: Omit<NewFile, 'path'>) =>
    files.push({ name, what, path: join(dir, name), ...file });
  const addText = (name: string, what: string, text: string) =>
    add(name, what, { content: { text }, existing: 'refuse' });

  if (weightUnit !== undefined) addText('stores.yaml', 'the store, without its key', storesText(weightUnit));
  const dotEnv = dotEnvAddition(readIfThere(join(dir, '.env')), variables);
  if (dotEnv !== '') {
    add('.env', `${Object.keys(variables).join(' and ')}, readable by you only`, {
      content: { text: dotEnv },
      mode: ONLY_ITS_OWNER,
      existing: 'add',
    });
  }
  const ignored = gitignoreAddition(readIfThere(join(dir, '.gitignore')));
  if (ignored !== '') {
    add('.gitignore', 'keeps .env and .storeferry/ out of git', {
      content: { text: ignored },
      existing: 'add',
    });
  }
  for (const schema of SCHEMA_NAMES) {
    const name = `${SCHEMA_FOLDER}/${schema}.schema.json`;
    if (existsSync(join(dir, name))) continue;
    addText(
      name,
      'lets an editor check and complete what you type',
      `${JSON.stringify(schemaFor(schema), null, 2)}\n`,
    );
  }
  if (starter !== undefined)
    addText(`mappings/${starter.name}.yaml`, 'the mapping, for you to complete', mappingText(starter));
  if (copyOf !== undefined)
    add(job.source.path, `a copy of ${copyOf}`, { content: { copyOf }, existing: 'refuse' });
  addText(`jobs/${job.name}.yaml`, 'the job', jobText(job));
  return files;
}

function readIfThere(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** What `.env` does not say yet; later lines of it go before earlier ones. */
function dotEnvAddition(existing: string | null, variables: Readonly<Record<string, string>>): string {
  const known = parseEnv(existing ?? '');
  const added = dotEnvText(
    Object.fromEntries(Object.entries(variables).filter(([name, value]) => known[name] !== value)),
  );
  const start = added === '' || existing === null || existing === '' || existing.endsWith('\n') ? '' : '\n';
  return start + added;
}
