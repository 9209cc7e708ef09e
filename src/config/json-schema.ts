import { z } from 'zod';
import { mappingSchema } from '../mapping/spec/mapping-spec.ts';
import { exportJobSchema } from './job/export-job-schema.ts';
import { importJobSchema } from './job/import-job-schema.ts';
import { settingsSchema } from './settings.ts';
import { storesSchema } from './store-config.ts';

/** The kinds of YAML files that have a schema. */
export const SCHEMA_NAMES = ['job', 'mapping', 'stores'] as const;
export type SchemaName = (typeof SCHEMA_NAMES)[number];

/** A node of a JSON Schema of draft 7, as far as it is used here. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

const SCHEMAS = {
  environment: settingsSchema,
  // A file is validated with the schema of its own kind, which gives better explanations.
  job: z.union([importJobSchema, exportJobSchema]),
  mapping: mappingSchema,
  stores: storesSchema,
} as const;

interface Context {
  readonly jsonSchema: JsonSchema;
  readonly path: readonly PropertyKey[];
}

type Override = (context: Context) => void;

function generate(name: keyof typeof SCHEMAS, override: Override): JsonSchema {
  return z.toJSONSchema(SCHEMAS[name], { io: 'input', target: 'draft-7', override });
}

/** The allowed values of a file, without the alternative placeholders: the source of the reference. */
export function plainSchemaFor(name: SchemaName | 'environment'): JsonSchema {
  return generate(name, tidy);
}

/** The JSON Schema of a file of the workspace, in draft 7, which YAML plugins of editors support best. */
export function schemaFor(name: SchemaName): JsonSchema {
  const schema = generate(name, (context) => {
    tidy(context);
    allowPlaceholder(context);
    allowStores(context);
  });
  return { title: `Storeferry: ${name}`, ...schema };
}

/** Removes keys that are always refused, and bounds of the number type itself. */
function tidy({ jsonSchema }: Context): void {
  for (const [key, property] of Object.entries(jsonSchema.properties ?? {})) {
    if (typeof property === 'object' && 'not' in property) delete jsonSchema.properties?.[key];
  }
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

/** A job has one store or several. */
function allowStores({ jsonSchema }: Context): void {
  const { required = [], properties = {} } = jsonSchema;
  if (properties['stores'] === undefined) return;
  jsonSchema.required = required.filter((key) => key !== 'store');
  jsonSchema.oneOf = [{ required: ['store'] }, { required: ['stores'] }];
}

/** Keywords that describe a value without limiting it. */
const ABOUT: ReadonlySet<string> = new Set(['title', 'description', 'default', 'examples', 'id']);

/** Values that are not just any text may also be written as a placeholder; keys and fixed words may not. */
function allowPlaceholder({ jsonSchema, path }: Context): void {
  const { type, enum: words, pattern } = jsonSchema;
  const isTyped = type === 'integer' || type === 'number' || type === 'boolean';
  if (path.at(-1) === 'propertyNames' || (!isTyped && words === undefined && pattern === undefined)) return;
  const limits = Object.entries(jsonSchema).filter(([key]) => !ABOUT.has(key));
  for (const [key] of limits) delete jsonSchema[key];
  const placeholder = { type: 'string' as const, pattern: '\\$\\{[A-Za-z_][A-Za-z0-9_]*(:[^}]*)?\\}' };
  jsonSchema.anyOf = [Object.fromEntries(limits), placeholder];
}
