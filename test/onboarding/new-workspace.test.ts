import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { removeTemporaryFiles, writeTogether } from '../../src/config/edit-file.ts';
import { fillTemplate, parseTemplate, yamlText } from '../../src/config/yaml-text.ts';
import {
  composeFiles,
  dotEnvText,
  gitignoreAddition,
  knownStore,
} from '../../src/onboarding/new-workspace.ts';
import { runProcess } from '../support/processes.ts';

describe('texts of a new workspace', () => {
  it('write any value into YAML so that it reads back as it was, and fills in no variable', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const { key } = z.object({ key: z.string() }).parse(parse(`key: ${yamlText(text)} # why`));
        const filled = fillTemplate(parseTemplate(key) ?? [], () => 'filled in');
        expect(filled).toMatchObject({ text });
      }),
    );
  });

  it('write any key of printable characters into .env so that it reads back as it was', () => {
    const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.string({ unit: character, minLength: 1 }), (key) => {
        fc.pre(!/['"`]/.test(key));
        expect(parseEnv(dotEnvText({ STORE_API_KEY: key, OTHER: 'x' }))).toEqual({
          STORE_API_KEY: key,
          OTHER: 'x',
        });
      }),
    );
  });

  it('refuse a key with all kinds of quotes and name no part of it', () => {
    expect(() => dotEnvText({ STORE_API_KEY: `a'b"c\`#d` })).toThrow(
      /^The value of STORE_API_KEY cannot be written/,
    );
  });

  it('add to .gitignore only what it lacks', () => {
    expect(gitignoreAddition(null)).toBe('.env\n.storeferry/\n.*.tmp\n');
    expect(gitignoreAddition('node_modules')).toBe('\n.env\n.storeferry/\n.*.tmp\n');
    expect(gitignoreAddition('/.env\r\n')).toBe('.storeferry/\n.*.tmp\n');
    expect(gitignoreAddition('.*.tmp\n.storeferry/\n.env\n')).toBe('');
  });
});

