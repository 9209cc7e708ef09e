import { limitsSchema } from '../../src/config/job/import-job-schema.ts';
import { type JsonSchema, plainSchemaFor, type SchemaName } from '../../src/config/workspace.ts';
import { DEFAULT_LIMITS, LIMIT_WORDS, type LimitName, raiseLimit } from '../../src/model/input-limits.ts';
import { type SchemaKey, schemaKeys } from './schema-keys.ts';
import { branchesOf, code } from './schema-type.ts';

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

/** All limits on what an import takes in as a list: the default of each, and what it counts. */
function limitsMarkdown(): string {
  const names = Object.keys(limitsSchema.shape).filter(isLimit);
  const items = names.map((name) => `- ${code(name)} (${said(name)}): ${LIMIT_WORDS[name].counts}`);
  return [...items, '', `The message of a limit ends: “${raiseLimit('rows').replace('rows', 'NAME')}”`].join(
    '\n',
  );
}

/** The references that exist. */
export type ReferenceName = SchemaName | 'environment' | 'limits';

const HEADING = '####';

/**
 * The reference of a kind of file, of the environment, or of the limits, as Markdown: its keys with type, default and
 * meaning, nested keys by their path. All of it comes from the schemas, so it cannot differ from what is read.
 */
export function referenceMarkdown(name: ReferenceName): string {
  if (name === 'limits') return limitsMarkdown();
  const own = sectionsOf(name);
  // Mappings name files as jobs do; what the reference of jobs describes is not repeated.
  const elsewhere = name === 'mapping' ? sectionsOf('job') : [];
  const isThere = ({ title, keys }: Section) =>
    elsewhere.some((other) => other.title === title && sameKeys(other.keys, keys));
  const known = own.filter(isThere).map(({ title }) => title);
  const ofStores = name === 'job' ? sectionsOf('stores') : [];
  const owners = ownersOf([
    ...ofStores.map((section) => ({ ...section, link: 'in [stores.yaml](#storesyaml)' })),
    ...own.filter((section) => !isThere(section)),
    ...elsewhere.map((section) => ({ ...section, link: 'in [jobs](reference.md#jobs)' })),
  ]);
  const shown = own
    .filter((section) => !isThere(section))
    .map((section) => {
      const heading = section.title === '' ? '' : `${HEADING} ${section.title}`;
      return [heading, section.text, keyList(section, owners)].filter((part) => part !== '').join('\n\n');
    });
  if (known.length === 0) return shown.join('\n\n');
  return [...shown, `${known.join(', ')}: as [in jobs](reference.md#${known[0]?.toLowerCase()}).`].join(
    '\n\n',
  );
}

/** A part of a reference. */
interface Section {
  readonly title: string;
  readonly text: string;
  readonly keys: readonly SchemaKey[];
  /** How other documents name the document of the section, after `as`. */
  readonly link?: string;
}

