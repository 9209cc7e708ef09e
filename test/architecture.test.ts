import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findImports, OF_WORKSPACE } from './support/find-imports.ts';

const SRC = join(import.meta.dirname, '..', 'src');

/** What each folder of src/ imports besides itself, text/ and model/: the one direction of imports, one line a folder. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  // Printing, quoting, redaction, near names.
  text: [],
  model: [],
  isolation: [],
  // Artifacts may live in S3; the database has a thread.
  state: ['remote', 'isolation'],
  // Which answers of servers pass, and how long they ask to wait.
  storefront: ['remote'],
  remote: [],
  // The schemas of mapping files, and those of files on other machines.
  config: ['mapping', 'remote'],
  source: ['state', 'remote', 'tables', 'isolation'],
  // Buffers of files, which it gives back.
  tables: ['isolation', 'remote'],
  // The keys of a lookup that name its file.
  mapping: ['remote'],
  plan: ['state'],
  apply: ['state', 'storefront'],
  export: ['state', 'storefront', 'remote', 'tables'],
  rejects: ['state', 'tables'],
  // The names of the files of rejects.
  report: ['state', 'rejects'],
  // A new job: guesses a mapping, asks, and writes the files.
  onboarding: ['mapping', 'isolation', 'config', 'source', 'state', 'tables'],
  run: [
    'source',
    'tables',
    'rejects',
    'onboarding',
    'mapping',
    'plan',
    'apply',
    'export',
    'report',
    'state',
    'storefront',
    'config',
    // Looks at image addresses while a plan is made.
    'remote',
  ],
  sandbox: [],
  queue: ['run', 'report', 'state', 'config'],
  dashboard: ['run', 'report', 'rejects', 'config', 'mapping', 'onboarding'],
  cli: [
    'run',
    'queue',
    'report',
    'rejects',
    'state',
    'config',
    'sandbox',
    'dashboard',
    'mapping',
    'onboarding',
  ],
};

/** The files of a folder that other folders may import. A folder without an entry has no list yet. */
const PUBLIC: Readonly<Record<string, readonly string[]>> = {
  storefront: ['storefront.ts'],
  config: [
    ...['workspace.ts', 'store-config.ts', 'job/job.ts'],
    // For pages that change files, and for the files of a new job.
    ...['edit-file.ts', 'yaml-text.ts'],
  ],
  source: ['snapshot.ts'],
  remote: ['remote-kinds.ts', 'remote-client.ts', 'fetch-file.ts'],
  isolation: ['run-isolated.ts'],
  tables: ['open-table.ts', 'write-table.ts'],
  mapping: [
    ...['spec/mapping-spec.ts', 'compile-mapping.ts', 'map-tables.ts'],
    // The tables that a run reads for a mapping.
    'lookup-table.ts',
  ],
  plan: [
    // Makes a plan; reads what it has written, and judges it while it is applied.
    ...['plan-import.ts', 'plan-file.ts'],
  ],
  apply: ['apply-operations.ts'],
  export: ['reading/read-items.ts', 'writing/export-file.ts'],
  run: [
    // What a run needs from the edge, what is done with a job, how its shards are sent, what became of it.
    ...['run-context.ts', 'execute-run.ts'],
    ...['report/read-stored-report.ts', 'export/export-run.ts'],
    // Corrected rejects, which the dashboard takes.
    ...['read-corrections.ts', 'show-record.ts'],
    ...['inputs/open-mapping.ts', 'online/online-checks.ts', 'kept-probe.ts', 'scan-contacts.ts'],
    // A record of the ledger, its versions, and the records of a run.
    ...['records/forget-record.ts', 'records/record-history.ts', 'records/run-records.ts'],
  ],
  state: [
    ...['state.ts', 'open-state.ts', 'artifacts.ts'],
    // Which files of this machine jobs may use, also for sources and destinations.
    'file-access.ts',
    // BullMQ uses the same Redis; `check --online` looks at it.
    'redis/redis-connection.ts',
    // Rows on disk, for mappings that need all rows of a source.
    'sqlite/open-row-scratch.ts',
  ],
  sandbox: ['start-sandbox.ts'],
  cli: [],
  queue: [
    // What waits for workers, wherever it is; a worker, what it needs, and its log.
    ...['run-queue.ts', 'start-worker.ts'],
  ],
  report: [
    // What is known of a run, its document, and the renderers of it.
    ...['run-facts.ts', 'run-document.ts', 'document-text.ts', 'html/document-sections.ts'],
    'run-summary.ts',
    // One record of a plan.
    'record-view.ts',
    // Words, figures and progress that commands and pages print as reports do.
    ...['status-words.ts', 'html/markup.ts'],
  ],
  // What a run writes of its rejects, and what comes back.
  rejects: ['rejects-file.ts', 'corrected-rejects.ts', 'judge-cell.ts'],
  onboarding: [
    // The draft of a new job, and the files that are written for it.
    ...['job-draft.ts', 'new-workspace.ts'],
    // What a file is, and which fields its columns fill, also for jobs that exist.
    'preview-source.ts',
  ],
  dashboard: [
    // The server of a worker knows its own addresses as the context of the dashboard does.
    ...['start-dashboard.ts', 'dashboard-context.ts'],
  ],
};