describe('files written together', () => {
  let dir = '';
  const at = (name: string) => join(dir, name);
  const file = (name: string, text: string) => ({
    path: at(name),
    content: { text },
    existing: 'refuse' as const,
  });
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'storeferry-together-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('put no key where git would take it, and no store without its address and key', () => {
    const source = { path: 'a.csv' };
    const job = { name: 'a', imports: 'products', store: 'main', source, mapping: 'a' } as const;
    const files = composeFiles({
      ...{ dir, weightUnit: 'kg', variables: { STORE_API_KEY: 'k' }, unset: [], sandbox: false },
      job: { ...job, params: {}, paramValues: {}, timezone: 'UTC' },
      ...{ crosswalkToCome: false, starter: undefined, copies: [] },
    });
    const names = files.map(({ name }) => name);
    expect([names.slice(0, 3), names.at(-1)]).toEqual([['.gitignore', '.env', 'stores.yaml'], 'jobs/a.yaml']);
  });

  it('leave of a killed process a key that git ignores, and are written by the next', async () => {
    const key = { path: at('.env'), content: { text: 'K=v\n' }, mode: 0o600, existing: 'add' as const };
    const editing = import.meta.resolve('../../src/config/edit-file.ts');
    const killed = await runProcess(process.execPath, [
      '--input-type=module',
      '--eval',
      `import fs, { linkSync } from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      fs.linkSync = (from, to) => (to.endsWith('.env') ? process.kill(process.pid, 'SIGKILL') : linkSync(from, to));
      syncBuiltinESMExports();
      const { writeTogether } = await import('${editing}');
      writeTogether(${JSON.stringify([file('stores.yaml', 'main: {}\n'), key])});`,
    ]);
    expect(killed.code).toBeNull();
    const patterns = gitignoreAddition(null).split('\n');
    const keys = readdirSync(dir).filter((name) => readFileSync(at(name), 'utf8').includes('K=v'));
    expect(keys).toEqual([expect.stringMatching(/^\.\.env\..*\.tmp$/)]);
    expect(keys.filter((name) => !patterns.some((pattern) => matchesGlob(name, pattern)))).toEqual([]);
    expect(statSync(at(keys[0] ?? '')).mode & 0o777).toBe(0o600);
    writeTogether([key]);
    expect(readFileSync(at('.env'), 'utf8')).toBe('K=v\n');
    // The next dashboard removes them, unless their writer may still be at work.
    const temporary = () => readdirSync(dir).filter((name) => name.endsWith('.tmp'));
    removeTemporaryFiles(dir, Date.now());
    expect(temporary()).toContain(keys[0]);
    writeFileSync(at('.mine.tmp'), '');
    removeTemporaryFiles(dir, Date.now() + 2 * 3_600_000);
    expect(temporary()).toEqual(['.mine.tmp']);
  });

  it('have no key on disk while others are prepared, which may take long', () => {
    let seen: readonly string[] = [];
    const large = {
      get text() {
        seen = readdirSync(dir, { recursive: true }).map(String);
        return 'a,b\n';
      },
    };
    writeTogether([
      { path: at('.gitignore'), content: { text: '.env\n' }, existing: 'add' },
      { path: at('.env'), content: { text: 'K=v\n' }, mode: 0o600, existing: 'add' },
      { path: at('source.csv'), content: large, existing: 'refuse' },
    ]);
    expect(seen).toEqual([expect.stringMatching(/^\.\.gitignore\./)]);
    expect(readdirSync(dir).sort()).toEqual(['.env', '.gitignore', 'source.csv']);
  });

  it('are all there afterwards, and nothing else', () => {
    writeFileSync(at('source.csv'), 'a,b\n', { mode: 0o444 });
    writeFileSync(at('.gitignore'), 'x\n');
    writeTogether([
      file('jobs/one.yaml', 'import: products\n'),
      { path: at('.env'), content: { text: 'K=v\n' }, mode: 0o600, existing: 'add' },
      { path: at('.gitignore'), content: { text: '.env\n' }, existing: 'add' },
      { path: at('copies/source.csv'), content: { copyOf: at('source.csv') }, existing: 'refuse' },
    ]);
    expect(readdirSync(dir, { recursive: true }).sort()).toEqual(
      ['.env', '.gitignore', 'copies', 'copies/source.csv', 'jobs', 'jobs/one.yaml', 'source.csv'].sort(),
    );
    expect(readFileSync(at('.gitignore'), 'utf8')).toBe('x\n.env\n');
    expect(readFileSync(at('copies/source.csv'), 'utf8')).toBe('a,b\n');
    expect(statSync(at('.env')).mode & 0o777).toBe(0o600);
    expect(statSync(at('copies/source.csv')).mode & 0o200).toBe(0o200);
  });

  it('are none of them there when one cannot be written, and what was there is as it was', () => {
    writeFileSync(at('.env'), 'OLD=1\n', { mode: 0o640 });
    writeFileSync(at('taken.yaml'), 'mine\n');
    const attempt = () =>
      writeTogether([
        { path: at('.env'), content: { text: 'K=v\n' }, mode: 0o600, existing: 'add' },
        file('new/deep/one.yaml', 'x\n'),
        file('taken.yaml', 'theirs\n'),
      ]);
    expect(attempt).toThrow(/taken\.yaml is there already/);
    expect(readdirSync(dir).sort()).toEqual(['.env', 'taken.yaml']);
    expect(readFileSync(at('.env'), 'utf8')).toBe('OLD=1\n');
    expect(readFileSync(at('taken.yaml'), 'utf8')).toBe('mine\n');
  });

  it('are taken away again when a later one turns out to be impossible', () => {
    writeFileSync(at('.gitignore'), 'x\n', { mode: 0o640 });
    mkdirSync(at('.env'));
    const attempt = () =>
      writeTogether([
        file('jobs/one.yaml', 'x\n'),
        { path: at('.gitignore'), content: { text: 'y\n' }, mode: 0o600, existing: 'add' },
        { path: at('.env'), content: { text: 'K=v\n' }, existing: 'add' },
      ]);
    expect(attempt).toThrow(/EISDIR/);
    expect(readdirSync(dir).sort()).toEqual(['.env', '.gitignore']);
    expect(readFileSync(at('.gitignore'), 'utf8')).toBe('x\n');
    expect(statSync(at('.gitignore')).mode & 0o777).toBe(0o640);
  });

  it('leave no folder behind where a file stands in the way of one', () => {
    writeFileSync(at('jobs'), 'a file\n');
    expect(() => writeTogether([file('schemas/a.json', '{}'), file('jobs/one.yaml', 'x')])).toThrow();
    expect(existsSync(at('schemas'))).toBe(false);
    expect(readdirSync(dir)).toEqual(['jobs']);
  });
});

it('tells which variables the environment has with other values than those to be written', () => {
  const written = { STORE_URL: 'https://a.example', STORE_API_KEY: 'k' };
  const overridden = (variables: Readonly<Record<string, string>>) =>
    knownStore(tmpdir(), variables).overridden(written);
  expect(overridden({})).toEqual([]);
  expect(overridden(written)).toEqual([]);
  // An empty variable has priority too.
  expect(overridden({ STORE_URL: '', STORE_API_KEY: 'other' })).toEqual(['STORE_URL', 'STORE_API_KEY']);
});
