import { generateKeyPairSync, verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type GoogleAccount, isGoogleAddress, parseGoogleAccount } from '../../src/remote/google-account.ts';
import { stageSource } from '../../src/source/snapshot.ts';
import { workspace } from '../config/support.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { httpAddress } from './http-address.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const EMAIL = 'reader@project.iam.gserviceaccount.example';
const KEY_FILE = JSON.stringify({
  ...{ type: 'service_account', client_email: EMAIL, private_key: privateKey, private_key_id: 'k1' },
  token_uri: 'https://elsewhere.example/token',
});
const CSV = 'sku,price\nA,1\n';
const retryPolicy = { retries: 1, firstWaitMs: 1 };

function account(): GoogleAccount {
  const read = parseGoogleAccount(KEY_FILE);
  if (read === undefined) throw new Error('the key file was not read');
  return read;
}

const claimsSchema = z.object({
  iss: z.string(),
  scope: z.string(),
  aud: z.string(),
  iat: z.int(),
  exp: z.int(),
});

/** Whether a body is a request that Google would grant (RFC 7523): the claims, or why not. */
function judge(body: string, tokenUrl: string): z.infer<typeof claimsSchema> | string {
  const form = new URLSearchParams(body);
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    return 'unsupported_grant_type';
  const [header = '', payload = '', signature = ''] = (form.get('assertion') ?? '').split('.');
  const signed = Buffer.from(`${header}.${payload}`);
  if (!verify('RSA-SHA256', signed, publicKey, Buffer.from(signature, 'base64url'))) return 'invalid_grant';
  const claims = claimsSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  const now = Date.now() / 1_000;
  const isCurrent = claims.iat <= now && claims.exp > now && claims.exp - claims.iat <= 3_600;
  return claims.aud === tokenUrl && isCurrent ? claims : 'invalid_grant';
}

interface Google extends AsyncDisposable {
  readonly server: FileServer;
  readonly content: FileServer;
}

/** Stands in for Google: grants tokens, and redirects who has one to the content on another host. */
async function startGoogle(): Promise<Google> {
  const server = await startFileServer();
  const content = await startFileServer({ '/sheet.csv': CSV });
  const json = (response: ServerResponse, status: number, body: object) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  server.answer('/token', async (request, response) => {
    const judged = judge(await text(request), `${server.url}/token`);
    if (typeof judged === 'string') json(response, 400, { error: judged, error_description: 'MARKED' });
    else json(response, 200, { access_token: `token-of-${judged.iss}`, expires_in: 3599 });
  });
  server.answer('/sheet', (request, response) => {
    const isKnown = request.headers.authorization === `Bearer token-of-${EMAIL}`;
    if (isKnown) response.writeHead(307, { location: `${content.url}/sheet.csv` }).end();
    else response.writeHead(401).end();
  });
  return {
    ...{ server, content },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await content[Symbol.asyncDispose]();
    },
  };
}

async function stage({ server }: Google, own: GoogleAccount = account(), allowPrivateAddresses = true) {
  await using dir = await workspaceWith({});
  const auth = { kind: 'google', account: own, tokenUrl: `${server.url}/token` } as const;
  const remote = httpAddress(`${server.url}/sheet`, { auth, allowPrivateAddresses });
  return await stageSource({ remote }, { ...dir, retryPolicy });
}