/** Stages know the shape of what configuration gives them, never how it is read. */
const MAY_IMPORT_TYPES_OF_CONFIG: readonly string[] = ['export', 'plan', 'source'];

/** The folders that import a package: each is a part that could be replaced whole, or that only the edge may hold. */
const IMPORTED_IN: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['remote'],
  '@aws-sdk/lib-storage': ['remote'],
  '@bull-board/api': ['queue'],
  '@bull-board/api/bullMQAdapter': ['queue'],
  '@bull-board/fastify': ['queue'],
  '@fastify/cookie': ['dashboard'],
  '@fastify/multipart': ['dashboard'],
  '@fastify/rate-limit': ['dashboard'],
  '@inquirer/confirm': ['cli'],
  '@inquirer/input': ['cli'],
  '@inquirer/password': ['cli'],
  '@inquirer/select': ['cli'],
  bullmq: ['queue'],
  commander: ['cli'],
  'cron-parser': ['config'],
  cronstrue: ['dashboard'],
  entities: ['mapping'],
  'entities/escape': ['report'],
  'fastest-levenshtein': ['text', 'onboarding'],
  fastify: ['sandbox', 'dashboard'],
  'hyparquet-writer': ['tables'],
  ioredis: ['state'],
  mysql2: ['remote'],
  nodemailer: ['run'],
  pg: ['remote'],
  'pg-cursor': ['remote'],
  'p-retry': ['remote', 'run', 'storefront'],
  papaparse: ['tables'],
  picocolors: ['cli', 'report'],
  pino: ['cli', 'queue'],
  re2js: ['mapping'],
  'sanitize-html': ['mapping'],
  saxes: ['tables'],
  ssh2: ['remote'],
  'stream-chain/defs.js': ['tables'],
  'stream-json/core/parser.js': ['tables'],
  'string-width': ['report'],
  undici: ['storefront', 'remote', 'run'],
  yaml: ['config'],
  yauzl: ['source'],
  yazl: ['tables'],
  zod: [
    ...['config', 'dashboard', 'export', 'mapping', 'model', 'onboarding', 'plan', 'queue'],
    ...['remote', 'rejects', 'run', 'sandbox', 'source', 'state'],
  ],
  'node:child_process': ['cli', 'source'],
  'node:net': ['sandbox', 'remote', 'dashboard'],
  // The last: a table as a destination.
  'node:sqlite': ['state', 'sandbox', 'source', 'export'],
  'node:worker_threads': ['isolation', 'source', 'state'],
};

interface Import {
  readonly file: string;
  readonly from: string;
  readonly specifier: string;
  /** The file that is meant, relative to src/; undefined for packages. */
  readonly target: string | undefined;
  readonly typeOnly: boolean;
}

const files = globSync('**/*.ts', { cwd: SRC });

const imports: readonly Import[] = files.flatMap((file) =>
  findImports(readFileSync(join(SRC, file), 'utf8')).map(({ specifier, typeOnly }) => ({
    file,
    from: folderOf(file),
    specifier,
    target: specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : undefined,
    typeOnly,
  })),
);

const between = imports.flatMap(({ target, ...found }) =>
  target === undefined || target.startsWith('..') || folderOf(target) === found.from
    ? []
    : [{ ...found, target, to: folderOf(target) }],
);

const packages = imports.filter(({ target }) => target === undefined);

function folderOf(file: string): string {
  return file.split(sep)[0] ?? '';
}

function shown({ file, specifier }: Pick<Import, 'file' | 'specifier'>): string {
  return `${file} imports ${specifier}`;
}

