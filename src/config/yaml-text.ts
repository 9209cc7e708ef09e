import { parse } from 'yaml';
import { escapePlaceholders } from './placeholder.ts';

/** A text for a YAML file of a workspace: quoted only if necessary, and never a placeholder. */
export function yamlText(text: string): string {
  return yamlTemplate(escapePlaceholders(text));
}

/** The same for a text that may have placeholders, and for keys, which have none. */
export function yamlTemplate(literal: string): string {
  return /^[\p{L}\p{N}_./][\p{L}\p{N}_./@+() -]*$/u.test(literal) && readsAs(literal, literal)
    ? literal
    : JSON.stringify(literal);
}

/** A value as YAML in one line. */
export function flow(value: unknown): string {
  if (typeof value === 'string') return yamlText(value);
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, one]) => `${yamlTemplate(key)}: ${flow(one)}`);
  return `{ ${entries.join(', ')} }`;
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

/** The folder for the schemas of a new workspace's files. */
export const SCHEMA_FOLDER = 'schemas';
