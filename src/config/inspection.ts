import { type MappingFile, mappingSchema } from '../mapping/spec/mapping-spec.ts';
import { type ConfigurationProblem, formatPlace } from '../model/storeferry-error.ts';
import { completePlaces, placeSecrets } from './complete-places.ts';
import type { Environment, SecretField } from './environment.ts';
import { type Interpretation, interpret } from './interpret.ts';
import { exportJobSchema } from './job/export-job-schema.ts';
import { importJobSchema } from './job/import-job-schema.ts';
import { CROSSWALK_AT, type Job, SOURCE_AT, toExportJob, toImportJob } from './job/job.ts';
import { jobRelations, type Named, type Quote, type RelationProblem } from './job/job-relations.ts';
import { isName, type StoreConfig, storeSchema } from './store-config.ts';
import { type Path, pathKey, valueAt } from './value-at.ts';
import { once, type WorkspaceFiles } from './workspace-files.ts';
import type { YamlFile } from './yaml-file.ts';

/** The contents of the workspace files with all their problems; undefined if a file or entry does not exist. */
export interface Inspection {
  /** The names in `stores.yaml` (undefined if it cannot be read), and problems that concern no single store. */
  stores(): {
    readonly names: readonly string[] | undefined;
    readonly problems: readonly ConfigurationProblem[];
  };
  store(name: string): Interpretation<StoreConfig> | undefined;
  /** A job alone, and together with its store and its mapping. */
  job(name: string): Interpretation<Job> | undefined;
  mapping(name: string): Interpretation<MappingFile> | undefined;
}

const STORE_SECRETS: readonly SecretField[] = [{ path: ['apiKey'], literal: 'refused' }];
const DESTINATION_AT = ['destination'];
const JOB_SECRETS: readonly SecretField[] = [{ path: ['notify', 'url'], literal: 'allowed' }];

/** Reads each file on first use. `onSecret` is called with each secret from the environment. */
export function inspectFiles(
  files: WorkspaceFiles,
  environment: Environment,
  onSecret: (value: string) => void,
): Inspection {
  const context = { environment, onSecret };

  function stores() {
    const yaml = files.stores();
    if (yaml === undefined) {
      return {
        names: undefined,
        problems: [{ place: { file: 'stores.yaml' }, message: 'there is no such file' }],
      };
    }
    if (yaml.problems.length > 0) return { names: undefined, problems: yaml.problems };
    if (!isMap(yaml.content)) {
      const empty = yaml.content === null ? 'the file is empty; ' : '';
      const message = `${empty}expected a map of stores by name`;
      return { names: undefined, problems: [{ place: yaml.placeOf([], 'value'), message }] };
    }
    const names = Object.keys(yaml.content);
    const problems = names
      .filter((name) => !isName(name))
      .map((name) => ({
        place: yaml.placeOf([name], 'key'),
        message:
          'expected a store name of letters, digits, dots, - and _ that begins with a letter or a digit',
      }));
    return { names: names.filter(isName), problems };
  }

  function store(name: string) {
    const yaml = files.stores();
    if (yaml === undefined || !stores().names?.includes(name)) return undefined;
    const found = interpret(yaml, {
      ...context,
      schema: storeSchema,
      at: [name],
      secretFields: STORE_SECRETS,
    });
    return withValue(found, (value) => ({ name, ...value }));
  }

  const mapping = once((name): Interpretation<MappingFile> | undefined => {
    const found = files.mapping(name);
    if (found === undefined) return undefined;
    const { yaml, dir, shipped } = found;
    const written = valueAt(yaml.content, ['lookups']);
    const at = isMap(written) ? Object.keys(written).map((lookup) => ['lookups', lookup]) : [];
    const secretFields = placeSecrets(yaml, at);
    const read = interpret(yaml, { ...context, schema: mappingSchema, at: [], secretFields });
    const lookup = ({ lookups }: MappingFile['spec'], [, lookup = '']: Path) => {
      const found = lookups?.[String(lookup)];
      return found?.of === undefined ? found : undefined;
    };
    return completePlaces(read, yaml, at, context, lookup, (spec, placeAt) => ({
      name,
      spec,
      shipped,
      dir,
      lookupPlaces: new Map(
        Object.entries(spec.lookups ?? {}).flatMap(([name, { path, of }]) => {
          const part = at.find(([, written]) => written === name);
          if (part !== undefined) return of === undefined ? [[name, placeAt(part)]] : [];
          // A step names this table of rates by its path.
          return path === undefined ? [] : [[name, { path }]];
        }),
      ),
      placeOf: (path, part = 'value') => yaml.placeOf(path, part),
    }));
  });

  function job(name: string): Interpretation<Job> | undefined {
    const yaml = files.job(name);
    if (yaml === undefined) return undefined;
    const read = readJob(name, yaml);
    const known = { stores: stores().names, mappings: files.mappingNames };
    const quote: Quote = (path, value) => read.placeholders.get(pathKey(path)) ?? `'${value}'`;
    const spec = read.value?.kind === 'import' ? mapping(read.value.mapping)?.value?.spec : undefined;
    const named = read.value ?? literalNames(yaml.content);
    const relations = jobRelations(named, known, quote, read.value, spec);
    const problems = [...read.problems, ...relationsToProblems(relations, yaml, read)];
    return problems.length === 0 ? read : { ...read, value: undefined, problems };
  }

  function readJob(name: string, yaml: YamlFile): Interpretation<Job> {
    const at = isExport(yaml.content) ? [DESTINATION_AT] : [SOURCE_AT, CROSSWALK_AT];
    const base = { ...context, at: [], secretFields: [...JOB_SECRETS, ...placeSecrets(yaml, at)] };
    return isExport(yaml.content)
      ? completePlaces(
          interpret(yaml, { ...base, schema: exportJobSchema }),
          yaml,
          at,
          context,
          ({ destination }) => destination,
          (value, placeAt) => toExportJob(name, value, placeAt(DESTINATION_AT)),
        )
      : completePlaces(
          interpret(yaml, { ...base, schema: importJobSchema }),
          yaml,
          at,
          context,
          ({ source, crosswalk }, part) => (part === SOURCE_AT ? source : crosswalk),
          (value, placeAt) => toImportJob(name, value, placeAt),
        );
  }

  return { stores, store, job, mapping };
}

function isMap(value: unknown): value is object {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** The names in an invalid job, so that one check finds all problems. */
function literalNames(content: unknown): Named {
  const literal = (key: string) => {
    const value = valueAt(content, [key]);
    return typeof value === 'string' && value !== '' && !value.includes('${') ? value : undefined;
  };
  return { store: literal('store'), mapping: literal('mapping') };
}

function isExport(content: unknown): boolean {
  return isMap(content) && !('import' in content) && ('export' in content || 'destination' in content);
}

function withValue<T, U>(found: Interpretation<T>, change: (value: T) => U): Interpretation<U> {
  return { ...found, value: found.value === undefined ? undefined : change(found.value) };
}

/** A value with an unset variable cannot be checked. */
function relationsToProblems(
  relations: readonly RelationProblem[],
  yaml: YamlFile,
  { unset }: Interpretation<Job>,
): ConfigurationProblem[] {
  const open = new Set(unset.map(({ place }) => formatPlace(place)));
  return relations
    .map(({ path, part, message }) => ({ place: yaml.placeOf(path, part), message }))
    .filter(({ place }) => !open.has(formatPlace(place)));
}
