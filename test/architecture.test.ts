import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '..', 'src');

/** What each folder of src/ may import besides itself and model/: the direction of design.md, one line a folder. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  state: [],
  storefront: [],
  config: [],
  source: ['state'],
  csv: [],
  mapping: [],
  plan: ['state'],
  apply: ['state', 'storefront'],
  export: ['state', 'storefront'],
  report: ['state'],
  run: ['source', 'csv', 'mapping', 'plan', 'apply', 'export', 'report', 'state', 'storefront', 'config'],
  sandbox: [],
  queue: ['run', 'report', 'state', 'config'],
  dashboard: ['run', 'report', 'state', 'config'],
  cli: ['run', 'storefront', 'queue', 'report', 'state', 'config', 'sandbox', 'dashboard', 'mapping', 'csv'],
};

/** Stages may know the shape of what configuration gives them, never how it is read. */
const MAY_IMPORT_CONFIG_TYPES = [
  'source',
  'csv',
  'mapping',
  'plan',
  'apply',
  'export',
  'report',
  'storefront',
];

/** Packages that only some folders may import, and why it matters: each is a part that could be replaced whole. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  bullmq: ['queue'],
  fastify: ['sandbox', 'dashboard'],
  undici: ['storefront', 'source', 'report'],
  ioredis: ['state', 'queue'],
  papaparse: ['csv'],
  commander: ['cli'],
  'node:sqlite': ['state', 'sandbox', 'mapping', 'plan'],
};

interface Import {
  readonly file: string;
  readonly from: string;
  readonly specifier: string;
  readonly typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  const statements = text.matchAll(/^(?:import|export)\s+(type\s+)?[^'";]*?from\s+'([^']+)'/gm);
  return [...statements].map(([, typeOnly, specifier = '']) => ({
    file,
    from: file.split(sep)[0] ?? '',
    specifier,
    typeOnly: typeOnly !== undefined,
  }));
}

function folderOf(found: Import): string {
  return relative(SRC, join(SRC, dirname(found.file), found.specifier)).split(sep)[0] ?? '';
}

const imports = globSync('**/*.ts', { cwd: SRC }).flatMap(importsOf);
const internal = imports.filter(({ specifier }) => specifier.startsWith('.'));

describe('the structure of src/', () => {
  it('has only the folders that the design names', () => {
    const folders = new Set(globSync('*/**/*.ts', { cwd: SRC }).map((file) => file.split(sep)[0]));
    expect([...folders].filter((folder) => folder === undefined || !(folder in MAY_IMPORT))).toEqual([]);
    expect(folders.size).toBeGreaterThan(0);
  });

  it('points its imports one way', () => {
    const wrong = internal.filter((found) => {
      const to = folderOf(found);
      const allowed = to === found.from || to === 'model' || (MAY_IMPORT[found.from] ?? []).includes(to);
      const typesOfConfig = to === 'config' && found.typeOnly && MAY_IMPORT_CONFIG_TYPES.includes(found.from);
      return !(allowed || typesOfConfig || to === '..' || to.endsWith('.json'));
    });
    expect(wrong.map(({ file, specifier }) => `${file} imports ${specifier}`)).toEqual([]);
  });

  it('keeps each replaceable package in its own folders', () => {
    const wrong = imports.filter(({ from, specifier }) => {
      const folders = ONLY_IN[specifier];
      return folders !== undefined && !folders.includes(from);
    });
    expect(wrong.map(({ file, specifier }) => `${file} imports ${specifier}`)).toEqual([]);
  });
});
