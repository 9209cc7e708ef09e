import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { hashToken } from '../../../src/dashboard/access/tokens.ts';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { setupNightly } from '../../support/nightly.ts';
import { until } from '../../support/until.ts';
import { makeWorkspace, type Workspace } from '../../support/workspace.ts';
import { endOf } from './end-of.ts';
import type { HttpClient } from './http-client.ts';
import { type ServedDashboard, serveDashboard } from './running-dashboard.ts';

const PASSWORD = 'correct horse battery';

/** The nightly job, which another person approves, and people with a role each. */
async function openShop(...options: readonly string[]) {
  const nightly = await setupNightly(5, { approval: '{ by: another }', safety: '{ maxRejects: off }' });
  const { workspace } = nightly;
  const catalog = shopifyCatalog(manyProducts(5)).replace('14.00', 'none');
  await workspace.write('catalog.csv', catalog);
  await workspace.write('.env', `STOREFERRY_PASSWORD='${PASSWORD}'\n`);
  const people = { vera: 'view', otto: 'operate', anna: 'approve', 'ben@shop.example': 'edit' };
  for (const [name, role] of Object.entries(people))
    expect((await workspace.storeferry('people', 'add', name, '--role', role)).code).toBe(0);
  const dashboard = await serveDashboard(workspace, ...options);
  return { nightly, workspace, dashboard, [Symbol.asyncDispose]: () => nightly[Symbol.asyncDispose]() };
}

async function signedIn(dashboard: ServedDashboard, name: string, password = PASSWORD) {
  const client = dashboard.client();
  const answer = await client.submit(await client.get('/sign-in'), '/sign-in', { name, password });
  return Object.assign(client, { answer });
}

