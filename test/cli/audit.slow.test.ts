import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openWorkspace } from '../../src/cli/open-workspace.ts';
import { setupNightly } from '../support/nightly.ts';
import { delay } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import { startWebhook } from '../support/webhook.ts';

const me = `${userInfo().username}@${hostname()}`;

it('the audit log has who ran, planned, approved and was refused, for people and for programs', async () => {
  await using nightly = await setupNightly(5);
  const { workspace } = nightly;
  const planned = (await workspace.storeferry('plan', 'nightly', '--json')).json();
  const id = String(planned['run']);
  await workspace.storeferry('approve', id);
  expect((await workspace.storeferry('approve', id)).code).not.toBe(0);
  expect((await workspace.storeferry('cancel', id)).code).toBe(2);
  await workspace.storeferry('enqueue', 'nightly');

  const listed = (await workspace.storeferry('runs', '--audit', '--json')).json();
  const by = { who: me, by: 'command' };
  expect(listed['audit']).toEqual([
    expect.objectContaining({ ...by, action: 'enqueue', job: 'nightly', outcome: 'done' }),
    expect.objectContaining({ ...by, action: 'cancel', job: 'nightly', run: id, outcome: 'refused' }),
    expect.objectContaining({ ...by, action: 'approve', job: null, run: id, outcome: 'refused' }),
    expect.objectContaining({ ...by, action: 'approve', job: 'nightly', run: id, outcome: 'done' }),
    expect.objectContaining({ ...by, action: 'plan', job: 'nightly', run: id, outcome: 'done' }),
  ]);
  const shown = (await workspace.storeferry('runs', id)).stdout;
  expect(shown).toMatch(new RegExp(`${me} +command +approved a plan +nightly +${id}`));
  expect(shown).not.toContain('enqueued');
  const ofRun = (await workspace.storeferry('runs', id, '--json')).json();
  expect(ofRun['audit']).toHaveLength(4);
  expect((await workspace.storeferry('runs', '--audit', '--job', 'weekly')).stdout).toContain(
    'no such entry',
  );

  const verified = await workspace.storeferry('audit', 'verify');
  expect(verified.code).toBe(0);
  expect(verified.stdout).toMatch(/^The audit log is whole: 5 entries from .* to /);
  const hash = verified.stdout.trimEnd().split(' ').at(-1) ?? '';
  const lines = (await workspace.storeferry('audit', 'export')).stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).action)).toEqual([
    'plan',
    'approve',
    'approve',
    'cancel',
    'enqueue',
  ]);
  expect(JSON.parse(lines[4] ?? '').hash).toBe(hash);

  const edit = (statement: string) => {
    using database = new DatabaseSync(join(workspace.dir, '.storeferry', 'state.db'));
    database.exec(statement);
  };
  edit('DELETE FROM audit WHERE number = 5');
  const shortened = await workspace.storeferry('audit', 'verify', '--known', hash, '--json');
  expect(shortened.code).toBe(1);
  expect(shortened.json()).toMatchObject({
    entries: 4,
    unchained: 0,
    fault: { kind: 'unknown', number: null },
  });
  edit(`UPDATE audit SET entry = replace(entry, '"refused"', '"done"') WHERE number = 3`);
  const altered = await workspace.storeferry('audit', 'verify');
  expect(altered.code).toBe(1);
  expect(altered.stdout).toMatch(
    new RegExp(`^Entry 3 of 4 \\(.*, ${me}: approved a plan ${id}\\) was altered`),
  );

  await workspace.storeferry('run', 'a\u200bb');
  const [line = ''] = (await workspace.storeferry('audit', 'export')).stdout.trimEnd().split('\n').slice(-1);
  const { hash: own, ...hashed } = JSON.parse(line);
  expect(
    createHash('sha256')
      .update(line.replace(`,"hash":"${own}"`, ''))
      .digest('hex'),
  ).toBe(own);
  expect(hashed).toMatchObject({ job: 'a\u200bb', outcome: 'refused' });
});

it('the library notifies of a run whose audit entry could not be written', async () => {
  await using hook = await startWebhook();
  await using nightly = await setupNightly(5, { notify: `{ url: "${hook.url}", on: [done] }` });
  const { workspace, store } = nightly;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  await workspace.storeferry('plan', 'nightly');
  await using library = await openWorkspace(workspace.dir);
  const database = new DatabaseSync(join(workspace.dir, '.storeferry', 'state.db'));
  database.exec('DROP TABLE audit');
  database.close();
  await expect(library.run('nightly').result).rejects.toThrow();
  expect(hook.calls).toHaveLength(1);
});

it('the library records an action when its run begins, and what it refuses', async () => {
  await using nightly = await setupNightly(5);
  const { workspace, store } = nightly;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  store.misbehave({ does: delay(60_000) });
  await using library = await openWorkspace(workspace.dir);
  const audit = async () => {
    const listed = (await workspace.storeferry('runs', '--audit', '--json')).json()['audit'];
    return Array.isArray(listed) ? listed : [];
  };
  const work = library.run('nightly');
  let id = '';
  for await (const event of work.events) {
    if (event.type !== 'begun') continue;
    id = event.run;
    // The store is so slow that the run does not end before.
    await until(async () => (await audit()).length > 0);
    store.behave();
  }
  expect(await work.result).toMatchObject({ status: 'done', applied: 5 });
  await expect(library.approve(id).result).rejects.toThrow('is done');
  await expect(library.plan('other').result).rejects.toThrow("no job 'other'");
  expect(await audit()).toMatchObject([
    { action: 'plan', job: 'other', run: null, outcome: 'refused' },
    { action: 'approve', job: null, run: id, outcome: 'refused' },
    { action: 'run', job: 'nightly', run: id, outcome: 'done' },
  ]);
});
