import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, sep } from 'node:path';
import { findImports } from '../support/find-imports.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SRC = join(ROOT, 'src');

/** Each lists the definitions of one kind, a file for each, so that adding one touches one file and one line. */
const REGISTRIES: ReadonlySet<string> = new Set([
  'cli/commands.ts',
  'dashboard/start-dashboard.ts',
  'mapping/transforms/transforms.ts',
  'remote/remote-kinds.ts',
  'report/run-document.ts',
  'run/online/online-checks.ts',
  'tables/table-formats.ts',
]);

/** A way through the code that docs/architecture.md names: the files to open, in their order, relative to the root. */
export interface Journey {
  readonly name: string;
  readonly files: readonly string[];
}

/** What `npm run structure` prints about src/. */
export interface Structure {
  readonly files: number;
  readonly lines: number;
  /** Files that a file of another top folder imports. */
  readonly reachedFromOutside: readonly string[];
  /** Files that exactly one file imports, other than a registry. */
  readonly withOneImporter: readonly string[];
  /** Files that only their registry imports: one for each transform, command and so on. */
  readonly entriesOfRegistries: readonly string[];
  /** Files that export nothing of their own name; those that export nothing are entry points. */
  readonly withoutOwnName: readonly string[];
  /** Base names of several files. */
  readonly repeatedNames: readonly string[];
  readonly journeys: readonly Journey[];
}

/** Measures src/ as it is on disk. */
export function measureStructure(): Structure {
  const files = globSync('**/*.ts', { cwd: SRC });
  const texts = new Map(files.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]));
  const importers = new Map<string, Set<string>>(files.map((file) => [file, new Set()]));
  for (const [file, text] of texts) {
    for (const { specifier } of findImports(text)) {
      if (!specifier.startsWith('.')) continue;
      importers.get(normalize(join(dirname(file), specifier)))?.add(file);
    }
  }
  const isOutside = (file: string) => (importer: string) => folderOf(importer) !== folderOf(file);
  const isEntry = (file: string): boolean => {
    const [only, ...others] = importers.get(file) ?? [];
    return only !== undefined && others.length === 0 && REGISTRIES.has(only);
  };
  const byName = Map.groupBy(files, (file) => basename(file));
  return {
    files: files.length,
    lines: [...texts.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0),
    reachedFromOutside: files.filter((file) => [...(importers.get(file) ?? [])].some(isOutside(file))),
    withOneImporter: files.filter((file) => importers.get(file)?.size === 1 && !isEntry(file)),
    entriesOfRegistries: files.filter(isEntry),
    withoutOwnName: files.filter((file) => {
      const names = exportsOf(texts.get(file) ?? '');
      return names.length > 0 && !names.includes(flat(basename(file, '.ts')));
    }),
    repeatedNames: [...byName].flatMap(([name, found]) => (found.length > 1 ? [name] : [])).sort(),
    journeys: journeysOf(readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8')),
  };
}

/** The items `- *name*: …` of a document, with the source files that each names. */
export function journeysOf(document: string): Journey[] {
  return document.split(/^(?=- \*|#)/m).flatMap((item) => {
    const name = /^- \*([^*]+)\*/.exec(item)?.[1];
    if (name === undefined) return [];
    const files = [...item.matchAll(/`(src\/[^`]+\.ts)`/g)].map(([, file = '']) => file);
    return files.length === 0 ? [] : [{ name, files: [...new Set(files)] }];
  });
}

/** A count of files that must not grow, among how many: no ratio for lengths of journeys. */
export type Bound = readonly [count: number, among?: number | undefined];

/** What must not get worse, by name. */
export function boundsOf(structure: Structure): Record<string, Bound> {
  const share = (found: readonly string[]): Bound => [found.length, structure.files];
  return {
    'reached from outside their folder': share(structure.reachedFromOutside),
    'with one importer only': share(structure.withOneImporter),
    'that export nothing of their own name': share(structure.withoutOwnName),
    'base names that occur twice': [structure.repeatedNames.length],
    ...Object.fromEntries(
      structure.journeys.map(({ name, files }) => [`files of ${name}`, [files.length]] as const),
    ),
  };
}

/** Whether there are more of them, also in relation: a merge of two private files makes a ratio worse and harms nothing. */
export function isWorse([count, among = 1]: Bound, [mostCount, mostAmong = 1]: Bound): boolean {
  return count > mostCount && count / among > mostCount / mostAmong;
}

function folderOf(file: string): string {
  return file.split(sep)[0] ?? '';
}

function flat(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase();
}

/** Exported names, in lower case. */
function exportsOf(text: string): string[] {
  const declared = text.matchAll(
    /^export (?:default )?(?:async )?(?:abstract )?(?:function\*?|const|class|interface|type|enum) (\w+)/gm,
  );
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim().split(' ').at(-1) ?? ''),
  );
  return [...[...declared].map(([, name = '']) => name), ...listed].map(flat);
}