it.concurrent('people do what their role says; an approval is refused to the starter in browser, API and command', async () => {
  await using shop = await openShop('--worker');
  const { workspace, dashboard, nightly } = shop;
  const [vera, otto, anna, ben] = await Promise.all(
    ['vera', 'otto', 'Anna', 'ben@shop.example'].map((name) => signedIn(dashboard, name)),
  );
  if (!vera || !otto || !anna || !ben) throw new Error('not signed in');

  // What each may open: the registry of actions decides.
  const opens = async (paths: readonly string[]) =>
    await Promise.all(
      [vera, otto, anna, ben].map(async (client) => {
        const answers = await Promise.all(paths.map((path) => client.get(path)));
        return answers.map(({ status }) => status).join(' ');
      }),
    );
  expect(await opens(['/runs', '/jobs/nightly/run', '/jobs/nightly/edit', '/tokens', '/audit'])).toEqual([
    '200 403 403 403 403',
    '200 200 403 403 403',
    '200 200 403 403 403',
    '200 200 200 200 200',
  ]);
  expect((await otto.post('/jobs/nightly/edit', {})).words).toContain(
    'signed in as otto with the role operate',
  );

  // A run stops before its first request, for another person than the starter.
  const begun = await anna.submit(await anna.get('/jobs/nightly/run'), '/jobs/nightly/run');
  const run = /^Run (\w{8})/.exec(begun.words)?.[1] ?? '';
  const words = await endOf(anna, `/runs/${run}`);
  expect(words).toContain('the job asks for the approval of another person');
  expect(words).toContain('Another person approves');
  expect(nightly.store.requests).toHaveLength(0);
  expect((await anna.get(`/runs/${run}/approve`)).words).toContain('anna has started the run');
  expect((await otto.get(`/runs/${run}/approve`)).status).toBe(403);
  const full = await dashboard.signedIn('full');
  expect((await full.get(`/runs/${run}/approve`)).words).toContain('a token that people share');

  // A token is one with the person who made it.
  const made = async (client: HttpClient, name: string) => {
    const form = await client.get('/tokens');
    const answer = await client.submit(form, '/tokens', { name, scope: 'approve', days: '1' });
    return answer.document.querySelector('[role=status] code')?.textContent ?? '';
  };
  const approve = async (token: string, of: string) =>
    await fetch(new URL(`/api/v1/runs/${of}/approve`, dashboard.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
  await ben.submit(await ben.get('/people'), '/people/change', { name: 'anna', role: 'edit' });
  const ofAnna = await made(anna, 'of-anna');
  const refused = await approve(ofAnna, run);
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('anna has started')]);
  const ofNobody = await made(full, 'of-nobody');
  expect((await approve(ofNobody, run)).status).toBe(403);

  // The starter may not force it by the form of somebody else's page either.
  const form = await ben.get(`/runs/${run}/approve`);
  const own = await anna.get('/people');
  const csrfToken = own.document.querySelector('[name=csrfToken]')?.getAttribute('value') ?? '';
  const once = form.document.querySelector('[name=once]')?.getAttribute('value') ?? '';
  const forced = await anna.follow(await anna.post(`/runs/${run}/approve`, { csrfToken, once }));
  expect(forced.words).toContain('anna has started the run');
  expect(nightly.store.requests).toHaveLength(0);

  // Whoever shares the token may have started this one, so nobody approves it.
  const begunByToken = await fetch(new URL('/api/v1/jobs/nightly/run', dashboard.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${ofNobody}` },
  });
  const { run: shared } = z.object({ run: z.string() }).parse(await begunByToken.json());
  await until(
    async () => (await workspace.storeferry('runs', shared, '--json')).json()['status'] === 'stopped',
    { everyMs: 250 },
  );
  expect((await ben.get(`/runs/${shared}/approve`)).words).toContain('A token that people share has started');
  expect((await approve(ofAnna, shared)).status).toBe(403);

  // The command: who types it may approve what others have started, not one's own.
  const typed = (await workspace.storeferry('run', 'nightly', '--json')).json();
  expect(typed).toMatchObject({ status: 'stopped', requests: 0 });
  const self = await workspace.storeferry('approve', String(typed['run']));
  expect([self.code, self.stderr]).toEqual([2, expect.stringContaining('has started the run')]);
  const approved = await approve(ofAnna, String(typed['run']));
  expect(approved.status).toBe(202);
  await until(
    async () =>
      (await workspace.storeferry('runs', String(typed['run']), '--json')).json()['status'] ===
      'done-with-rejects',
    { everyMs: 250 },
  );
  expect(nightly.store.requests).toHaveLength(4);

  // Corrected rows are sent by two people as well.
  const body = (await workspace.storeferry('runs', String(typed['run']), '--json')).json();
  const rejects = await readFile(join(workspace.dir, String(body['rejectsFile'])), 'utf8');
  const retried = await fetch(new URL(`/api/v1/runs/${String(typed['run'])}/retry`, dashboard.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${ofAnna}`, 'content-type': 'text/csv' },
    body: rejects.replace('none', '14.00'),
  });
  const { run: retry } = z.object({ run: z.string() }).parse(await retried.json());
  const waits = async () =>
    (await workspace.storeferry('runs', retry, '--json')).json()['status'] === 'stopped';
  await until(waits);
  expect((await approve(ofAnna, retry)).status).toBe(403);
  await ben.submit(await ben.get(`/runs/${retry}/approve`), `/runs/${retry}/approve`);
  await until(() => nightly.store.requests.length === 5);

  // With the role go the tokens that it has made for more than is left.
  const status = async () =>
    (await fetch(new URL('/api/v1/runs', dashboard.url), { headers: { authorization: `Bearer ${ofAnna}` } }))
      .status;
  expect(await status()).toBe(200);
  await workspace.storeferry('people', 'role', 'anna', '--role', 'operate');
  expect(await status()).toBe(401);

  const log = (await workspace.storeferry('audit', 'export')).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(log.filter(({ action }) => action === 'add-person')).toHaveLength(4);
  expect(log).toContainEqual(
    expect.objectContaining({ action: 'approve', who: 'anna from 127.0.0.1', outcome: 'refused' }),
  );
  expect(log).toContainEqual(
    expect.objectContaining({
      action: 'change-person',
      who: 'ben@shop.example from 127.0.0.1',
      about: 'anna (edit)',
    }),
  );
  expect((await workspace.storeferry('audit', 'verify')).code).toBe(0);
  using database = new DatabaseSync(join(workspace.dir, '.storeferry', 'state.db'));
  database.exec(`UPDATE audit SET entry = replace(entry, 'anna (edit)', 'anna (view)')`);
  const altered = await workspace.storeferry('audit', 'verify');
  expect([altered.code, altered.stdout]).toEqual([
    1,
    expect.stringMatching(
      /ben@shop.example from 127.0.0.1: changed the role of a person: anna \(view\).* was altered/,
    ),
  ]);
});

