import { limitsSchema } from '../../src/config/job/import-job-schema.ts';
import { type JsonSchema, plainSchemaFor, type SchemaName } from '../../src/config/json-schema.ts';
import {
  beyondLimit,
  DEFAULT_LIMITS,
  LIMIT_WORDS,
  type LimitName,
  raiseLimit,
} from '../../src/model/input-limits.ts';
import { schemaRows } from './schema-rows.ts';
import { branchesOf, code, schemaType } from './schema-type.ts';

const UNITS = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

/** A number as people say it: what counts bytes in the largest unit that leaves no fraction. */
function said(limit: LimitName): string {
  const value = DEFAULT_LIMITS[limit];
  const [unit, size] = (/bytes/i.test(limit) && UNITS.find(([, bytes]) => value % bytes === 0)) || ['', 1];
  return `${(value / size).toLocaleString('en')}${unit === '' ? '' : ` ${unit}`}`;
}

function isLimit(name: string): name is LimitName {
  return Object.hasOwn(DEFAULT_LIMITS, name);
}

/** All limits on what an import takes in as a Markdown table: what each counts, its default, setting and message. */
function limitsMarkdown(): string {
  const names = Object.keys(limitsSchema.shape).filter(isLimit);
  const rows = names.map((name) => {
    const message = beyondLimit(name, DEFAULT_LIMITS[name]).replaceAll('|', '\\|');
    return `| ${code(name)} | ${LIMIT_WORDS[name].counts} | ${said(name)} | ${code(`limits: { ${name}: … }`)} | … ${message} |`;
  });
  return [
    '| limit | what it counts | default | setting in the job | message |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    `Every message says where (file, line and column, as far as there are any) and ends: “${raiseLimit('rows').replace('rows', 'NAME')}”`,
  ].join('\n');
}

/** The references that exist. */
export type ReferenceName = SchemaName | 'environment' | 'limits';

const HEADING = '####';

/**
 * The reference of a kind of file, of the environment, or of the limits, as Markdown: tables of its keys with type,
 * default and meaning, nested keys by their path. All of it comes from the schemas, so it cannot differ from what is read.
 */
export function referenceMarkdown(name: ReferenceName): string {
  if (name === 'limits') return limitsMarkdown();
  const schema = plainSchemaFor(name);
  const definitions = definitionsOf(schema);
  const nameOf = (reference: string) => resolveName(reference, definitions);
  const sections = [
    ...tables(name, schema, nameOf),
    ...Object.entries(definitions)
      .filter(([id]) => !id.startsWith('__'))
      .map(([id, definition]) => definitionSection(id, definition, nameOf)),
  ];
  return sections.join('\n\n');
}

type NameOf = (reference: string) => string;
type Definitions = Readonly<Record<string, JsonSchema>>;

function isSchema(value: unknown): value is JsonSchema {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function definitionsOf({ definitions }: JsonSchema): Definitions {
  if (!isSchema(definitions)) return {};
  return Object.fromEntries(
    Object.entries(definitions).flatMap(([id, node]) => (isSchema(node) ? [[id, node]] : [])),
  );
}

/** The name of a definition; one without a name of its own only passes on to another. */
function resolveName(reference: string, definitions: Definitions): string {
  const id = reference.replace('#/definitions/', '');
  const [only, ...others] = branchesOf(definitions[id] ?? {});
  const onwards = others.length === 0 ? only?.$ref : undefined;
  return onwards === undefined ? id : resolveName(onwards, definitions);
}

function table(rows: readonly string[]): string {
  return ['| key | what | default | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function tables(name: SchemaName | 'environment', schema: JsonSchema, nameOf: NameOf): string[] {
  switch (name) {
    case 'environment':
      return [table(schemaRows(schema, nameOf))];
    case 'stores':
      return [table(schemaRows(schema.additionalProperties, nameOf))];
    case 'job':
    case 'mapping':
      return kinds(name, schema, nameOf);
    default:
      return name satisfies never;
  }
}

/** What all kinds of the file have in common, then what each has alone. */
function kinds(name: SchemaName, schema: JsonSchema, nameOf: NameOf): string[] {
  const branches = branchesOf(schema);
  const lists = branches.map((branch) => schemaRows(branch, nameOf));
  const [first = [], ...others] = lists;
  const common = first.filter((row) => others.every((rows) => rows.includes(row)));
  return [
    `${HEADING} In every ${name}\n\n${table(common)}`,
    ...branches.map((branch, index) => {
      const own = (lists[index] ?? []).filter((row) => !common.includes(row));
      return `${HEADING} ${kindOf(branch)}\n\n${table(own)}`;
    }),
  ];
}

/** The key by which the kind is recognised, with its value where it has a fixed one. */
function kindOf({ properties = {} }: JsonSchema): string {
  const [key = '', node] = Object.entries(properties)[0] ?? [];
  return isSchema(node) && node.const !== undefined ? code(`${key}: ${node.const}`) : code(key);
}

function definitionSection(id: string, definition: JsonSchema, nameOf: NameOf): string {
  const { description = '' } = definition;
  const rows = schemaRows(definition, nameOf);
  const ofBranches = branchesOf(definition).flatMap((branch) =>
    branch === definition ? [] : (branch.description ?? '').split('\n').filter((line) => line !== ''),
  );
  const list = ofBranches.map((line) => `- ${line}`).join('\n');
  const parts = [`${HEADING} ${id}`, description, `Written as ${schemaType(definition, nameOf)}.`, list];
  return [...parts, ...(rows.length === 0 ? [] : [table(rows)])].filter((part) => part !== '').join('\n\n');
}