function sameKeys(some: readonly SchemaKey[], others: readonly SchemaKey[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}

function sectionsOf(name: SchemaName | 'environment'): Section[] {
  const schema = plainSchemaFor(name);
  const definitions = definitionsOf(schema);
  const nameOf = (reference: string) => resolveName(reference, definitions);
  return [
    ...kindSections(name, schema, nameOf),
    ...Object.entries(definitions)
      .filter(([id]) => !id.startsWith('__'))
      .map(([id, definition]) => definitionSection(id, definition, nameOf)),
  ];
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

function kindSections(name: SchemaName | 'environment', schema: JsonSchema, nameOf: NameOf): Section[] {
  switch (name) {
    case 'environment':
      return [{ title: '', text: '', keys: schemaKeys(schema, nameOf) }];
    case 'stores':
      return [{ title: '', text: '', keys: schemaKeys(schema.additionalProperties, nameOf) }];
    case 'job':
    case 'mapping':
      return kinds(name, schema, nameOf);
    default:
      return name satisfies never;
  }
}

/** What all kinds of the file have in common, then what each has alone. */
function kinds(name: SchemaName, schema: JsonSchema, nameOf: NameOf): Section[] {
  const branches = branchesOf(schema);
  const lists = branches.map((branch) =>
    schemaKeys(branch, nameOf).filter(({ path }) => !isInputLimit(path)),
  );
  const [first = [], ...others] = lists;
  const isIn = (keys: readonly SchemaKey[], key: SchemaKey) => keys.some((other) => sameKeys([other], [key]));
  const common = first.filter((key) => others.every((keys) => isIn(keys, key)));
  return [
    { title: `In every ${name}`, text: '', keys: common },
    ...branches.map((branch, index) => {
      const keys = (lists[index] ?? []).filter((key) => !isIn(common, key));
      return { title: kindOf(branch), text: '', keys };
    }),
  ];
}

/** The limits on input have a document of their own. */
function isInputLimit(path: string): boolean {
  return path.startsWith('limits.') && isLimit(path.replace('limits.', ''));
}

/** The key by which the kind is recognised, with its value where it has a fixed one. */
function kindOf({ properties = {} }: JsonSchema): string {
  const [key = '', node] = Object.entries(properties)[0] ?? [];
  return isSchema(node) && node.const !== undefined ? code(`${key}: ${node.const}`) : code(key);
}

function definitionSection(id: string, definition: JsonSchema, nameOf: NameOf): Section {
  const ofBranches = branchesOf(definition).flatMap((branch) =>
    branch === definition ? [] : (branch.description ?? '').split('\n').filter((line) => line !== ''),
  );
  const list = ofBranches.map((line) => `- ${line}`).join('\n');
  const text = [definition.description ?? '', list].filter((part) => part !== '').join('\n\n');
  return { title: id, text, keys: schemaKeys(definition, nameOf) };
}

/** Where keys that several places have are described. */
type Owners = ReadonlyMap<string, { readonly section: Section; readonly path: string }>;

function signature({ path, type, preset, meaning }: SchemaKey): string {
  return [leafOf(path), type, preset, meaning].join('\n');
}

function leafOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

function depthOf(path: string): number {
  return path.split('.').length;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('.'), 0));
}

/** Of places whose keys are the same, the first of the outermost ones describes them. */
function ownersOf(sections: readonly Section[]): Owners {
  const owners = new Map<string, { readonly section: Section; readonly path: string }>();
  for (const section of sections) {
    for (const key of section.keys) {
      const known = owners.get(signature(key));
      if (known === undefined || depthOf(key.path) < depthOf(known.path)) {
        owners.set(signature(key), { section, path: key.path });
      }
    }
  }
  return owners;
}

/**
 * The keys as a list. Keys in a row are one item if another place describes all of them, which the item then names, or if
 * they have the same type and need no explanation.
 */
function keyList(section: Section, owners: Owners): string {
  const groups: { place: string | undefined; keys: SchemaKey[] }[] = [];
  for (const key of section.keys) {
    const place = placeOf(key, section, owners);
    const last = groups.at(-1);
    const [begun] = last?.keys ?? [];
    const continues =
      begun !== undefined &&
      last?.place === place &&
      parentOf(begun.path) === parentOf(key.path) &&
      (place !== undefined || sameKeys([{ ...begun, path: key.path }], [key]));
    if (continues) last?.keys.push(key);
    else groups.push({ place, keys: [key] });
  }
  return groups.flatMap(({ place, keys }) => items(place, keys)).join('\n');
}

function items(place: string | undefined, keys: readonly SchemaKey[]): string[] {
  const [first, ...others] = keys;
  if (first === undefined) return [];
  const names = [first.path, ...others.map(({ path }) => leafOf(path))].map(code).join(', ');
  if (place !== undefined && others.length > 0) return [`- ${names}: as ${place}`];
  const { type, preset, meaning } = first;
  // Most keys take a text, so the documents say what a key without a type takes.
  const facts = [type === 'text' ? '' : type, preset].filter((part) => part !== '').join('; ');
  return [`- ${names}${facts === '' ? '' : ` (${facts})`}${meaning === '' ? '' : `: ${meaning}`}`];
}

/** The place that describes a key, if it is another one. */
function placeOf(key: SchemaKey, section: Section, owners: Owners): string | undefined {
  const owner = owners.get(signature(key));
  if (key.meaning === '' && owner?.section === section) return undefined;
  if (owner === undefined || (owner.path === key.path && owner.section.title === section.title))
    return undefined;
  const parent = parentOf(owner.path);
  const place = parent === '' ? `in ${owner.section.title}` : `under ${code(parent)}`;
  return owner.section.link === undefined ? place : `${place} ${owner.section.link}`;
}