it.concurrent('roles change while signed in, sessions are seen and ended, passwords and names are not guessed', async () => {
  await using shop = await openShop();
  const { workspace, dashboard } = shop;
  const [vera, ben] = await Promise.all([
    signedIn(dashboard, 'vera'),
    signedIn(dashboard, 'ben@shop.example'),
  ]);
  const elsewhere = await signedIn(dashboard, 'vera');
  const mine = await vera.get('/people');
  expect(mine.words).toContain('Where you are signed in');
  expect(mine.body).not.toContain('ben@shop.example');
  expect((await vera.get('/jobs/nightly/plan')).status).toBe(403);
  await workspace.storeferry('people', 'role', 'vera', '--role', 'operate');
  expect((await vera.get('/jobs/nightly/plan')).status).toBe(200);
  await workspace.storeferry('people', 'role', 'vera', '--role', 'view');
  expect((await vera.get('/jobs/nightly/plan')).status).toBe(403);

  // A session of another person cannot be ended without the role, nor is its hash a session.
  const all = await ben.get('/people');
  const [ofBen, ofElsewhere] = [ben, elsewhere].map(({ cookie = '' }) =>
    hashToken(cookie.split('=')[1] ?? ''),
  );
  expect(all.document.querySelectorAll('[name=session]')).toHaveLength(3);
  const csrfToken = mine.document.querySelector('[name=csrfToken]')?.getAttribute('value') ?? '';
  const end = async (session = '') => (await vera.post('/people/end-session', { csrfToken, session })).status;
  expect([await end(ofBen), await end(ofElsewhere), await end(ofElsewhere)]).toEqual([404, 303, 404]);
  expect((await elsewhere.get('/runs', { accept: '*/*' })).status).toBe(401);
  expect((await ben.get('/runs')).status).toBe(200);
  const thief = dashboard.client();
  thief.cookie = `${ben.cookie?.split('=')[0]}=${ofBen}`;
  expect((await thief.get('/runs', { accept: '*/*' })).status).toBe(401);

  // One's own password needs the present one; a new one ends the sessions.
  const again = await signedIn(dashboard, 'vera');
  const change = async (present: string, password: string) =>
    await again.submit(await again.get('/people'), '/people/password', { present, password });
  expect((await change('wrong password', 'another password')).words).toContain(
    'The present password is another one',
  );
  expect((await change(PASSWORD, 'short')).words).toContain('12 to 200 characters');
  await change(PASSWORD, 'another password');
  expect((await again.get('/runs', { accept: '*/*' })).status).toBe(401);
  expect((await (await signedIn(dashboard, 'vera', 'another password')).get('/runs')).status).toBe(200);
  const form = await ben.get('/people');
  expect((await ben.submit(form, '/people', { name: 'a b', password: PASSWORD })).words).toContain(
    'A person needs a name',
  );
  expect((await ben.submit(form, '/people', { name: 'OTTO', password: PASSWORD })).words).toContain(
    'a person otto already',
  );
  await workspace.storeferry('people', 'remove', 'ben@shop.example');
  expect((await ben.get('/runs', { accept: '*/*' })).status).toBe(401);

  // Unknown and known names: the same words, about the same time; and both are limited after ten attempts.
  const tries = async (name: string) => {
    const began = performance.now();
    const { answer } = await signedIn(dashboard, name, 'not the password');
    return { status: answer.status, words: answer.words, ms: performance.now() - began };
  };
  const known = await tries('otto');
  const unknown = await tries('nobody');
  expect([known.status, known.words]).toEqual([401, unknown.words]);
  expect(unknown.ms).toBeGreaterThan(known.ms / 3);
  for (let count = 0; count < 9; count += 1) await tries('otto');
  expect((await tries('otto')).status).toBe(429);
  expect((await signedIn(dashboard, 'otto')).answer.status).toBe(429);
  // Others and the tokens are not locked out.
  expect((await signedIn(dashboard, 'anna')).answer.status).toBe(200);
  await workspace.write('.storeferry/people.json', '{');
  const damaged = await dashboard.client().get('/sign-in');
  expect([damaged.status, damaged.body.includes(workspace.dir)]).toEqual([200, false]);
  const full = await dashboard.signedIn('full');
  expect((await full.get('/runs')).status).toBe(200);
  expect((await full.get('/people')).words).toContain('cannot be read');
});

