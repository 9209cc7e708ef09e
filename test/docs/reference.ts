import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SchemaName } from '../../src/config/json-schema.ts';
import { referenceMarkdown } from '../../src/config/reference-markdown.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Which document holds which reference, between `<!-- reference:NAME -->` and `<!-- end -->`. */
export const REFERENCES: readonly { readonly file: string; readonly name: SchemaName }[] = [
  { file: 'README.md', name: 'stores' },
  { file: 'README.md', name: 'job' },
  { file: 'docs/mappings.md', name: 'mapping' },
];

export function readDocument(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The document with its reference made anew from the schema. */
export function withReference(document: string, name: SchemaName): string {
  const begin = `<!-- reference:${name} -->\n`;
  const from = document.indexOf(begin);
  const to = document.indexOf('<!-- end -->', from);
  if (from === -1 || to === -1) throw new Error(`There is no place for the reference of ${name}.`);
  return `${document.slice(0, from + begin.length)}\n${referenceMarkdown(name).trim()}\n\n${document.slice(to)}`;
}

if (import.meta.main) {
  for (const { file, name } of REFERENCES) {
    writeFileSync(join(ROOT, file), withReference(readDocument(file), name));
  }
}
