import { z } from 'zod';
import { addProblem } from '../../model/json-object.ts';
import { boolean } from './boolean.ts';
import { calculations } from './calculations.ts';
import { convert } from './convert.ts';
import { date } from './date.ts';
import type { Step, TransformContext, TransformDefinition } from './define-transform.ts';
import { html } from './html.ts';
import { listTransforms } from './list-transforms.ts';
import { lookup, table } from './lookup.ts';
import { integer, number } from './number.ts';
import { slug } from './slug.ts';
import { custom, defaultValue, email, textTransforms } from './text-transforms.ts';

/** The transforms, in the order in which the documentation shows them. */
export const TRANSFORMS: readonly TransformDefinition[] = [
  ...textTransforms,
  slug,
  html,
  ...listTransforms,
  email,
  number,
  integer,
  ...calculations,
  convert,
  boolean,
  date,
  lookup,
  table,
  custom,
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
  description: 'A step of a pipeline: a name, or a map with options.',
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
