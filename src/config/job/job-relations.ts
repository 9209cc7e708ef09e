import {
  type ContactMappingSpec,
  lackingFields,
  type MappingSpec,
  mappedFields,
  matchValue,
  type ProductMappingSpec,
} from '../../mapping/spec/mapping-spec.ts';
import { didYouMean } from '../../model/nearest.ts';
import type { Path } from '../value-at.ts';
import { crosswalkField, type ImportJob, type Job, matchableFields, updateMatch } from './job.ts';

/** A mismatch between a job and its store or mapping. */
export interface RelationProblem {
  readonly path: Path;
  readonly part: 'key' | 'value';
  readonly message: string;
}

/** The names in a job; names with unset variables are omitted. */
export interface Named {
  readonly store?: string | undefined;
  readonly mapping?: string | undefined;
}

/** The names that a job may use. */
export interface Known {
  /** Undefined if `stores.yaml` cannot be read. */
  readonly stores: readonly string[] | undefined;
  readonly mappings: readonly string[];
}

/** A value as a message names it: a value from the environment by its placeholder, because it may be a secret. */
export type Quote = (path: Path, value: string) => string;

/**
 * All mismatches of a job: with existing stores and mappings, and with the content of its mapping, if both can be
 * read.
 */
export function jobRelations(
  named: Named,
  known: Known,
  quote: Quote,
  job: Job | undefined,
  mapping: MappingSpec | undefined,
): RelationProblem[] {
  const problems = checkNames(named, known, quote);
  return job?.kind === 'import' && mapping !== undefined
    ? [...problems, ...checkMappingUse(job, mapping, quote)]
    : problems;
}

/** Checks that the store and the mapping exist. */
function checkNames({ store, mapping }: Named, known: Known, quote: Quote): RelationProblem[] {
  const problems: RelationProblem[] = [];
  if (store !== undefined && known.stores?.includes(store) === false) {
    const message = `stores.yaml has no store ${quote(['store'], store)}${unlisted(store, known.stores)}`;
    problems.push({ path: ['store'], part: 'value', message });
  }
  if (mapping !== undefined && !known.mappings.includes(mapping)) {
    const message = `there is no mapping ${quote(['mapping'], mapping)}${unlisted(mapping, known.mappings)}`;
    problems.push({ path: ['mapping'], part: 'value', message });
  }
  return problems;
}

function unlisted(name: string, names: readonly string[]): string {
  return `${didYouMean(name, names)} (${names.length === 0 ? 'there are none' : `known: ${names.join(', ')}`})`;
}

/** Checks that a job and its mapping fit together. */
function checkMappingUse(job: ImportJob, mapping: MappingSpec, quote: Quote): RelationProblem[] {
  if (mapping.import !== job.import) {
    const message = `the mapping '${job.mapping}' produces ${mapping.import}, but the job imports ${job.import}`;
    return [{ path: ['mapping'], part: 'value', message }];
  }
  const problems = checkParams(job, mapping);
  return mapping.import === 'contacts'
    ? [...problems, ...checkContacts(job, mapping, quote)]
    : [...problems, ...checkFields(job, mapping)];
}

function checkParams(job: ImportJob, mapping: MappingSpec): RelationProblem[] {
  const params = mapping.params ?? {};
  const names = Object.keys(params);
  const unknown = Object.keys(job.params).filter((name) => !names.includes(name));
  const unset = names.filter((name) => {
    const param = params[name];
    return typeof param === 'object' && param.default === undefined && !Object.hasOwn(job.params, name);
  });
  return [
    ...unknown.map((name) => ({
      path: ['params', name],
      part: 'key' as const,
      message: `the mapping '${job.mapping}' has no parameter '${name}'${unlisted(name, names)}`,
    })),
    ...unset.map((name) => ({
      path: ['params'],
      part: 'value' as const,
      message: `the mapping '${job.mapping}' needs the parameter '${name}'; set it under params`,
    })),
  ];
}

/** Checks that a mapping has the fields that the mode of the job needs: a whole product, or a key and the changed fields. */
function checkFields(job: ImportJob, mapping: ProductMappingSpec): RelationProblem[] {
  const problem = (path: string, message: string): RelationProblem[] => [
    { path: [path], part: 'value', message: `the mapping '${job.mapping}' ${message}` },
  ];
  const match = updateMatch(job);
  if (match === undefined) {
    const lacking = lackingFields(mapping);
    if (lacking.length === 0) return [];
    return problem(
      'mapping',
      `has no ${lacking.join(', ')}: mode ${job.mode} needs it; only mode: update changes single fields`,
    );
  }
  if (matchValue(mapping, match) === undefined) {
    const path = match === 'sku' ? 'variants.sku' : `product.${match}`;
    return problem(
      job.match === undefined ? 'mode' : 'match',
      `has no ${path}, by which match: ${match} finds products`,
    );
  }
  if (match === 'sku' && mapping.group !== undefined) {
    return problem(
      'match',
      'groups rows, and match: sku takes each row by itself: remove group, or match by url',
    );
  }
  return mappedFields(mapping).length === 0
    ? problem('mapping', 'names no field that the update changes')
    : [];
}

function checkContacts(job: ImportJob, { contact }: ContactMappingSpec, quote: Quote): RelationProblem[] {
  if (job.crosswalk === undefined) {
    if (contact.id !== undefined) return [];
    const message = `contacts are updated by id, and the mapping '${job.mapping}' does not map the id; add a crosswalk`;
    return [{ path: ['crosswalk'], part: 'value', message }];
  }
  if (crosswalkField(job.crosswalk, contact) !== undefined) return [];
  const { match, field = match } = job.crosswalk;
  const path = ['crosswalk', job.crosswalk.field === undefined ? 'match' : 'field'];
  const message = `the mapping '${job.mapping}' does not fill the field ${quote(path, field)} to match by${unlisted(field, matchableFields(contact))}; if the crosswalk's column and the field have different names, add field: email to the crosswalk`;
  return [{ path, part: 'value', message }];
}
