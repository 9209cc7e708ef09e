import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { encodeBodies } from '../../src/state/encode-body.ts';
import { FOLD_TARGETS, MIGRATIONS } from '../../src/state/sqlite/migrations.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { IN_DOUBT } from '../../src/state/state.ts';
import { sampleRun } from './samples.ts';
import { collected } from './two-processes.ts';

interface OldMark {
  readonly target: number;
  readonly key: string;
  readonly id: number | null;
  readonly job: number;
  /** Not merged yet. */
  readonly journal?: boolean;
}

/** A database as it was before targets were identities: names and addresses as given, a body for each mark. */
function oldDatabase(
  targets: readonly (readonly [name: string, address: string])[],
  marks: readonly OldMark[],
) {
  const root = mkdtempSync(join(tmpdir(), 'storeferry-fold-'));
  const folder = join(root, '.storeferry');
  mkdirSync(folder);
  const database = new DatabaseSync(join(folder, 'state.db'));
  const before = MIGRATIONS.indexOf(FOLD_TARGETS);
  for (const step of MIGRATIONS.slice(0, before)) database.exec(step);
  database.exec(`PRAGMA user_version = ${before}`);
  database.exec("INSERT INTO jobs VALUES (1, 'nightly'), (2, 'weekly')");
  for (const [name, address] of targets) {
    database.prepare("INSERT INTO targets VALUES (NULL, ?, ?, 'products')").run(name, address);
  }
  for (const [index, { target, key, id, job, journal }] of marks.entries()) {
    const block = index + 1;
    database
      .prepare('INSERT INTO bodies VALUES (?, ?, 1, 1)')
      .run(block, encodeBodies([`{"body":${index}}`]));
    const into =
      journal === true
        ? 'journal (target, key, fingerprint, id, job, memo, body)'
        : 'marks (target, key, fingerprint, id, job, memo, body)';
    database
      .prepare(`INSERT INTO ${into} VALUES (?, ?, 'print', ?, ?, 'memo', ?)`)
      .run(target, key, id, job, block * 16);
  }
  const { storeId: _none, ...run } = sampleRun({ status: 'done' });
  database
    .prepare('INSERT INTO runs (id, job, started_at, document) VALUES (?, ?, ?, ?)')
    .run(run.id, run.job, run.startedAt, JSON.stringify(run));
  database.close();
  return { folder, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

it('keeps the ledger of a store with one name as it is, whatever the spelling', async () => {
  using old = oldDatabase(
    [
      ['main', 'http://Shop.example:80'],
      ['outlet', 'https://outlet.example'],
    ],
    [
      { target: 1, key: 'coat', id: 7, job: 1 },
      { target: 1, key: 'shirt', id: 8, job: 1, journal: true },
      { target: 2, key: 'coat', id: 9, job: 2 },
    ],
  );
  await using state = await openSqliteState(old.folder);
  const main = state.ledger({ storeId: '//shop.example', resource: 'products' });
  const mark = { fingerprint: 'print', job: 'nightly', memo: 'memo' };
  expect(await main.marks(['coat', 'shirt'])).toEqual([
    { ...mark, id: 7 },
    { ...mark, id: 8 },
  ]);
  expect(await main.bodies(['coat', 'shirt'])).toEqual(['{"body":0}', '{"body":1}']);
  const outlet = state.ledger({ storeId: '//outlet.example', resource: 'products' });
  expect(await outlet.marks(['coat'])).toEqual([{ ...mark, id: 9, job: 'weekly' }]);
  expect(await state.runs.get('run-1')).toMatchObject({ store: 'main', storeId: '//shop.example' });
});

it('makes one ledger of the names of one store, all of it in doubt, and keys of two jobs nobody’s', async () => {
  using old = oldDatabase(
    [
      ['main', 'http://127.0.0.1:3999'],
      ['second', 'http://localhost:3999/'],
      ['third', 'http://[::1]:3999'],
    ],
    [
      { target: 1, key: 'coat', id: 7, job: 1 },
      { target: 2, key: 'coat', id: 7, job: 1 },
      { target: 1, key: 'hat', id: null, job: 1 },
      { target: 2, key: 'hat', id: 9, job: 2, journal: true },
      { target: 2, key: 'shirt', id: 10, job: 2, journal: true },
    ],
  );
  await using state = await openSqliteState(old.folder);
  const ledger = state.ledger({ storeId: '//localhost:3999', resource: 'products' });
  expect(await ledger.marks(['coat', 'hat', 'shirt'])).toEqual([
    { fingerprint: IN_DOUBT, id: 7, job: 'nightly' },
    { fingerprint: IN_DOUBT, id: 9, job: '' },
    { fingerprint: IN_DOUBT, id: 10, job: 'weekly' },
  ]);
  expect(await collected(ledger.keysOf('nightly'))).toEqual([{ key: 'coat', id: 7 }]);
  expect(await collected(ledger.keysOf('weekly'))).toEqual([{ key: 'shirt', id: 10 }]);
  expect(await ledger.bodies(['coat', 'hat', 'shirt'])).toEqual(['{"body":1}', '{"body":3}', '{"body":4}']);
  using database = new DatabaseSync(join(old.folder, 'state.db'), { readOnly: true });
  expect(database.prepare('SELECT count(*) AS rows FROM bodies').get()).toEqual({ rows: 3 });
});
