import type { z } from 'zod';
import { type Path, pathKey, setValueAt, valueAt } from '../model/json-object.ts';
import type { ConfigurationProblem, Place } from '../model/storeferry-error.ts';
import { looksSecret } from '../text/mask-personal-data.ts';
import { expectation, explainIssues, type Finding, wordFinding } from './explain-issues.ts';
import type { Environment, SecretField } from './settings.ts';
import type { YamlFile } from './yaml-file.ts';
import { type FilledValues, fillValues, placeholder } from './yaml-text.ts';

/** A variable without value and default, and the place that needs it. */
interface UnsetVariable {
  readonly name: string;
  readonly place: Place;
}

/** The value of a part of a file, and all its problems. */
export interface Interpretation<T> {
  /**
   * Absent if there are problems. With unset variables it may be present but incomplete: then use it for checks only.
   */
  readonly value: T | undefined;
  readonly problems: readonly ConfigurationProblem[];
  readonly unset: readonly UnsetVariable[];
  /** The placeholders of each value that has any, without their defaults, by the key of its path. */
  readonly placeholders: ReadonlyMap<string, string>;
}

/** The input for reading a part of a file. */
interface Reading<T> {
  readonly schema: z.ZodType<T>;
  /** The place of the part in its file. */
  readonly at: Path;
  readonly environment: Environment;
  readonly secretFields: readonly SecretField[];
  /** Called with every secret: values of secret fields, also those written in the file, and of variables with the name of a secret. */
  readonly onSecret: (value: string) => void;
}

/** Fills in the environment, applies the schema, and adds a place to every problem. */
export function interpret<T>(file: YamlFile, reading: Reading<T>): Interpretation<T> {
  if (file.problems.length > 0) {
    return { value: undefined, problems: file.problems, unset: [], placeholders: new Map() };
  }
  const { at, schema, environment, secretFields } = reading;
  const values = fillValues(valueAt(file.content, at), (name) => environment.get(name));
  reportSecrets(values, reading);
  const own = [...values.malformed.map(malformed), ...literalSecrets(values, secretFields)];
  const reported = new Set(own.map(({ path }) => pathKey(path)));
  const parsed = parseFilled(schema, values);
  const refused = 'findings' in parsed ? parsed.findings : [];
  const findings = [
    ...own,
    ...refused.filter(({ path }) => !reported.has(pathKey(path)) && !dependsOnUnset(values, path)),
  ];
  const placeholders = placeholdersOf(values);
  const secret = new Set(secretFields.map(({ path }) => pathKey(path)));
  return {
    value: findings.length === 0 && 'value' in parsed ? parsed.value : undefined,
    problems: findings.map((finding) => ({
      place: file.placeOf([...at, ...finding.path], finding.part),
      message: wordFinding(finding, { root: values.value, placeholders, at, secret }),
    })),
    unset: [...values.filled.values()].flatMap(({ path, unset }) =>
      unset.map((name) => ({ name, place: file.placeOf([...at, ...path], 'value') })),
    ),
    placeholders,
  };
}

function placeholdersOf({ filled }: FilledValues): ReadonlyMap<string, string> {
  return new Map(
    [...filled].map(([key, { placeholders }]) => [
      key,
      placeholders.map(({ name }) => placeholder(name)).join(' and '),
    ]),
  );
}

function isUnset(values: FilledValues, path: Path) {
  return (values.filled.get(pathKey(path))?.unset.length ?? 0) > 0;
}

/** Whether a value is unset, or is a map that `convertRefused` has left without an unset value: what it lacks is not known. */
function dependsOnUnset(values: FilledValues, path: Path) {
  const here = pathKey(path);
  return [...values.filled.values()].some(
    ({ path: filled, unset }) =>
      unset.length > 0 &&
      (pathKey(filled) === here ||
        (pathKey(filled.slice(0, -1)) === here && valueAt(values.value, filled) === undefined)),
  );
}

function malformed(path: Path): Finding {
  const message = `a placeholder that cannot be read; write \${NAME} or \${NAME:default}, and $\${ for a plain \${`;
  return { path, part: 'value', message };
}

function literalSecrets(values: FilledValues, fields: readonly SecretField[]): Finding[] {
  return fields
    .filter(({ path, literal }) => literal === 'refused' && !values.filled.has(pathKey(path)))
    .filter(({ path }) => !values.malformed.some((other) => pathKey(other) === pathKey(path)))
    .filter(({ path }) => (valueAt(values.value, path) ?? null) !== null)
    .map(({ path, variable = 'STORE_API_KEY' }) => ({
      path,
      part: 'value',
      message: `a secret must not be in a file; write ${placeholder(variable)}, and set that in the environment or in .env`,
    }));
}

function reportSecrets<T>(values: FilledValues, { secretFields, environment, onSecret }: Reading<T>) {
  for (const { path } of secretFields) {
    const value = valueAt(values.value, path);
    if (typeof value === 'string' && value !== '' && !isUnset(values, path)) onSecret(value);
  }
  for (const { placeholders } of values.filled.values()) {
    for (const { name } of placeholders) {
      const value = looksSecret(name) ? environment.get(name) : undefined;
      if (value !== undefined) onSecret(value);
    }
  }
}

/** Either the value, or the findings. */
type Parsed<T> = { readonly value: T } | { readonly findings: readonly Finding[] };

/**
 * Applies a schema. A text from the environment has no type. If the schema refuses a value that is a single
 * placeholder, the value is read as a number, true or false; if it is empty or unset, as if the key were missing.
 */
function parseFilled<T>(schema: z.ZodType<T>, values: FilledValues): Parsed<T> {
  // A process reads only a few files: compiling a schema takes longer than it saves.
  const result = schema.safeParse(values.value, { error: expectation, jitless: true });
  if (result.success) return { value: result.data };
  const findings = explainIssues(result.error.issues, values.value);
  const converted = findings.filter((finding) => convertRefused(values, finding));
  return converted.length > 0 ? parseFilled(schema, values) : { findings };
}

/**
 * Replaces a refused text that is one whole placeholder: by a number or boolean, or by nothing if it is empty or unset. True if it
 * did, which each value can only once: `parseFilled` ends.
 */
function convertRefused(values: FilledValues, { path, wrongKind = false }: Finding) {
  const filled = values.filled.get(pathKey(path));
  const value = valueAt(values.value, path);
  if (!filled?.whole || typeof value !== 'string') return false;
  if (value === '' || filled.unset.length > 0) {
    setValueAt(values.value, path, undefined);
    return valueAt(values.value, path) === undefined;
  }
  const typed = wrongKind ? typedValue(value) : undefined;
  if (typed !== undefined) setValueAt(values.value, path, typed);
  return typed !== undefined;
}

function typedValue(text: string) {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** An unset variable as a problem: an error in a run, a warning in a check. */
export function whyUnset({ name, place }: UnsetVariable) {
  return { place, message: `the variable ${name} is not set; set it in the environment or in .env` };
}
