import type { z } from 'zod';
import { type FilledValues, pathKey } from './fill-values.ts';
import { expectation } from './findings/expectation.ts';
import { explainIssues, type Finding } from './findings/explain-issues.ts';
import { setValueAt, valueAt } from './value-at.ts';

/** Either the value, or the findings. */
export type Parsed<T> = { readonly value: T } | { readonly findings: readonly Finding[] };

/**
 * Applies a schema. A text from the environment has no type: where the schema refuses a value that is one placeholder
 * and nothing else, it is read as a number, true or false; when it is empty or unset, as if the key were not there.
 */
export function parseFilled<T>(schema: z.ZodType<T>, values: FilledValues): Parsed<T> {
  // A process reads a file or two: compiling a schema takes longer than it saves.
  const result = schema.safeParse(values.value, { error: expectation, jitless: true });
  if (result.success) return { value: result.data };
  const findings = explainIssues(result.error.issues, values.value);
  const adapted = findings.filter((finding) => adapt(values, finding));
  return adapted.length > 0 ? parseFilled(schema, values) : { findings };
}

/** Whether the refused value could be changed into something else: a text into what is none, once. */
function adapt(values: FilledValues, { path, wrongKind }: Finding): boolean {
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

function typedValue(text: string): number | boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
