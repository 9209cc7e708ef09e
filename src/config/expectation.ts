import { z } from 'zod';

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'nothing',
};

function sizeOf(origin: string, bound: string, limit: number | bigint): string {
  switch (origin) {
    case 'string':
      return limit === 1n || limit === 1
        ? 'text that is not empty'
        : `text of ${bound} ${limit} character${Number(limit) === 1 ? '' : 's'}`;
    case 'array':
      return `a list of ${bound} ${limit}`;
    case 'int':
      return `a whole number of ${bound} ${limit}`;
    default:
      return `a number of ${bound} ${limit}`;
  }
}

function innermost(schema: unknown): unknown {
  let inner = schema;
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodExactOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault
  ) {
    inner = inner.unwrap();
  }
  return inner;
}

function isOffered(schema: unknown): boolean {
  return !(innermost(schema) instanceof z.ZodNever);
}

/** The keys of a schema, with those of maps within it as `outer.inner`. */
function knownKeys(schema: unknown): string[] {
  if (!(schema instanceof z.ZodObject)) return [];
  const entries = Object.entries(schema.shape).filter(([, field]) => isOffered(field));
  return entries.flatMap(([key, field]) => {
    const inner = innermost(field);
    const within = inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
    return [key, ...within.map((innerKey) => `${key}.${innerKey}`)];
  });
}

/** Several choices in a sentence: `a, b or c`. */
export function oneOf(choices: readonly unknown[]): string {
  const others = choices.slice(0, -1).map(String);
  const last = String(choices.at(-1) ?? '');
  return others.length === 0 ? last : `${others.join(', ')} or ${last}`;
}

/** The allowed words of a value, if the issue has them; `params.choices` of our own issues. */
export function choicesOf(issue: z.core.$ZodIssue): readonly string[] {
  switch (issue.code) {
    case 'invalid_value':
      return issue.values.map(String);
    case 'invalid_union':
      return ('options' in issue ? (issue.options ?? []) : []).map(String);
    case 'custom': {
      const { choices } = issue.params ?? {};
      return Array.isArray(choices) ? choices.map(String) : [];
    }
    default:
      return [];
  }
}

/**
 * The expectation of a schema, for zod's `error` parameter. Messages begin with `expected`; the caller adds the place
 * and the value found. For unknown keys it returns the known ones, separated by blanks.
 */
export function expectation(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `expected ${oneOf(issue.values)}`;
    case 'too_small':
      return `expected ${sizeOf(issue.origin, issue.exact ? 'exactly' : 'at least', issue.minimum)}`;
    case 'too_big':
      return `expected ${sizeOf(issue.origin, issue.exact ? 'exactly' : 'at most', issue.maximum)}`;
    case 'unrecognized_keys':
      return knownKeys(issue.inst).join(' ');
    case 'invalid_union': {
      const { options } = issue;
      return `expected ${Array.isArray(options) ? oneOf(options) : 'something else'}`;
    }
    case 'invalid_format':
      return `expected text in the form ${issue.format}`;
    default:
      return issue.message ?? 'is not valid';
  }
}
