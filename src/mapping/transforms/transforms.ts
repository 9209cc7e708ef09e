import { z } from 'zod';
import { addProblem } from '../../model/json-object.ts';
import { boolean } from './boolean.ts';
import { convert } from './convert.ts';
import { date } from './date.ts';
import { defaultValue } from './default-value.ts';
import type { Step, TransformContext, TransformDefinition } from './define-transform.ts';
import { email } from './email.ts';
import { extract } from './extract.ts';
import { html } from './html.ts';
import { integer } from './integer.ts';
import { join } from './join.ts';
import { lookup } from './lookup.ts';
import { lower } from './lower.ts';
import { max } from './max.ts';
import { min } from './min.ts';
import { number } from './number.ts';
import { plus } from './plus.ts';
import { replace } from './replace.ts';
import { round } from './round.ts';
import { slug } from './slug.ts';
import { split } from './split.ts';
import { squeeze } from './squeeze.ts';
import { start } from './start.ts';
import { table } from './table.ts';
import { template } from './template.ts';
import { times } from './times.ts';
import { trim } from './trim.ts';
import { unique } from './unique.ts';
import { unquote } from './unquote.ts';
import { upper } from './upper.ts';

// What a guess tries with the cells of a file.
export { currenciesNamed } from '../currency-watch.ts';
export { cleanContactCell } from '../values/cell.ts';
export { spellingsOf } from './boolean.ts';
export { compilePattern } from './compile-pattern.ts';
export { FALLBACK } from './define-transform.ts';
export { slugify } from './slug.ts';

/** The transforms, in the order in which the documentation shows them. */
export const TRANSFORMS: readonly TransformDefinition[] = [
  trim,
  squeeze,
  lower,
  upper,
  unquote,
  replace,
  extract,
  template,
  start,
  slug,
  html,
  split,
  join,
  unique,
  email,
  number,
  integer,
  times,
  plus,
  round,
  min,
  max,
  convert,
  boolean,
  date,
  lookup,
  table,
  defaultValue,
];

const words = TRANSFORMS.flatMap(({ name, word }) => (word === undefined ? [] : [{ name, ...word }]));
const maps = TRANSFORMS.flatMap(({ name, map }) => (map === undefined ? [] : [{ name, ...map }]));
const names = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);

const wordSchema = z
  .enum(names(words), `expected a transform: ${names(TRANSFORMS).join(', ')}`)
  .describe(words.map(({ name, description }) => `\`${name}\`: ${description}`).join('\n'));

const keys: z.core.$ZodShape = {};
for (const { name, shape } of maps)
  Object.assign(keys, shape, { [name]: z.exactOptional(shape[name] ?? z.never()) });

const mapSchema = z.strictObject(keys).superRefine((written, context) => {
  const mains = maps.filter(({ name }) => name in written);
  const [main] = mains;
  if (main === undefined || mains.length > 1) {
    const message =
      main === undefined
        ? `expected one transform: ${names(maps).join(', ')}`
        : `expected one transform, found ${names(mains).join(' and ')}; write them one after the other, as two items`;
    addProblem(context, message);
    return;
  }
  for (const key of Object.keys(written)) {
    if (key in main.shape) continue;
    addProblem(context, `${key} is not an option of ${main.name}`, key);
  }
});

/** A step of a pipeline: a bare name, or a map with the transform's name and its options. */
export const transformSchema = z.union([wordSchema, mapSchema]).meta({
  id: 'Transform',
  description: 'A step of a pipeline: a bare name, or a map of one transform and its options.',
});

/** One step of a pipeline, as a mapping has it. */
export type Transform = Readonly<z.infer<typeof transformSchema>>;

/** The name of the transform in a step of a pipeline; undefined if it has none. */
export function transformName(written: Transform): string | undefined {
  return typeof written === 'string' ? written : maps.find(({ name }) => name in written)?.name;
}

/** Compiles a step of a pipeline. Problems are reported to the context. */
export function compileTransform(written: Transform, context: TransformContext): Step {
  const name = transformName(written);
  const compiled =
    typeof written === 'string'
      ? words.find((word) => word.name === name)?.compile(context)
      : maps.find((map) => map.name === name)?.compile(written, context);
  // The schema of mappings allows nothing else.
  if (compiled === undefined) throw new TypeError(`there is no transform ${name ?? ''}`);
  return compiled;
}
