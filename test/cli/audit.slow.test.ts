import { hostname, userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { setupNightly } from '../support/nightly.ts';

const me = `${userInfo().username}@${hostname()}`;

it('the audit log has who ran, planned, approved and was refused, for people and for programs', async () => {
  await using nightly = await setupNightly(5);
  const { workspace } = nightly;
  const planned = (await workspace.storeferry('plan', 'nightly', '--json')).json();
  const id = String(planned['run']);
  await workspace.storeferry('approve', id);
  expect((await workspace.storeferry('approve', id)).code).not.toBe(0);
  await workspace.storeferry('enqueue', 'nightly');

  const listed = (await workspace.storeferry('runs', '--audit', '--json')).json();
  const by = { who: me, by: 'command' };
  expect(listed['audit']).toEqual([
    expect.objectContaining({ ...by, action: 'enqueue', job: 'nightly', outcome: 'done' }),
    expect.objectContaining({ ...by, action: 'approve', job: null, run: id, outcome: 'refused' }),
    expect.objectContaining({ ...by, action: 'approve', job: 'nightly', run: id, outcome: 'done' }),
    expect.objectContaining({ ...by, action: 'plan', job: 'nightly', run: id, outcome: 'done' }),
  ]);
  const shown = (await workspace.storeferry('runs', id)).stdout;
  expect(shown).toMatch(new RegExp(`${me} +command +approved a plan +nightly +${id}`));
  expect(shown).not.toContain('enqueued');
  const ofRun = (await workspace.storeferry('runs', id, '--json')).json();
  expect(ofRun['audit']).toHaveLength(3);
  expect((await workspace.storeferry('runs', '--audit', '--job', 'weekly')).stdout).toContain(
    'no such entry',
  );
});
