import { basename, dirname, resolve } from 'node:path';
import {
  type ContactMappingSpec,
  lackingFields,
  type MappingFile,
  type MappingSpec,
  mappedFields,
  mappingSchema,
  matchValue,
  type ProductMappingSpec,
  paramProblems,
} from '../mapping/spec/mapping-spec.ts';
import { isJsonObject, type Path, pathKey, valueAt } from '../model/json-object.ts';
import { storeIdentity } from '../model/remote-address.ts';
import { jobFileName } from '../model/run.ts';
import { ConfigurationError, type ConfigurationProblem, formatPlace } from '../model/storeferry-error.ts';
import { suggestNames } from '../text/printable.ts';
import { completePlaces, placeSecrets } from './complete-places.ts';
import { type Interpretation, interpret } from './interpret.ts';
import { exportJobSchema } from './job/export-job-schema.ts';
import { importJobSchema, storesJobSchema } from './job/import-job-schema.ts';
import {
  ADOPT_AT,
  CROSSWALK_AT,
  crosswalkField,
  type ImportJob,
  type Job,
  matchableFields,
  PUBLISH_AT,
  SOURCE_AT,
  toExportJob,
  toImportJob,
  updateMatch,
} from './job/job.ts';
import { RECIPIENT_SECRETS } from './job/job-fields.ts';
import type { Environment, SecretField } from './settings.ts';
import { isName, type StoreConfig, storeSchema } from './store-config.ts';
import { once, type WorkspaceFiles } from './workspace-files.ts';
import type { YamlFile } from './yaml-file.ts';

/** The contents of the workspace files with all their problems; undefined if a file or entry does not exist. */
export type Inspection = ReturnType<typeof inspectFiles>;

const STORE_SECRETS: readonly SecretField[] = [{ path: ['apiKey'], literal: 'refused' }];
const DESTINATION_AT = ['destination'];
/** The variable with the key of `mask: hash`. */
const MASK_KEY = 'MASK_KEY';
const MIN_MASK_KEY_LENGTH = 16;

/** The secrets of the recipients of notifications. */
function notifySecrets({ content }: YamlFile): SecretField[] {
  const written = valueAt(content, ['notify']);
  const at = Array.isArray(written) ? written.map((_, index) => ['notify', index]) : [['notify']];
  return at.flatMap((part) =>
    Object.entries(RECIPIENT_SECRETS).flatMap(([key, literal]) =>
      literal === null ? [] : [{ path: [...part, key], literal }],
    ),
  );
}

