import type { JsonSchema } from '../../src/config/json-schema.ts';
import { branchesOf, code, schemaType } from './schema-type.ts';

type Node = JsonSchema | boolean;

function preset(node: JsonSchema, required: boolean): string {
  if (required) return '**required**';
  const { default: value } = node;
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return value === undefined || isEmpty ? '' : code(value);
}

function meaning({ description = '', examples = [] }: JsonSchema): string {
  const example = examples.length === 0 ? '' : ` Example: ${examples.map(code).join(', ')}`;
  return `${description}${example}`.trim().replaceAll('|', '\\|').replaceAll('\n', '<br>');
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

/** The rows of a Markdown table of all keys of a schema, nested ones by their path. */
export function schemaRows(node: Node | undefined, nameOf: (reference: string) => string, at = ''): string[] {
  return mapsWithin(node, at).flatMap(({ path, map }) =>
    Object.entries(map.properties ?? {}).flatMap(([key, property]) => {
      const name = path === '' ? key : `${path}.${key}`;
      if (typeof property === 'boolean') return [];
      const required = map.required?.includes(key) === true && property.default === undefined;
      const cells = [code(name), schemaType(property, nameOf), preset(property, required), meaning(property)];
      return [`| ${cells.join(' | ')} |`, ...schemaRows(property, nameOf, name)];
    }),
  );
}
