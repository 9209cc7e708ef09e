import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { SCHEMA_NAMES, type SchemaName, schemaFor } from '../../src/config/workspace.ts';
import type { TransformExample } from '../../src/mapping/transforms/define-transform.ts';
import { TRANSFORMS } from '../../src/mapping/transforms/transforms.ts';
import { COLUMN_FIELDS } from '../../src/onboarding/column-fields.ts';
import { METRICS } from '../../src/queue/metrics.ts';
import { commandsMarkdown } from './commands-markdown.ts';
import { type ReferenceName, referenceMarkdown } from './reference-markdown.ts';

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

/** The document with its reference made from the schema. */
export function withReference(document: string, name: ReferenceName): string {
  return withSection(document, name, referenceMarkdown(name));
}

/** The document that describes the commands. */
export const COMMANDS_FILE = 'docs/reference.md';

/** The document with the reference of the commands made from their definitions. */
export async function withCommands(document: string): Promise<string> {
  return withSection(document, 'commands', await commandsMarkdown());
}

function withSection(document: string, name: string, text: string): string {
  const begin = `<!-- reference:${name} -->\n`;
  const from = document.indexOf(begin);
  const to = document.indexOf('<!-- end -->', from);
  if (from === -1 || to === -1) throw new Error(`There is no place for the reference of ${name}.`);
  return `${document.slice(0, from + begin.length)}\n${text.trim()}\n\n${document.slice(to)}`;
}

/** The document that shows the examples of the transforms, between `<!-- examples: transforms -->` and a blank line. */
export const EXAMPLES_FILE = 'docs/mappings.md';

/** The document with its examples generated from the transforms, in columns. */
export function withTransformExamples(document: string): string {
  const cells = [
    ['the cell', 'the step', 'gives'],
    ...TRANSFORMS.flatMap(({ examples }) => examples).map(({ cell, steps, gives }) => [
      cell === '' ? '(blank)' : cell,
      steps,
      shownResult(gives),
    ]),
  ];
  const widths = [0, 1].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return withLines(document, 'examples: transforms', ['```text', ...lines, '```']);
}

/** The document that lists the metrics of a worker, between `<!-- metrics -->` and a blank line. */
export const METRICS_FILE = 'docs/operation.md';

/** The document with its list generated from the definitions of the metrics. */
export function withMetrics(document: string): string {
  const rows = METRICS.map(({ name, labels, type, help }) => {
    const shown = labels.length === 0 ? name : `${name}{${labels.join()}}`;
    return `- ${code(shown)} (${type}): ${help.replace(/\.$/, '')}`;
  });
  return withLines(document, 'metrics', rows);
}

/** The document that lists the fields of `--column`, between `<!-- column fields -->` and a blank line. */
export const FIELDS_FILE = 'docs/mappings.md';

/** The document with its list generated from the definitions of the fields. */
export function withColumnFields(document: string): string {
  const rows = Object.entries(COLUMN_FIELDS).map(([imports, fields]) => {
    const names = [...Object.keys(fields), ...(imports === 'products' ? ['option'] : [])];
    return `- ${imports}: ${names.map(code).join(', ')}`;
  });
  return withLines(document, 'column fields', rows);
}

function withLines(document: string, note: string, lines: readonly string[]): string {
  const begin = `<!-- ${note} -->\n`;
  const from = document.indexOf(begin);
  const to = document.indexOf('\n\n', from);
  if (from === -1 || to === -1) throw new Error(`There is no place for the ${note}.`);
  return `${document.slice(0, from + begin.length)}${lines.join('\n')}${document.slice(to)}`;
}

function shownResult(gives: TransformExample['gives']): string {
  if (gives === undefined) return '(blank)';
  if (typeof gives !== 'object') return String(gives);
  if ('rejects' in gives) return `rejected: ${gives.rejects}`;
  return 'moment' in gives ? gives.moment : flowList(gives);
}

function flowList(items: readonly unknown[]): string {
  return stringify(items, { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 }).trim();
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
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
  writeFileSync(join(ROOT, COMMANDS_FILE), await withCommands(readDocument(COMMANDS_FILE)));
  writeFileSync(join(ROOT, EXAMPLES_FILE), withTransformExamples(readDocument(EXAMPLES_FILE)));
  writeFileSync(join(ROOT, METRICS_FILE), withMetrics(readDocument(METRICS_FILE)));
  writeFileSync(join(ROOT, FIELDS_FILE), withColumnFields(readDocument(FIELDS_FILE)));
}
