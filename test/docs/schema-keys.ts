import type { JsonSchema } from '../../src/config/workspace.ts';
import { branchesOf, code, schemaType } from './schema-type.ts';

type Node = JsonSchema | boolean;

/** A key of a schema, as the reference describes it. */
export interface SchemaKey {
  /** Nested keys by their path: `limits.concurrency`. */
  readonly path: string;
  readonly type: string;
  /** `required`, the default, or nothing. */
  readonly preset: string;
  readonly meaning: string;
}

function preset(node: JsonSchema, required: boolean): string {
  if (required) return 'required';
  const { default: value } = node;
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return value === undefined || isEmpty ? '' : `default ${code(value)}`;
}

function meaning({ description = '', examples = [] }: JsonSchema): string {
  const example = examples.length === 0 ? '' : ` Example: ${examples.map(code).join(', ')}`;
  return `${description}${example}`.trim().replaceAll('\n', ' ');
}

/** The maps with keys of their own that may stand in a place, each with how its keys are reached. */
function mapsWithin(
  node: Node | undefined,
  path: string,
): { readonly path: string; readonly map: JsonSchema }[] {
  if (node === undefined || typeof node === 'boolean') return [];
  return branchesOf(node).flatMap((branch) => {
    const { properties, items, additionalProperties } = branch;
    if (properties !== undefined) return [{ path, map: branch }];
    if (items !== undefined && !Array.isArray(items)) return mapsWithin(items, `${path}[]`);
    return mapsWithin(additionalProperties, path === '' ? 'NAME' : `${path}.NAME`);
  });
}

/** All keys of a schema, nested ones by their path. */
export function schemaKeys(
  node: Node | undefined,
  nameOf: (reference: string) => string,
  at = '',
): SchemaKey[] {
  return mapsWithin(node, at).flatMap(({ path: above, map }) =>
    Object.entries(map.properties ?? {}).flatMap(([key, property]) => {
      const path = above === '' ? key : `${above}.${key}`;
      if (typeof property === 'boolean') return [];
      const required = map.required?.includes(key) === true && property.default === undefined;
      const described: SchemaKey = {
        path,
        type: schemaType(property, nameOf),
        preset: preset(property, required),
        meaning: meaning(property),
      };
      return [described, ...schemaKeys(property, nameOf, path)];
    }),
  );
}
