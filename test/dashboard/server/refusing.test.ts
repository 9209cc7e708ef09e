import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Nightly, setupNightly } from '../../support/nightly.ts';
import { formOf, multipart } from './http-client.ts';
import { type ServedDashboard, serveDashboard } from './running-dashboard.ts';

const PAGES = [
  '/',
  '/runs',
  '/lists',
  '/jobs/nightly',
  '/jobs/nightly/run',
  '/runs/abc/events',
  '/queues',
  '/new',
  '/jobs/nightly/upload',
  '/jobs/nightly/edit',
];
const POSTS = [
  '/jobs/nightly/run',
  '/jobs/nightly/plan',
  '/runs/abc/approve',
  '/runs/abc/retry',
  '/runs/abc/retry/upload',
  '/runs/abc/interrupt',
  '/new/upload',
  '/new/address',
  '/new/abc',
  '/new/abc/crosswalk',
  '/jobs/nightly/upload',
  '/jobs/nightly/edit',
  '/sign-out',
  '/nowhere',
];

let nightly: Nightly;
let dashboard: ServedDashboard;

beforeAll(async () => {
  nightly = await setupNightly(3);
  dashboard = await serveDashboard(nightly.workspace);
});

afterAll(async () => {
  // Nothing of all this has reached the store, nor become a run.
  expect(nightly.store.requests).toHaveLength(0);
  expect((await nightly.workspace.storeferry('runs')).stdout).toContain('No runs yet');
  await nightly[Symbol.asyncDispose]();
});

/** What no answer to strangers may hold. */
function expectNothingOf(body: string): void {
  for (const word of ['nightly', nightly.store.apiKey, nightly.store.baseUrl, nightly.workspace.dir]) {
    expect(body).not.toContain(word);
  }
}

describe('without a session', () => {
  it.each(PAGES)('%s leads to the sign-in and shows nothing', async (path) => {
    const answer = await dashboard.client().get(path);
    expect(answer.status).toBe(303);
    expect(answer.headers.location).toBe(`/sign-in?next=${encodeURIComponent(path)}`);
    expect(answer.body).toBe('');
    const program = await dashboard.client().get(path, { accept: '*/*' });
    expect(program.status).toBe(401);
    expectNothingOf(program.body);
  });

  it.each(POSTS)('a form to %s does nothing', async (path) => {
    const answer = await dashboard.client().post(path, { csrfToken: 'x', once: crypto.randomUUID() });
    expect(answer.status).toBe(401);
    expectNothingOf(answer.body);
  });

  it('does not reveal which addresses exist', async () => {
    const client = dashboard.client();
    const there = await client.get('/runs/abc', { accept: '*/*' });
    const nowhere = await client.get('/etc/passwd', { accept: '*/*' });
    expect(nowhere.status).toBe(there.status);
    expect(nowhere.body).toBe(there.body);
  });

  it.each(['', 'x', 'full-', 'look-', 'undefined'])('the token %j is wrong', async (token) => {
    const client = dashboard.client();
    const answer = await client.post('/sign-in', { token });
    expect(answer.status).toBe(401);
    expect(answer.words).toContain('Wrong token');
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect((await client.get('/')).status).toBe(303);
  });

  it('a made-up cookie is no session', async () => {
    const client = await dashboard.signedIn('full');
    const [name = '', value = ''] = (client.cookie ?? '').split('=');
    for (const made of [`${name}=`, `${name}=x`, `${name}=${value.slice(0, -1)}`, `${name}=__proto__`]) {
      const stranger = dashboard.client();
      stranger.cookie = made;
      expect((await stranger.get('/')).status).toBe(303);
    }
  });
});

describe('the session cookie', () => {
  it('is kept from scripts and from other sites, and ends with the sign-out', async () => {
    const client = dashboard.client();
    const answer = await client.post('/sign-in', { token: dashboard.tokens.full });
    expect(answer.status).toBe(303);
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    expect(cookie).toContain('HttpOnly');
    expect(cookie).toContain('SameSite=Strict');
    expect(cookie).toContain('Path=/');
    expect(cookie).not.toContain('Secure');
    expect(cookie).not.toContain(dashboard.tokens.full);
    const kept = client.cookie;
    await client.submit(await client.get('/'), '/sign-out');
    client.cookie = kept;
    expect((await client.get('/')).status).toBe(303);
  });

  it.each([
    '//elsewhere.example/x',
    'https://elsewhere.example',
    '/\\elsewhere.example',
    '\\\\elsewhere',
    'javascript:x',
  ])('is not given on the way to %s', async (next) => {
    const client = dashboard.client();
    const answer = await client.post('/sign-in', { token: dashboard.tokens.full, next });
    expect(answer.status).toBe(303);
    expect(answer.headers.location).toBe('/');
  });
});

