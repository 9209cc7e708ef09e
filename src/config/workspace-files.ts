import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigurationError, errorCode } from '../model/storeferry-error.ts';
import { isName } from './store-config.ts';
import { type KnownContent, parseYaml, readYaml, type YamlFile } from './yaml-file.ts';

/** The shipped mappings, for the sources and for `dist/`. */
export const SHIPPED_MAPPINGS = fileURLToPath(new URL('../../mappings', import.meta.url));

/**
 * What a shipped mapping contains, as `npm run build` found it; undefined in the sources. To parse one again takes 30 ms of each
 * command.
 */
function builtMapping(name: string): KnownContent | undefined {
  try {
    return JSON.parse(readFileSync(new URL(`mappings/${name}.json`, import.meta.url), 'utf8'));
  } catch {
    return undefined;
  }
}

/** A mapping file, and the folder that the paths in it are relative to. */
interface FoundMapping {
  readonly yaml: YamlFile;
  readonly dir: string;
  readonly shipped: boolean;
}

/** The YAML files of a workspace, each read once, on first use. */
export interface WorkspaceFiles {
  stores(): YamlFile | undefined;
  job(name: string): YamlFile | undefined;
  /** The workspace's own mapping, or else the shipped one with that name. */
  mapping(name: string): FoundMapping | undefined;
  readonly jobNames: readonly string[];
  readonly ownMappingNames: readonly string[];
  readonly mappingNames: readonly string[];
  /** Files in `jobs/` and `mappings/` that look like YAML but are ignored, with the reason. */
  readonly ignored: readonly { readonly file: string; readonly why: string }[];
}

/** The files of a folder that is, or may become, a workspace; `texts` replaces the content of files on disk. */
export function filesOf(
  dir: string,
  shippedDir: string,
  texts: Readonly<Record<string, string>> = {},
): WorkspaceFiles {
  const file = once((path: string) => {
    const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
    return text === undefined ? readYaml(join(dir, path), path) : parseYaml(text, path);
  });
  const shipped = once((name: string) =>
    readYaml(join(shippedDir, `${name}.yaml`), `shipped mappings/${name}.yaml`, builtMapping(name)),
  );
  const ownMappingNames = yamlNames(join(dir, 'mappings'));
  return {
    stores: () => file('stores.yaml'),
    job: (name) => (isName(name) ? file(`jobs/${name}.yaml`) : undefined),
    mapping(name) {
      if (!isName(name)) return undefined;
      const own = file(`mappings/${name}.yaml`);
      if (own !== undefined) return { yaml: own, dir, shipped: false };
      const yaml = shipped(name);
      return yaml === undefined ? undefined : { yaml, dir: shippedDir, shipped: true };
    },
    jobNames: yamlNames(join(dir, 'jobs')),
    ownMappingNames,
    mappingNames: [...new Set([...ownMappingNames, ...yamlNames(shippedDir)])].sort(),
    ignored: [...ignoredIn(dir, 'jobs'), ...ignoredIn(dir, 'mappings')],
  };
}

/** The names in a folder; none where there is no folder. */
function listFolder(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch (cause) {
    const code = errorCode(cause);
    if (code === 'ENOENT') return [];
    const message = `the folder cannot be read (${code})`;
    throw new ConfigurationError([{ place: { file: dir }, message }], { cause });
  }
}

function yamlNames(dir: string): string[] {
  return listFolder(dir)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .filter(isName);
}

function ignoredIn(dir: string, folder: string): { file: string; why: string }[] {
  return listFolder(join(dir, folder)).flatMap((name) => {
    const file = `${folder}/${name}`;
    if (/\.yml$/i.test(name)) return [{ file, why: 'the file is not read: its name must end in .yaml' }];
    const bad = name.endsWith('.yaml') && !isName(name.slice(0, -'.yaml'.length));
    return bad
      ? [{ file, why: 'the file is not read: its name may contain only letters, digits, dots, - and _' }]
      : [];
  });
}

/** Remembers the value for each name, so that a file is read once and all callers see the same. */
export function once<T>(make: (name: string) => T): (name: string) => T {
  const known = new Map<string, { readonly value: T }>();
  return (name) => {
    const entry = known.get(name) ?? { value: make(name) };
    known.set(name, entry);
    return entry.value;
  };
}