/** Reads each file on first use. `onSecret` is called as in `Reading`. */
export function inspectFiles(
  files: WorkspaceFiles,
  environment: Environment,
  onSecret: (value: string) => void,
) {
  const context = { environment, onSecret };

  /** The names in `stores.yaml` (undefined if it cannot be read), and problems that concern no single store. */
  function stores() {
    const yaml = files.stores();
    const unread = (problems: readonly ConfigurationProblem[]) => ({ names: undefined, problems });
    if (yaml === undefined)
      return unread([{ place: { file: 'stores.yaml' }, message: 'there is no such file' }]);
    if (yaml.problems.length > 0) return unread(yaml.problems);
    if (!isJsonObject(yaml.content)) {
      const empty = yaml.content === null ? 'the file is empty; ' : '';
      const message = `${empty}expected a map of stores by name`;
      return unread([{ place: yaml.placeOf([], 'value'), message }]);
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

  const store = inspectOnce((name) => {
    const yaml = files.stores();
    if (yaml === undefined || !stores().names?.includes(name)) return undefined;
    const reading = { ...context, schema: storeSchema, at: [name], secretFields: STORE_SECRETS };
    const found = interpret(yaml, reading);
    const value: StoreConfig | undefined = found.value && { name, ...found.value };
    return { ...found, value };
  });

  const mapping = inspectOnce((name): Interpretation<MappingFile> | undefined => {
    const found = files.mapping(name);
    if (found === undefined) return undefined;
    const { yaml, dir, shipped } = found;
    const written = valueAt(yaml.content, ['lookups']);
    const at = isJsonObject(written) ? Object.keys(written).map((lookup) => ['lookups', lookup]) : [];
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

  /** A job alone, and together with its store and its mapping. */
  const job = inspectOnce((name): Interpretation<Job> | undefined => {
    const yaml = files.job(name);
    if (yaml === undefined) return undefined;
    // Its jobs are those of its stores; what is wrong with the list itself is found here.
    if (isJsonObject(yaml.content) && 'stores' in yaml.content && !isExport(yaml.content)) {
      const found = interpret(yaml, { ...context, schema: storesJobSchema, at: [], secretFields: [] });
      return { ...found, value: undefined };
    }
    const read = readJob(name, yaml);
    const known = { stores: stores().names, mappings: files.mappingNames };
    const quote: Quote = (path, value) => read.placeholders.get(pathKey(path)) ?? `'${value}'`;
    const spec = read.value?.kind === 'import' ? mapping(read.value.mapping)?.value?.spec : undefined;
    const named = read.value ?? literalNames(yaml.content);
    const job = read.value?.kind === 'import' ? read.value : undefined;
    const misfits = job === undefined || spec === undefined ? [] : checkMappingUse(job, spec, quote);
    const shared = job === undefined ? checkDestination(name) : checkInbox(job);
    const relations = [...checkNames(named, known, quote), ...misfits, ...shared];
    const problems = [...read.problems, ...relationsToProblems(relations, yaml, read)];
    return problems.length === 0 ? read : { ...read, value: undefined, problems };
  });

  /** The folder where the files arrive that a job is run for. */
  const inboxOf = once((name: string) => {
    const yaml = files.job(name);
    const job = yaml && readJob(name, yaml).value;
    return job?.kind === 'import' && job.source.watch !== undefined ? dirname(job.source.watch) : undefined;
  });

  /** A file that arrives is moved for one job, so that no other sees it. */
  function checkInbox({ name, source: { watch } }: ImportJob): RelationProblem[] {
    if (watch === undefined) return [];
    const folder = dirname(watch);
    const other = files.jobNames.find((one) => {
      const inbox = one === name ? undefined : inboxOf(one);
      return inbox !== undefined && (inbox === folder || isMovedTo(folder, inbox));
    });
    if (other === undefined) return [];
    const message =
      inboxOf(other) !== folder
        ? `the job ${other} moves the files of its own inbox to this folder; watch another one`
        : jobFileName(other) === jobFileName(name)
          ? `each file would reach only one of the stores that watch ${folder}; write in \`stores\` a folder for each: { store: NAME, source: { watch: ${folder}/NAME/*.csv } }`
          : `the job ${other} watches ${folder} too, and each file is for one job; give each a folder of its own, such as ${folder}/${name}/${basename(watch)}`;
    return [{ path: ['source', 'watch'], message }];
  }

  /** Where an export writes, and the store that it reads; undefined where each run has a file of its own. */
  const exportOf = once((name: string) => {
    const yaml = files.job(name);
    const job = yaml && readJob(name, yaml).value;
    const read = job?.kind === 'export' ? store(job.store)?.value : undefined;
    if (job?.kind !== 'export' || read === undefined) return undefined;
    const { path = '', remote, table = '' } = job.destination;
    const { location = resolve(files.dir, path), endpoint } = remote ?? {};
    const url = remote !== undefined && 'url' in remote ? String(remote.url) : 'none:';
    if (!URL.canParse(url) || location.includes('{run}')) return undefined;
    const { username, search } = new URL(url);
    // In PostgreSQL user and options choose the schema, and letter case the table.
    const within = remote?.kind === 'postgres' ? [username, search, table] : [table.toLowerCase()];
    return { store: storeIdentity(read), place: [location, endpoint, ...within].join('\n') };
  });

  /** No line of an export says which store it is of. */
  function checkDestination(name: string): RelationProblem[] {
    const own = exportOf(name);
    if (own === undefined) return [];
    const other = files.jobNames.find((one) => {
      const found = exportOf(one);
      return found?.place === own.place && found.store !== own.store;
    });
    if (other === undefined) return [];
    const message = `the job ${other} exports another store to the same place: the two would be mixed, or replace each other; name another file or table`;
    return [{ path: DESTINATION_AT, message }];
  }

  function readJob(name: string, yaml: YamlFile): Interpretation<Job> {
    const at = isExport(yaml.content) ? [DESTINATION_AT] : [SOURCE_AT, CROSSWALK_AT, ADOPT_AT, PUBLISH_AT];
    const base = { ...context, at: [], secretFields: [...notifySecrets(yaml), ...placeSecrets(yaml, at)] };
    return isExport(yaml.content)
      ? completePlaces(
          withMaskKey(interpret(yaml, { ...base, schema: exportJobSchema }), yaml),
          yaml,
          at,
          context,
          ({ destination }) => destination,
          (value, placeAt) => toExportJob(name, value, placeAt(DESTINATION_AT), environment.get(MASK_KEY)),
        )
      : completePlaces(
          interpret(yaml, { ...base, schema: importJobSchema }),
          yaml,
          at,
          context,
          ({ source, crosswalk, adopt, images }, part) => {
            if (part === SOURCE_AT) return source;
            if (part === PUBLISH_AT) return images?.publish;
            const written = part === ADOPT_AT ? adopt : crosswalk;
            return written === 'store' ? undefined : written;
          },
          (value, placeAt) => toImportJob(name, value, placeAt),
        );
  }

  /** A field is hashed with a key only: whoever tries all phone numbers finds those that were hashed without one. */
  function withMaskKey<T>(read: Interpretation<T>, yaml: YamlFile) {
    const masks = Object.entries(valueAt(yaml.content, ['mask']) ?? {});
    const [field] = masks.find(([, way]) => way === 'hash') ?? [];
    if (field === undefined) return read;
    const place = yaml.placeOf(['mask', field], 'value');
    const key = environment.get(MASK_KEY);
    if (key === undefined) return { ...read, unset: [...read.unset, { name: MASK_KEY, place }] };
    onSecret(key);
    if (key.length >= MIN_MASK_KEY_LENGTH) return read;
    const message = `${MASK_KEY} is shorter than ${MIN_MASK_KEY_LENGTH} characters, so it can be guessed; set a longer one, such as of \`openssl rand -hex 32\``;
    return { ...read, value: undefined, problems: [...read.problems, { place, message }] };
  }

  return { stores, store, job, mapping };
}

/** Reads each part once. An environment that cannot be read is a problem of the part that needs it. */
function inspectOnce<T>(read: (name: string) => Interpretation<T> | undefined) {
  return once((name): Interpretation<T> | undefined => {
    try {
      return read(name);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return { value: undefined, problems: error.problems, unset: [], placeholders: new Map() };
    }
  });
}

/** The names in an invalid job, so that one check finds all problems. */
function literalNames(content: unknown): Named {
  const literal = (key: string) => {
    const value = valueAt(content, [key]);
    return typeof value === 'string' && value !== '' && !value.includes('${') ? value : undefined;
  };
  return { store: literal('store'), mapping: literal('mapping') };
}

function isExport(content: unknown) {
  return isJsonObject(content) && !('import' in content) && ('export' in content || 'destination' in content);
}

/** A value with an unset variable cannot be checked. */
function relationsToProblems(
  relations: readonly RelationProblem[],
  yaml: YamlFile,
  { unset }: Interpretation<Job>,
): ConfigurationProblem[] {
  const open = new Set(unset.map(({ place }) => formatPlace(place)));
  return relations
    .map(({ path, part, message }) => ({ place: yaml.placeOf(path, part ?? 'value'), message }))
    .filter(({ place }) => !open.has(formatPlace(place)));
}

/** A mismatch between a job and its store or mapping. */
interface RelationProblem {
  readonly path: Path;
  /** Default: the value. */
  readonly part?: 'key';
  readonly message: string;
}

/** The names in a job; names with unset variables are omitted. */
interface Named {
  readonly store?: string | undefined;
  readonly mapping?: string | undefined;
}

/** The names that a job may use. */
interface Known {
  /** Undefined if `stores.yaml` cannot be read. */
  readonly stores: readonly string[] | undefined;
  readonly mappings: readonly string[];
}

/** A value as a message names it: a value from the environment by its placeholder, because it may be a secret. */
type Quote = (path: Path, value: string) => string;

function checkNames({ store, mapping }: Named, known: Known, quote: Quote) {
  const problems: RelationProblem[] = [];
  if (store !== undefined && known.stores?.includes(store) === false) {
    const message = `stores.yaml has no store ${quote(['store'], store)}${suggestNames(store, known.stores)}`;
    problems.push({ path: ['store'], message });
  }
  if (mapping !== undefined && !known.mappings.includes(mapping)) {
    const message = `there is no mapping ${quote(['mapping'], mapping)}${suggestNames(mapping, known.mappings)}`;
    problems.push({ path: ['mapping'], message });
  }
  return problems;
}

/** Checks that a job and its mapping fit together. */
function checkMappingUse(job: ImportJob, mapping: MappingSpec, quote: Quote): RelationProblem[] {
  if (mapping.import !== job.import) {
    const message = `the mapping '${job.mapping}' produces ${mapping.import}, but the job imports ${job.import}`;
    return [{ path: ['mapping'], message }];
  }
  const problems = paramProblems(mapping, job.params, `the mapping '${job.mapping}'`).map(
    ({ name, isUnknown, message }): RelationProblem =>
      isUnknown ? { path: ['params', name], part: 'key', message } : { path: ['params'], message },
  );
  return mapping.import === 'contacts'
    ? [...problems, ...checkContacts(job, mapping, quote)]
    : [...problems, ...checkFields(job, mapping)];
}

/** Whether the folder is one of those to which a worker moves the files of an inbox, or within them. */
function isMovedTo(folder: string, inbox: string) {
  return ['processing', 'processed', 'failed'].some((moved) => `${folder}/`.startsWith(`${inbox}/${moved}/`));
}

/** Checks that a mapping has the fields that the mode of the job needs: a whole product, or a key and the changed fields. */
function checkFields(job: ImportJob, mapping: ProductMappingSpec): RelationProblem[] {
  const problem = (key: string, what: string) => [
    { path: [key], message: `the mapping '${job.mapping}' ${what}` },
  ];
  const match = updateMatch(job);
  if (match === undefined) {
    const lacking = lackingFields(mapping).join(', ');
    const what = `has no ${lacking}: mode ${job.mode} needs it; only mode: update changes single fields`;
    return lacking === '' ? [] : problem('mapping', what);
  }
  if (matchValue(mapping, match) === undefined) {
    const path = match === 'sku' ? 'variants.sku' : `product.${match}`;
    const what = `has no ${path}, by which match: ${match} finds products`;
    return problem(job.match === undefined ? 'mode' : 'match', what);
  }
  if (match === 'sku' && mapping.group !== undefined) {
    const what = 'groups rows, and match: sku takes each row by itself: remove group, or match by url';
    return problem('match', what);
  }
  return mappedFields(mapping).length === 0
    ? problem('mapping', 'names no field that the update changes')
    : [];
}

function checkContacts(job: ImportJob, { contact }: ContactMappingSpec, quote: Quote): RelationProblem[] {
  if (job.crosswalk === undefined) {
    if (contact.id !== undefined) return [];
    const message = `contacts are updated by id, and the mapping '${job.mapping}' does not map the id; add a crosswalk`;
    return [{ path: ['crosswalk'], message }];
  }
  if (job.createsContacts === true && contact.email === undefined) {
    const message = `contacts are created by their e-mail address, and the mapping '${job.mapping}' does not map it; map contact.email, or remove mode`;
    return [{ path: ['mode'], message }];
  }
  if (crosswalkField(job.crosswalk, contact) !== undefined) return [];
  const { match, field = match } = job.crosswalk;
  const path = ['crosswalk', job.crosswalk.field === undefined ? 'match' : 'field'];
  const message = `the mapping '${job.mapping}' does not fill the field ${quote(path, field)} to match by${suggestNames(field, matchableFields(contact))}; if the crosswalk's column and the field have different names, add field: email to the crosswalk`;
  return [{ path, message }];
}
