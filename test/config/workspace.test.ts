import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readWorkspace, type Workspace } from '../../src/config/workspace.ts';
import { SHIPPED_MAPPINGS } from '../../src/config/workspace-files.ts';
import { UsageError } from '../../src/model/storeferry-error.ts';
import { folder, JOB, MAPPING, problemsOf, STORES, VARIABLES, workspace } from './support.ts';

function usageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof UsageError) return `${error.message} ${error.hint}`;
    throw error;
  }
  return '';
}

describe('a workspace', () => {
  it('lists what it has', () => {
    const found = workspace({ 'jobs/samples/catalog.csv': '', 'jobs/b.yaml': '', 'jobs/notes.txt': '' });
    expect(found.storeNames()).toEqual(['main']);
    expect(found.jobNames()).toEqual(['b', 'nightly']);
    expect(found.mappingNames()).toEqual(['goods', 'people']);
  });

  it('is a folder with stores.yaml or jobs/', () => {
    expect(usageOf(() => readWorkspace(folder({ 'a.txt': '' }), {}))).toMatch(
      / is not a workspace: it has neither stores.yaml nor jobs\/\. Name the workspace with -C DIR, or create one: storeferry init DIR$/,
    );
  });

  it.each<[string, (from: Workspace) => unknown, string]>([
    [
      'store',
      (from) => from.store('mian'),
      "There is no store 'mian' in stores.yaml; did you mean 'main'? Known stores: main.",
    ],
    [
      'job',
      (from) => from.job('nigthly'),
      "There is no job 'nigthly' in jobs/; did you mean 'nightly'? Known jobs: nightly.",
    ],
    [
      'job',
      (from) => from.job('../jobs/nightly'),
      "There is no job '../jobs/nightly' in jobs/. Known jobs: nightly.",
    ],
    [
      'mapping',
      (from) => from.mapping('people2'),
      "There is no mapping 'people2' in mappings/; did you mean 'people'? Known mappings: goods, people.",
    ],
  ])('says which %s is nearest to a wrong name', (_, action, message) => {
    expect(usageOf(() => action(workspace()))).toBe(message);
  });

  it('says of a folder that it cannot be read', () => {
    const dir = folder({ 'stores.yaml': STORES, jobs: 'not a folder' });
    expect(problemsOf(() => readWorkspace(dir, {}))).toEqual([
      `${join(dir, 'jobs')} the folder cannot be read (ENOTDIR)`,
    ]);
  });

  it('fails only on what is used', () => {
    const found = workspace(
      {
        'stores.yaml': `${STORES}broken: { baseUrl: x }\n`,
        'jobs/broken.yaml': ': :\n',
        'mappings/broken.yaml': 'import: nothing\n',
      },
      { ...VARIABLES, LOG_LEVEL: 'nonsense' },
    );
    expect(found.job('nightly').store).toBe('main');
    expect(found.store('main').name).toBe('main');
    expect(found.mapping('goods').spec.import).toBe('products');
    expect(problemsOf(() => found.job('broken'))).toHaveLength(1);
    expect(problemsOf(() => found.mapping('broken'))[0]).toBe(
      "mappings/broken.yaml:1:9 import: expected products or contacts, found 'nothing'",
    );
    expect(problemsOf(() => found.settings())).toHaveLength(1);
  });

  it('reads no store, and so needs no secret, to know what a job is', () => {
    expect(workspace({}, {}).job('nightly').store).toBe('main');
  });

  it('has .env behind the environment of the process', () => {
    const dotEnv = 'STORE_URL=https://from.file\nSTORE_API_KEY=from-file\n';
    const found = workspace({ '.env': dotEnv }, { STORE_URL: 'https://from.process' });
    expect(found.store('main')).toMatchObject({ baseUrl: 'https://from.process', apiKey: 'from-file' });
  });

  it('takes its own mapping before the shipped one of the same name', () => {
    const shipped = folder({
      'goods.yaml': MAPPING,
      'more.yaml': MAPPING.replace('prefix', 'start'),
    });
    const dir = folder({ 'stores.yaml': STORES, 'mappings/goods.yaml': MAPPING });
    const found = readWorkspace(dir, {}, shipped);
    expect(found.mappingNames()).toEqual(['goods', 'more']);
    expect(found.mapping('goods')).toMatchObject({ name: 'goods', shipped: false, dir });
    expect(found.mapping('more')).toMatchObject({ name: 'more', shipped: true, dir: shipped });
  });

  it('gives the place of a part of a mapping', () => {
    expect(workspace().mapping('goods').placeOf(['product', 'title'])).toEqual({
      file: 'mappings/goods.yaml',
      line: 4,
      column: 40,
    });
  });

  it('finds the mappings that Storeferry ships', () => {
    const dir = folder({ 'stores.yaml': STORES });
    const shipped = readdirSync(SHIPPED_MAPPINGS).filter((name) => name.endsWith('.yaml'));
    const found = readWorkspace(dir, {});
    expect(found.mappingNames()).toEqual(shipped.map((name) => name.replace('.yaml', '')).sort());
    for (const name of found.mappingNames()) {
      expect(problemsOf(() => found.mapping(name))).toEqual([]);
    }
    cpSync(SHIPPED_MAPPINGS, join(dir, 'mappings'), { recursive: true });
    expect(readWorkspace(dir, {}).mappingNames()).toEqual(found.mappingNames());
  });

  it('makes absolute paths of those in a job', () => {
    const found = workspace();
    expect(found.path('a/b.csv')).toBe(join(found.dir, 'a/b.csv'));
    expect(found.path('/a/b.csv')).toBe('/a/b.csv');
  });

  it('without stores.yaml says so', () => {
    const dir = folder({ 'jobs/nightly.yaml': JOB, 'mappings/goods.yaml': MAPPING });
    expect(problemsOf(() => readWorkspace(dir, {}).store('main'))).toEqual([
      'stores.yaml there is no such file',
    ]);
  });
});
