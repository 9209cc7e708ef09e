import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCHEMA_NAMES, type SchemaName, schemaFor } from '../../src/config/reference/json-schema.ts';
import { type ReferenceName, referenceMarkdown } from '../../src/config/reference/reference-markdown.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Which document holds which reference, between `<!-- reference:NAME -->` and `<!-- end -->`. */
export const REFERENCES: readonly {
  readonly file: string;
  readonly name: ReferenceName;
}[] = [
  { file: 'docs/reference.md', name: 'environment' },
  { file: 'docs/reference.md', name: 'stores' },
  { file: 'docs/reference.md', name: 'job' },
  { file: 'docs/mappings.md', name: 'mapping' },
  { file: 'docs/limits.md', name: 'limits' },
];

export function readDocument(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The document with its reference made anew from the schema. */
export function withReference(document: string, name: ReferenceName): string {
  const begin = `<!-- reference:${name} -->\n`;
  const from = document.indexOf(begin);
  const to = document.indexOf('<!-- end -->', from);
  if (from === -1 || to === -1) throw new Error(`There is no place for the reference of ${name}.`);
  return `${document.slice(0, from + begin.length)}\n${referenceMarkdown(name).trim()}\n\n${document.slice(to)}`;
}

/** Where the JSON Schema of a kind of file is kept, for editors. */
export function schemaFile(name: SchemaName): string {
  return `docs/schemas/${name}.schema.json`;
}

export function schemaText(name: SchemaName): string {
  return `${JSON.stringify(schemaFor(name), null, 2)}\n`;
}

if (import.meta.main) {
  for (const name of SCHEMA_NAMES) writeFileSync(join(ROOT, schemaFile(name)), schemaText(name));
  for (const { file, name } of REFERENCES) {
    writeFileSync(join(ROOT, file), withReference(readDocument(file), name));
  }
}