describe('the structure of src/', () => {
  it('has only the folders that the design names', () => {
    const folders = new Set(globSync('*/**/*.ts', { cwd: SRC }).map(folderOf));
    expect([...folders].filter((folder) => !(folder in MAY_IMPORT))).toEqual([]);
    expect(folders.size).toBeGreaterThan(0);
  });

  it('points its imports one way', () => {
    const wrong = between.filter(({ from, to, typeOnly }) => {
      const allowed =
        to === 'text' || (to === 'model' && from !== 'text') || (MAY_IMPORT[from] ?? []).includes(to);
      return !(allowed || (to === 'config' && typeOnly && MAY_IMPORT_TYPES_OF_CONFIG.includes(from)));
    });
    expect(wrong.map(shown)).toEqual([]);
  });

  it('imports only the public files of another folder, and makes no file public without a reason', () => {
    const reached = (folder: string) =>
      new Set(between.flatMap(({ to, target }) => (to === folder && target !== undefined ? [target] : [])));
    for (const [folder, files] of Object.entries(PUBLIC)) {
      expect([...reached(folder)].sort()).toEqual(files.map((file) => join(folder, file)).sort());
    }
  });

  it('loads no schema library into the thread of the database, whose start each command waits for', () => {
    const loaded = new Set<string | undefined>([join('state', 'sqlite', 'sqlite-thread.ts')]);
    for (const file of loaded) {
      for (const { target, specifier } of imports.filter((found) => found.file === file && !found.typeOnly)) {
        loaded.add(target ?? specifier);
      }
    }
    expect(loaded).toContain('node:sqlite');
    expect(loaded).not.toContain('zod');
  });

  it('reaches outside itself for nothing but package.json', () => {
    const outside = imports.filter(({ target }) => target?.startsWith('..') === true);
    expect(outside.filter(({ target }) => target !== join('..', 'package.json')).map(shown)).toEqual([]);
  });

  it('allows no direction that nothing takes', () => {
    const taken = new Set(between.map(({ from, to }) => `${from} -> ${to}`));
    const allowed = Object.entries(MAY_IMPORT).flatMap(([from, folders]) =>
      folders.map((to) => `${from} -> ${to}`),
    );
    const ofConfig = MAY_IMPORT_TYPES_OF_CONFIG.map((from) => `${from} -> config`);
    expect([...allowed, ...ofConfig].filter((direction) => !taken.has(direction))).toEqual([]);
  });

  it('has no file that imports itself by way of others, types included', () => {
    expect(cycles(imports)).toEqual([]);
  });

  it('imports each package where it is said to be, and nowhere else', () => {
    const found = new Map<string, Set<string>>();
    for (const { specifier, from } of packages) {
      if (!(specifier in IMPORTED_IN) && specifier.startsWith('node:')) continue;
      found.set(specifier, (found.get(specifier) ?? new Set()).add(from));
    }
    const actual = Object.fromEntries([...found].map(([name, folders]) => [name, [...folders].sort()]));
    const said = Object.entries(IMPORTED_IN).map(([name, folders]) => [name, [...folders].sort()] as const);
    expect(actual).toEqual(Object.fromEntries(said));
  });
});

describe('the structure of test/', () => {
  const ROOT = join(SRC, '..');
  const tests = globSync('test/**/*.ts', { cwd: ROOT });
  const importing = (specifier: string) =>
    tests.filter((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      return new RegExp(`^import (?!type\\b)[^;]* from '${specifier}';`, 'm').test(text);
    });

  it('executes files of a workspace in one place alone', () => {
    const marked = files.filter((file) => readFileSync(join(SRC, file), 'utf8').includes(OF_WORKSPACE));
    expect(marked).toEqual([join('source', 'load-extensions.ts')]);
  });

  it('starts processes and browsers by the modules alone that end them', () => {
    expect(importing('(node:)?child_process')).toEqual([join('test', 'support', 'processes.ts')]);
    const launching = importing('playwright-core').filter((file) =>
      /chromium\b/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(launching).toEqual([join('test', 'support', 'browser.ts')]);
  });

  it('has a file that `npm test` runs in each folder with tests', () => {
    // Benchmarks are no part of the product.
    const testFiles = tests.filter(
      (file) => file.endsWith('.test.ts') && !file.includes(`${sep}bench${sep}`),
    );
    const quick = new Set(
      testFiles.filter((file) => !file.endsWith('.slow.test.ts')).map((file) => dirname(file)),
    );
    expect(
      [...new Set(testFiles.map((file) => dirname(file)))].filter((folder) => !quick.has(folder)),
    ).toEqual([]);
  });
});

/** The groups of files that all reach one another. */
function cycles(all: readonly Import[]): string[][] {
  const targets = Map.groupBy(all, ({ file }) => file);
  const reachable = (start: string): Set<string> => {
    const seen = new Set<string>();
    const open = [start];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      for (const { target } of targets.get(file) ?? []) {
        if (target === undefined || seen.has(target)) continue;
        seen.add(target);
        open.push(target);
      }
    }
    return seen;
  };
  const reaches = new Map(files.map((file) => [file, reachable(file)]));
  const groups = files
    .filter((file) => reaches.get(file)?.has(file) === true)
    .map((file) => files.filter((other) => reaches.get(file)?.has(other) && reaches.get(other)?.has(file)));
  return [...new Map(groups.map((group) => [group.join(), group])).values()];
}