describe('a private file of Google', () => {
  it('is read with an access token, which no other host gets', async () => {
    await using google = await startGoogle();
    const snapshot = await stage(google);
    expect(snapshot.files[0]?.bytes).toBe(CSV.length);
    expect(google.server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /token',
      'GET /sheet',
    ]);
    expect(google.content.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('is refused where it is not shared with the account, with the address to share it with', async () => {
    await using google = await startGoogle();
    for (const status of [403, 404]) {
      google.server.answer('/sheet', (_request, response) => void response.writeHead(status).end());
      await expect(stage(google)).rejects.toMatchObject({
        hint: `Share the file with ${EMAIL} as Viewer (in Google Sheets: Share).`,
      });
    }
    google.server.answer(
      '/sheet',
      (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    );
    await expect(stage(google)).rejects.toMatchObject({
      message: expect.stringContaining('Google answers with a page to sign in'),
      hint: expect.stringContaining(EMAIL),
    });
  });

  it('is refused with the reason of Google where the key is not valid', async () => {
    await using google = await startGoogle();
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const forged = { ...account(), privateKey: other.export({ type: 'pkcs8', format: 'pem' }).toString() };
    const error: unknown = await stage(google, forged).catch((reason: unknown) => reason);
    expect(String(error)).toContain('Google refuses the service account (400 invalid_grant)');
    expect(String(error)).not.toContain('MARKED');
    expect(google.server.requests).toHaveLength(1);
  });

  it('is asked for again when Google is not available', async () => {
    await using google = await startGoogle();
    google.server.answer('/token', (_request, response) => void response.writeHead(503).end());
    await expect(stage(google)).rejects.toThrow('the server answers 503');
    expect(google.server.requests).toHaveLength(2);
  });

  it('is not read from a private address', async () => {
    await using google = await startGoogle();
    await expect(stage(google, account(), false)).rejects.toThrow('private address');
    expect(google.server.requests).toHaveLength(0);
  });
});

describe('the service account of a source', () => {
  const job = (url: string) => `import: products\nstore: main\nmapping: goods\nsource: { url: ${url} }\n`;
  const sheet = 'https://docs.google.com/spreadsheets/d/1AbC/edit#gid=7';
  const auth = `auth: { serviceAccount: "\${GOOGLE_CREDENTIALS}" }`;
  const read = (url: string, value: string) => {
    const found = workspace({ 'jobs/nightly.yaml': job(url) }, { GOOGLE_CREDENTIALS: value });
    return { ...found.inspectJob('nightly'), secrets: found.secrets() };
  };

  it('is the content of its key file, from the environment', () => {
    const { job: found, problems, secrets } = read(`{ address: "${sheet}", ${auth} }`, KEY_FILE);
    expect(problems).toEqual([]);
    expect(found).toMatchObject({
      source: {
        remote: {
          address: 'https://docs.google.com/spreadsheets/d/1AbC/export?format=csv&gid=7',
          auth: {
            kind: 'google',
            account: { email: EMAIL },
            tokenUrl: 'https://oauth2.googleapis.com/token',
          },
        },
      },
    });
    expect(secrets).toEqual(expect.arrayContaining([KEY_FILE, privateKey]));
  });

  it.each([
    [
      'something else',
      `{ address: "${sheet}", ${auth} }`,
      '{"type":"authorized_user"}',
      'expected the content of the JSON key',
    ],
    [
      'for another host',
      `{ address: "https://google.com.example/a.csv", ${auth} }`,
      KEY_FILE,
      'only for https addresses of',
    ],
    ['unset', `{ address: "${sheet}", ${auth} }`, '', 'GOOGLE_CREDENTIALS is not set'],
    [
      'in the file',
      `{ address: "${sheet}", auth: { serviceAccount: MARKED } }`,
      '',
      'a secret must not be in a file',
    ],
  ])('is refused where it is %s', (_what, url, value, message) => {
    const { problems } = read(url, value);
    expect(problems.map((problem) => problem.message).join('\n')).toContain(message);
    expect(JSON.stringify(problems)).not.toMatch(/MARKED|PRIVATE KEY/);
  });

  it.each([
    ['https://www.googleapis.com/drive/v3/files/1?alt=media', true],
    ['http://docs.google.com/a', false],
    ['https://notgoogle.com/a', false],
  ])('goes to %s: %s', (address, expected) => {
    expect(isGoogleAddress(address)).toBe(expected);
  });
});