describe('a form', () => {
  const ways: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'from another page': { origin: 'http://elsewhere.example' },
    'from a page of another port': { origin: 'http://127.0.0.1:1' },
    'from a page without an origin': { origin: 'null' },
    'that the browser knows to come from another site': { 'sec-fetch-site': 'cross-site' },
    'that the browser knows to come from a neighbour': { 'sec-fetch-site': 'same-site' },
  };

  it.each(Object.entries(ways))('%s does nothing, whatever session goes with it', async (_way, headers) => {
    const client = await dashboard.signedIn('full');
    const { fields } = formOf(await client.get('/jobs/nightly/run'), '/jobs/nightly/run');
    const answer = await client.post('/jobs/nightly/run', fields, headers);
    expect(answer.status).toBe(403);
    expect(answer.words).toContain('nothing was done');
    expect(
      (await dashboard.client().post('/sign-in', { token: dashboard.tokens.full }, headers)).status,
    ).toBe(403);
  });

  it.each(POSTS.filter((path) => path !== '/nowhere'))(
    'to %s without the token of the session does nothing, nor does one with that of another',
    async (path) => {
      const client = await dashboard.signedIn('full');
      const other = await dashboard.signedIn('full');
      const { fields } = formOf(await other.get('/jobs/nightly/run'), '/jobs/nightly/run');
      const once = crypto.randomUUID();
      const bodies = [{ once }, { once, csrfToken: '' }, { once, csrfToken: fields['csrfToken'] ?? '' }];
      for (const body of bodies) {
        const upload = multipart(body, { name: 'x.csv', content: 'a\n1\n' });
        const answer = path.endsWith('upload')
          ? await client.post(path, upload.body, { 'content-type': upload.type })
          : await client.post(path, body);
        // Of the upload, the run is looked up first: there is none.
        expect([403, 404]).toContain(answer.status);
      }
      expect((await client.get('/')).status).toBe(200);
    },
  );

  it('is refused in plain words when its parts are damaged', async () => {
    const client = await dashboard.signedIn('full');
    const { fields } = formOf(await client.get('/new'), '/new/upload');
    const { body, type } = multipart(fields, { name: 'x.csv', content: 'a\n1\n' });
    const boundary = 'storeferry-test-boundary';
    const damaged: readonly (readonly [Buffer, string])[] = [
      [body.subarray(0, body.length - 10), type],
      [body.subarray(0, 150), type],
      [Buffer.alloc(0), type],
      [Buffer.from('no parts at all'), type],
      [Buffer.from(`--${boundary}\r\n\r\n`), type],
      [Buffer.from(`--${boundary}\r\nno header\r\n\r\nx\r\n--${boundary}--\r\n`), type],
      [Buffer.from(`--${boundary}\r\n${'x'.repeat(100_000)}`), type],
      [body, 'multipart/form-data'],
      [body, 'multipart/form-data; boundary='],
      [body, 'multipart/form-data; boundary=other'],
      [body, 'multipart/form-data; boundary="'],
    ];
    for (const [content, contentType] of damaged) {
      const answer = await client.post('/new/upload', content, { 'content-type': contentType });
      expect([contentType, answer.status]).toEqual([contentType, expect.toBeOneOf([400, 403, 406])]);
      expect(answer.words).not.toContain('bug');
    }
  });

  it('is refused when it is no form', async () => {
    const client = await dashboard.signedIn('full');
    for (const type of ['application/json', 'text/plain', 'application/xml']) {
      const answer = await client.post('/jobs/nightly/run', Buffer.from('{}'), { 'content-type': type });
      expect(answer.status).toBe(415);
    }
    const answer = await client.post('/jobs/nightly/run', Buffer.alloc(200_000, 'a'));
    expect(answer.status).toBe(413);
    expect(answer.words).toContain('larger than the dashboard accepts');
  });
});

describe('who may only look', () => {
  it('sees every page, without a button on it', async () => {
    const client = await dashboard.signedIn('readOnly');
    for (const path of ['/', '/runs', '/jobs/nightly']) {
      const { status, document } = await client.get(path);
      expect(status).toBe(200);
      const forms = [...document.querySelectorAll('form')].map((form) => form.getAttribute('action'));
      expect(forms.filter((action) => action !== '/sign-out' && action !== '/runs')).toEqual([]);
      expect(document.querySelector('a[href$="/run"], a[href$="/plan"]')).toBeNull();
    }
  });

  it.each([
    '/jobs/nightly/run',
    '/jobs/nightly/plan',
    '/runs/abc/approve',
    '/runs/abc/retry',
    '/runs/abc/interrupt',
  ])('is neither asked at %s nor does anything there', async (path) => {
    const client = await dashboard.signedIn('readOnly');
    expect((await client.get(path)).status).toBe(403);
    const { fields } = formOf(await client.get('/'), '/sign-out');
    const answer = await client.post(path, { ...fields, once: crypto.randomUUID() });
    expect(answer.status).toBe(403);
    expect(answer.words).toMatch(
      /You are signed in as read-only token with the role view, and this needs the role (operate|approve): nothing was done/,
    );
  });
});

