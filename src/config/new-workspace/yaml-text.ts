import { parse } from 'yaml';

/** A text as it is written in a YAML file of a workspace: quoted only where it must be, and no placeholder. */
export function yamlText(text: string): string {
  const literal = text.replaceAll('${', '$${');
  return /^[\p{L}\p{N}_./][\p{L}\p{N}_./@+() -]*$/u.test(literal) && readsAs(literal, literal)
    ? literal
    : JSON.stringify(literal);
}

function readsAs(written: string, text: string): boolean {
  try {
    return parse(written) === text;
  } catch {
    return false;
  }
}

/** The line by which editors find the JSON Schema of a file, `up` folders below the workspace. */
export function schemaLine(schema: 'stores' | 'job' | 'mapping', up: '' | '../'): string {
  return `# yaml-language-server: $schema=${up}${SCHEMA_FOLDER}/${schema}.schema.json`;
}

/** Where a new workspace keeps the schemas of its files. */
export const SCHEMA_FOLDER = 'schemas';
