import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { setupNightly } from '../../support/nightly.ts';
import { makeWorkspace } from '../../support/workspace.ts';
import { serveDashboard } from './running-dashboard.ts';

const STORES = `main:\n  baseUrl: http://127.0.0.1:9\n  apiKey: \${STORE_API_KEY}\n  weightUnit: kg\n`;
const KEY = 'secret-key-of-the-store';

const empty = () => makeWorkspace({ 'stores.yaml': STORES }, { STORE_API_KEY: KEY });

describe('the first start', () => {
  it('prints both tokens once and keeps their hashes for the owner only', async () => {
    await using workspace = await empty();
    const first = workspace.start('dashboard', '--listen', '0');
    await first.printed('To make new tokens');
    const tokens = first.stdout().match(/(?:full|look)-[\w-]{32}/g) ?? [];
    expect(tokens).toHaveLength(2);
    first.process.kill('SIGTERM');
    expect((await first.ended).code).toBe(0);
    const file = join(workspace.dir, '.storeferry', 'dashboard.json');
    const kept = await readFile(file, 'utf8');
    for (const token of tokens) expect(kept).not.toContain(token);
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const second = workspace.start('dashboard', '--listen', '0');
    await second.printed('--new-token');
    expect(second.stdout()).not.toMatch(/(?:full|look)-/);
    expect(await readFile(file, 'utf8')).toBe(kept);
    second.process.kill('SIGHUP');
    const { code, stderr } = await second.ended;
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/(?:full|look)-/);
  });

  it('makes new tokens when asked to: the ones before are worth nothing, and a restart signs nobody out', async () => {
    await using workspace = await empty();
    const before = await serveDashboard(workspace);
    const client = await before.signedIn('full');
    const port = new URL(before.url).port;
    // Beside the one that is running, which takes them from then on.
    const { code, stdout } = await workspace.storeferry('dashboard', '--listen', port, '--new-token');
    expect(code).toBe(0);
    expect(stdout).toContain('The dashboard of this workspace takes these tokens now.');
    expect((await client.get('/')).headers.location).toContain('/sign-in');
    for (const token of Object.values(before.tokens)) {
      expect((await client.post('/sign-in', { token })).status).toBe(401);
    }
    const [token = ''] = /full-[\w-]+/.exec(stdout) ?? [];
    expect((await client.post('/sign-in', { token, timezone: 'Asia/Tokyo' })).status).toBe(303);
    const file = join(workspace.dir, '.storeferry', 'dashboard-sessions.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    before.command.process.kill('SIGTERM');
    await before.command.ended;
    const again = workspace.start('dashboard', '--listen', port);
    await again.printed('Sign in with a token');
    expect((await client.get('/')).status).toBe(200);
    expect((await client.get('/audit')).body).toMatch(/\d\d:\d\d GMT\+9/);
  });

  it('says what to do when the file of the tokens is damaged', async () => {
    await using workspace = await empty();
    await workspace.write('.storeferry/dashboard.json', '{"version":1');
    const { code, stderr } = await workspace.storeferry('dashboard', '--listen', '0');
    expect(code).toBe(2);
    expect(stderr).toContain('the tokens of the dashboard cannot be read');
    expect(stderr).toContain('dashboard --new-token');
  });
});

describe('where it listens', () => {
  it('is said clearly when the port is in use, and no token is made', async () => {
    await using workspace = await empty();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { code, stdout, stderr } = await workspace.storeferry('dashboard', '--listen', String(port));
    expect(code).toBe(2);
    expect(stderr).toContain(`The dashboard cannot listen on 127.0.0.1:${port}: the port is in use.`);
    expect(stdout).toBe('');
    await expect(stat(join(workspace.dir, '.storeferry', 'dashboard.json'))).rejects.toThrow('ENOENT');
  });

  it.each([
    [['--listen', 'nowhere:x'], '--listen: expected'],
    [['--url', 'ftp://x'], '--url: expected'],
    [['--url', 'https://x/path'], '--url: expected'],
  ])('%j is refused', async (args, words) => {
    await using workspace = await empty();
    const { code, stderr } = await workspace.storeferry('dashboard', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  it('warns when others can reach it without TLS, and knows numeric addresses then', async () => {
    await using workspace = await empty();
    const dashboard = await serveDashboard(workspace, '--listen', '0.0.0.0:0');
    await dashboard.command.printed('Warning: other machines can reach it without TLS');
    const client = dashboard.client();
    expect((await client.get('/sign-in', { host: '192.168.1.7:8700' })).status).toBe(200);
    expect((await client.get('/sign-in', { host: 'elsewhere.example' })).status).toBe(421);
  });

  it('may be named by the proxy in front: cookies go by https only, forms come from there', async () => {
    await using workspace = await empty();
    const dashboard = await serveDashboard(workspace, '--url', 'https://ferry.example');
    expect(dashboard.command.stderr()).not.toContain('Warning');
    const client = dashboard.local();
    const { token, host, origin } = {
      token: dashboard.tokens.full,
      host: 'ferry.example',
      origin: 'https://ferry.example',
    };
    const answer = await client.post('/sign-in', { token }, { host, origin });
    expect(answer.status).toBe(303);
    expect(answer.headers['set-cookie']?.[0]).toContain('Secure');
    expect(answer.headers['strict-transport-security']).toMatch(/^max-age=\d+/);
    expect((await client.get('/', { host })).status).toBe(200);
    const insecure = { host, origin: 'http://ferry.example' };
    expect((await client.post('/sign-in', { token }, insecure)).status).toBe(403);
    expect((await client.post('/sign-in', { token }, { host: 'other.example', origin })).status).toBe(421);
  });
});

describe('a workspace that needs a correction', () => {
  it('is shown with what is wrong in it, as it is at that moment', async () => {
    await using nightly = await setupNightly(3);
    const { workspace } = nightly;
    const stores = await readFile(join(workspace.dir, 'stores.yaml'), 'utf8');
    await workspace.write('stores.yaml', 'main:\n  baseUrl: [\n');
    await workspace.write('jobs/broken.yaml', 'import: nothing\n');
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    const home = await client.get('/');
    expect(home.status).toBe(200);
    expect(home.words).toContain('broken');
    expect((await client.get('/jobs/broken')).words).toContain('jobs/broken.yaml:1');
    const asked = await client.get('/jobs/nightly/run');
    expect(asked.status).toBe(422);
    expect(asked.words).toContain('stores.yaml');
    await writeFile(join(workspace.dir, 'stores.yaml'), stores);
    expect((await client.get('/jobs/nightly/run')).status).toBe(200);
  });

  it('shows what a command said that could not begin, without secrets', async () => {
    await using nightly = await setupNightly(3);
    const { workspace, store } = nightly;
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    const asked = await client.get('/jobs/nightly/run');
    // Valid as a job, but its mapping is read by the command only.
    await workspace.write('mappings/own.yaml', 'products: [\n');
    const job = await readFile(join(workspace.dir, 'jobs', 'nightly.yaml'), 'utf8');
    await workspace.write('jobs/nightly.yaml', job.replace(/mapping: .*/, 'mapping: own'));
    const refused = await client.submit(asked, '/jobs/nightly/run');
    expect([409, 422]).toContain(refused.status);
    expect(refused.words).toContain('mappings/own.yaml');
    expect(refused.body).not.toContain(store.apiKey);
    expect(refused.body).not.toMatch(/\bat .*\.ts:\d/);
    expect(store.requests).toHaveLength(0);
  });
});
