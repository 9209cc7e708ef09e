import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isJsonObject, type JsonObject, type Path, valueAt } from '../model/json-object.ts';
import { CLONE_JOB, jobFile, jobForStore, jobNameParts } from '../model/run.ts';
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

/** The YAML files of a workspace, each read once, on first use. */
export type WorkspaceFiles = ReturnType<typeof filesOf>;

/** The files of a folder that is, or may become, a workspace; `texts` replaces the content of files on disk. */
export function filesOf(dir: string, shippedDir: string, texts: Readonly<Record<string, string>> = {}) {
  const file = once((path: string) => {
    const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
    return text === undefined ? readYaml(join(dir, path), path) : parseYaml(text, path);
  });
  const shipped = once((name: string) =>
    readYaml(join(shippedDir, `${name}.yaml`), `shipped mappings/${name}.yaml`, builtMapping(name)),
  );
  const ownMappingNames = yamlNames(join(dir, 'mappings'));
  const jobOf = once((name: string) => {
    const { file: written = '', store } = jobNameParts(name) ?? {};
    if (!isName(written)) return undefined;
    const yaml = file(jobFile(name));
    if (store === undefined) return yaml;
    if (!isName(store)) return undefined;
    if (yaml === undefined) return written === CLONE_JOB ? cloneJob(store) : undefined;
    return forStore(yaml, store);
  });
  const jobNames = once(() =>
    yamlNames(join(dir, 'jobs')).flatMap((name) => {
      const stores = storesOf(jobOf(name)?.content);
      return stores === undefined ? [name] : stores.map(({ store }) => jobForStore(name, store));
    }),
  );
  return {
    stores: () => file('stores.yaml'),
    /** The file of a job; of `JOB@STORE` as the file reads for that store, whether or not it names the store. */
    job: jobOf,
    /** The workspace's own mapping, or else the shipped one with that name; `dir`: what the paths in it are relative to. */
    mapping(name: string) {
      if (!isName(name)) return undefined;
      const own = file(`mappings/${name}.yaml`);
      if (own !== undefined) return { yaml: own, dir, shipped: false };
      const yaml = shipped(name);
      return yaml === undefined ? undefined : { yaml, dir: shippedDir, shipped: true };
    },
    /** The jobs of the workspace: a file with `stores` is a job for each of them, `JOB@STORE`. */
    get jobNames() {
      return jobNames('');
    },
    ownMappingNames,
    mappingNames: [...new Set([...ownMappingNames, ...yamlNames(shippedDir)])].sort(),
    /** Files in `jobs/` and `mappings/` that look like YAML but are ignored, with the reason. */
    dir,
    ignored: [...ignoredIn(dir, 'jobs'), ...ignoredIn(dir, 'mappings')],
  };
}

/** The names in a folder; none where there is no folder. */
function listFolder(dir: string) {
  try {
    return readdirSync(dir).sort();
  } catch (cause) {
    const code = errorCode(cause);
    if (code === 'ENOENT') return [];
    const message = `the folder cannot be read (${code})`;
    throw new ConfigurationError([{ place: { file: dir }, message }], { cause });
  }
}

function yamlNames(dir: string) {
  return listFolder(dir)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .filter(isName);
}

function ignoredIn(dir: string, folder: string) {
  return listFolder(join(dir, folder)).flatMap((name) => {
    const file = `${folder}/${name}`;
    if (/\.yml$/i.test(name)) return [{ file, why: 'the file is not read: its name must end in .yaml' }];
    const bad = name.endsWith('.yaml') && !isName(name.slice(0, -'.yaml'.length));
    return bad
      ? [{ file, why: 'the file is not read: its name may contain only letters, digits, dots, - and _' }]
      : [];
  });
}

/** The mapping is not used; any that is shipped would do. */
function cloneJob(store: string) {
  const text = ['import: products', `store: ${store}`, 'source: { path: none }', 'mapping: shopify-products'];
  return parseYaml(text.join('\n'), 'stores.yaml');
}

/** A store of a job with `stores`, and what the job has differently there. */
interface StoreOfJob {
  readonly store: string;
  readonly differs: Readonly<Record<string, unknown>>;
  readonly at: Path;
}

/** The stores that an import names with `stores`; undefined where it does not, or not validly. */
export function storesOf(content: unknown): readonly StoreOfJob[] | undefined {
  const written = valueAt(content, ['stores']);
  if (!Array.isArray(written) || written.length === 0 || valueAt(content, ['import']) === undefined)
    return undefined;
  if (valueAt(content, ['store']) !== undefined) return undefined;
  const stores = written.flatMap((entry: unknown, index): StoreOfJob[] => {
    const at = ['stores', index];
    const [store, differs] = isJsonObject(entry) ? [entry['store'], entry] : [entry, {}];
    return typeof store === 'string' && isName(store) ? [{ store, differs, at }] : [];
  });
  const isValid = new Set(stores.map(({ store }) => store)).size === written.length;
  return isValid ? stores : undefined;
}

/** Of these, a store may change single entries; of all other keys the whole value. */
const MERGED: readonly string[] = ['params', 'safety'];

/** A job file as it reads for one store: its own `store` in place of `store` or `stores`, with what differs there. */
function forStore(yaml: YamlFile, store: string): YamlFile {
  const { content } = yaml;
  if (!isJsonObject(content)) return yaml;
  const own = storesOf(content)?.find((one) => one.store === store);
  const { stores: _, schedule, ...others } = content;
  const isNamed = own !== undefined || content['store'] === store;
  // What the file schedules is sent to the stores that it names.
  const shared: JsonObject = isNamed && schedule !== undefined ? { ...others, schedule } : others;
  const differs = own?.differs ?? {};
  const merged = MERGED.flatMap((key) => {
    const [common, changed] = [shared[key], differs[key]];
    return isJsonObject(common) && isJsonObject(changed) ? [[key, { ...common, ...changed }] as const] : [];
  });
  const written = content['store'] === undefined ? 'stores' : 'store';
  return {
    content: { ...shared, ...differs, ...Object.fromEntries(merged), store },
    problems: yaml.problems,
    placeOf(path, part) {
      const [key = ''] = path;
      if (own !== undefined && valueAt(differs, path) !== undefined) {
        return yaml.placeOf([...own.at, ...path], part);
      }
      return key === 'store' ? yaml.placeOf(own?.at ?? [written], part) : yaml.placeOf(path, part);
    },
  };
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