it.concurrent('the header of a proxy signs in only from the address of the proxy that is named', async () => {
  await using workspace: Workspace = await makeWorkspace(
    { 'stores.yaml': '{}\n' },
    { STOREFERRY_PASSWORD: PASSWORD },
  );
  await workspace.storeferry('people', 'add', 'Anna@Shop.example', '--role', 'edit', '--by-proxy');
  await workspace.storeferry('people', 'add', 'vera', '--by-proxy');
  const refused = await workspace.storeferry('dashboard', '--sign-in-header', 'X-Forwarded-Email');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('needs --proxy')]);

  const header = { 'x-forwarded-email': 'anna@shop.example' };
  const other = await serveDashboard(
    workspace,
    '--proxy',
    '10.1.2.3',
    '--sign-in-header',
    'X-Forwarded-Email',
  );
  for (const more of [
    {},
    { 'x-forwarded-for': '10.1.2.3' },
    { forwarded: 'for=10.1.2.3' },
    { 'x-real-ip': '10.1.2.3' },
  ]) {
    const answer = await other.client().get('/runs', { ...header, ...more });
    expect([answer.status, answer.headers.location]).toEqual([303, '/sign-in?next=%2Fruns']);
  }
  other.command.process.kill('SIGTERM');
  await other.command.ended;
  const plain = await serveDashboard(workspace, '--proxy', '127.0.0.1');
  expect((await plain.client().get('/runs', header)).status).toBe(303);
  plain.command.process.kill('SIGTERM');
  await plain.command.ended;

  const named = await serveDashboard(
    workspace,
    '--proxy',
    '127.0.0.1',
    '--sign-in-header',
    'X-Forwarded-Email',
  );
  const client = named.client();
  expect((await client.get('/people', { ...header, 'x-forwarded-for': '10.9.9.9' })).words).toContain(
    'Add a person',
  );
  // The session is worth nothing without the header, or with that of another person.
  expect((await client.get('/runs')).status).toBe(303);
  const vera = await client.get('/people', { 'x-forwarded-email': 'vera' });
  expect(vera.words).not.toContain('Add a person');
  for (const name of ['nobody', '', 'anna@shop.example, vera', '__proto__', 'constructor'])
    expect([name, (await named.client().get('/runs', { 'x-forwarded-email': name })).status]).toEqual([
      name,
      303,
    ]);
  // Only pages begin a session, and nobody signs in by name without a password.
  expect((await named.client().get('/runs', { ...header, accept: '*/*' })).status).toBe(401);
  expect((await named.client().post('/sign-in', { name: 'vera', password: 'undefined' })).status).toBe(401);
  const log = (await workspace.storeferry('audit', 'export')).stdout;
  expect(log).toContain('"who":"anna@shop.example from 10.9.9.9"');
});