describe('the health of the dashboard', () => {
  it('is given without a sign-in, and says nothing else', async () => {
    const answer = await dashboard.client().get('/healthz', { accept: '*/*' });
    expect([answer.status, answer.body]).toEqual([200, 'ok\n']);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect((await dashboard.client().send('HEAD', '/healthz')).status).toBe(200);
    expect((await dashboard.client().get('/healthz', { host: 'elsewhere.example' })).status).toBe(421);
  });
});

describe('an address', () => {
  it.each([
    'elsewhere.example',
    'elsewhere.example:8700',
    '127.0.0.1.elsewhere.example',
    'localhost.elsewhere.example',
    '192.168.1.7',
    'x@127.0.0.1',
  ])('under the name %j is not answered: it may have been made to lead here', async (host) => {
    const client = await dashboard.signedIn('full');
    for (const path of ['/', '/sign-in', '/assets/report.css']) {
      const answer = await client.get(path, { host });
      expect([400, 421]).toContain(answer.status);
      expectNothingOf(answer.body);
    }
  });

  it.each(['localhost:1234', '127.0.0.1', '[::1]:8700'])('under the name %s is its own', async (host) => {
    expect((await dashboard.client().get('/sign-in', { host })).status).toBe(200);
  });

  it.each([
    '/runs/..%2f..%2fdashboard.json/rejects.csv',
    '/runs/..%2f..%2f..%2fstores.yaml/report.html',
    '/runs/%2e%2e/rejects.csv',
    '/runs/.%00/rejects.csv',
    '/jobs/..%2f..%2fetc%2fpasswd',
    '/jobs/--help/run',
    '/jobs/-C/run',
    '/assets/..%2f..%2f..%2fpackage.json',
    '/assets/../dashboard-context.ts',
    '/lists/..%2fx',
    `/runs/${'a'.repeat(5000)}`,
    '/%c0%ae%c0%ae/',
    '/runs/__proto__',
    '/runs/constructor/events',
    '/queues/static/%2e%2e/',
    '/queues/static/%252e%252e/x',
    '/assets/%2e%2e%5cx',
  ])('such as %s leads nowhere', async (path) => {
    const client = await dashboard.signedIn('full');
    const answer = await client.get(path);
    expect([404, 414]).toContain(answer.status);
    expect(answer.body).not.toContain(nightly.workspace.dir);
    expect(answer.body).not.toMatch(/\bat .*\.(ts|js):\d/);
  });
});

describe('every answer', () => {
  it('forbids scripts and frames of others, and is kept by nobody', async () => {
    const client = await dashboard.signedIn('full');
    const answers = [
      await client.get('/'),
      await client.get('/jobs/nightly/run'),
      await client.get('/nowhere'),
      await dashboard.client().get('/sign-in'),
      await client.post('/jobs/nightly/run', {}),
    ];
    for (const { headers } of answers) {
      const policy = headers['content-security-policy'];
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['referrer-policy']).toBe('same-origin');
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['x-powered-by']).toBeUndefined();
    }
  });

  it('has no inline script, style or handler', async () => {
    const client = await dashboard.signedIn('full');
    for (const path of ['/', '/runs', '/lists', '/jobs/nightly', '/jobs/nightly/run', '/nowhere']) {
      const { document, body } = await client.get(path);
      expect(document.querySelectorAll('script:not([src])')).toHaveLength(0);
      expect(document.querySelectorAll('style, [style]')).toHaveLength(0);
      expect(body).not.toMatch(/<[^>]* on\w+=/i);
    }
  });
});

it('limits attempts with wrong tokens, says when to try again, and lets the right one in', async () => {
  await using other = await setupNightly(1);
  const served = await serveDashboard(other.workspace);
  const client = served.client();
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 12; attempt += 1) {
    statuses.push((await client.post('/sign-in', { token: `full-${attempt}` })).status);
  }
  expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
  const wrong = await client.post('/sign-in', { token: 'full-12' });
  expect(wrong.status).toBe(429);
  expect(wrong.headers['retry-after']).toMatch(/^\d+$/);
  expect(wrong.words).toContain('Try again in');
  expect((await client.post('/sign-in', { token: served.tokens.full })).status).toBe(303);
  expect(served.command.stderr()).not.toContain('full-11');
});

it('answers what is no HTTP with an error, and goes on', async () => {
  const { hostname, port } = new URL(dashboard.url);
  for (const bytes of [
    'GET / HTTP/9\r\n\r\n',
    '\u0000\u0001\u0002\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET /sign-in HTTP/1.0\r\n\r\n',
  ]) {
    const socket = connect(Number(port), hostname, () => socket.end(bytes));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 4\d\d/);
  }
  expect((await dashboard.client().get('/sign-in')).status).toBe(200);
});
