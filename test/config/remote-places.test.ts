import { describe, expect, it } from 'vitest';
import { checkWorkspace } from '../../src/config/workspace.ts';
import { JOB, problemsOf, VARIABLES, workspace } from './support.ts';

const HOST_KEY = `SHA256:${'a'.repeat(43)}`;
const SECRETS = {
  FEED_PASSWORD: 'MARKED-password',
  FEED_TOKEN: 'MARKED-token',
  SIG: 'MARKED-sig',
  FEED_URL: 'https://feeds.example/MARKED-path/a.csv?k=MARKED-query',
  S3_SECRET: 'MARKED-s3',
  SFTP_PASSWORD: 'MARKED-sftp',
  SFTP_KEY: 'BEGIN\\nEND',
};

function open(source: string, variables: Readonly<Record<string, string>> = {}) {
  const text = JOB.replace('source: { path: in.csv }', `source: ${source}`);
  return workspace({ 'jobs/nightly.yaml': text }, { ...VARIABLES, ...SECRETS, ...variables });
}

function remoteOf(source: string, variables: Readonly<Record<string, string>> = {}) {
  const job = open(source, variables).job('nightly');
  return job.kind === 'import' ? job.source.remote : undefined;
}

function problems(source: string, variables: Readonly<Record<string, string>> = {}) {
  return problemsOf(() => open(source, variables).job('nightly'));
}

describe('a source on the web', () => {
  it('is an address, or a map with what belongs to it', () => {
    expect(remoteOf('{ url: "https://shop.example/a.csv" }')).toEqual({
      kind: 'http',
      location: 'https://shop.example/a.csv',
      address: 'https://shop.example/a.csv',
      headers: {},
      auth: null,
      allowPrivateAddresses: false,
    });
    expect(
      remoteOf(
        `{ url: { address: "https://shop.example/a.csv", headers: { Accept-Language: de, X-Api-Key: "\${FEED_TOKEN}" }, auth: { user: me, password: "\${FEED_PASSWORD}" }, allowPrivateAddresses: true } }`,
      ),
    ).toMatchObject({
      headers: { 'Accept-Language': 'de', 'X-Api-Key': 'MARKED-token' },
      auth: { kind: 'basic', user: 'me', password: 'MARKED-password' },
      allowPrivateAddresses: true,
    });
    expect(
      remoteOf(`{ url: { address: "https://x.example/a", auth: { bearer: "\${FEED_TOKEN}" } } }`),
    ).toMatchObject({ auth: { kind: 'bearer', token: 'MARKED-token' } });
  });

  it('is named without its query, and by the names of the variables in it', () => {
    expect(remoteOf(`{ url: "https://x.example/\${SIG}/a.csv?page=1&k=\${SIG}" }`)).toMatchObject({
      location: `https://x.example/\${SIG}/a.csv`,
      address: 'https://x.example/MARKED-sig/a.csv?page=1&k=MARKED-sig',
    });
    expect(remoteOf(`{ url: "\${FEED_URL}" }`)).toMatchObject({
      location: `\${FEED_URL} (https://feeds.example)`,
    });
  });

  it('makes every variable in its query known to the redactor', () => {
    const found = open(`{ url: "https://x.example/a.csv?k=\${SIG}" }`);
    found.job('nightly');
    expect(found.secrets()).toContain('MARKED-sig');
  });

  it('makes only headers known to the redactor that are secret by their name or by that of their variable', () => {
    const headers = `{ X-Shop: main, X-Api-Key: "\${SIG}", X-Feed: "\${FEED_TOKEN}" }`;
    const found = open(`{ url: { address: "https://x.example/a", headers: ${headers} } }`);
    found.job('nightly');
    expect([...found.secrets()].sort()).toEqual(['MARKED-sig', 'MARKED-token']);
  });

  it.each([
    ['"ftp://x/a.csv"', 'source.url: expected an address such as https://shop.example/export.csv'],
    [
      '"https://me:MARKED@x/a.csv"',
      'must not contain a user name or password; give them as auth beside it: url: { address: https://…, auth: {',
    ],
    ['"https://x/a.csv#top"', 'must not contain a fragment'],
    ['"https://x/a.csv?page=1&token=MARKED"', `a secret must not be in a file; write ?token=\${FEED_TOKEN}`],
    ['{ address: "https://x/a", headers: { X-Api-Key: MARKED } }', 'a secret must not be in a file'],
    ['{ address: "https://x/a", headers: { Host: y } }', 'it is set by Storeferry itself'],
    ['{ address: "https://x/a", auth: { user: me, password: MARKED } }', 'a secret must not be in a file'],
    ['{ address: "https://x/a", auth: { bearer: MARKED } }', `write \${FEED_TOKEN}`],
    ['{ address: "https://x/a", auht: {} }', "unknown key 'auht'"],
  ])('is refused as %s', (url, message) => {
    const found = problems(`{ url: ${url} }`).join('\n');
    expect(found).toContain(message);
    expect(found).not.toContain('MARKED');
  });
});

describe('a source in S3', () => {
  const KEYS = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'MARKED-aws', AWS_REGION: 'eu-west-1' };

  it('takes region, endpoint and keys from the usual variables', () => {
    const found = open('{ s3: "s3://bucket/exports/a-*.csv" }', {
      ...KEYS,
      AWS_SESSION_TOKEN: 'MARKED-session',
    });
    expect(found.job('nightly')).toMatchObject({
      source: {
        remote: {
          kind: 's3',
          location: 's3://bucket/exports/a-*.csv',
          bucket: 'bucket',
          key: 'exports/a-*.csv',
          endpoint: null,
          region: 'eu-west-1',
          credentials: { accessKeyId: 'AKIA', secretAccessKey: 'MARKED-aws', sessionToken: 'MARKED-session' },
          pathStyle: false,
        },
      },
    });
    expect(found.secrets()).toEqual(expect.arrayContaining(['MARKED-aws', 'MARKED-session']));
  });

  it('takes its own before those of the environment', () => {
    const own = `{ s3: { address: "s3://bucket/a.csv", endpoint: "http://127.0.0.1:9000", accessKeyId: me, secretAccessKey: "\${S3_SECRET}", newest: true } }`;
    expect(remoteOf(own, { ...KEYS, AWS_SESSION_TOKEN: 'other' })).toMatchObject({
      endpoint: 'http://127.0.0.1:9000',
      credentials: { accessKeyId: 'me', secretAccessKey: 'MARKED-s3', sessionToken: null },
      pathStyle: true,
      newest: true,
    });
  });

  it('needs keys to run, and warns of their want before', () => {
    const message = 'the variable AWS_ACCESS_KEY_ID is not set; set it in the environment or in .env';
    expect(problems('{ s3: "s3://bucket/a.csv" }').join()).toContain(message);
    const { problems: errors, warnings } = checkWorkspace(open('{ s3: "s3://bucket/a.csv" }'));
    expect(errors).toEqual([]);
    expect(warnings.map((warning) => warning.message)).toContain(message);
  });

  it.each([
    ['"https://bucket/a.csv"', 'expected an address such as s3://bucket/folder/export.csv'],
    ['"s3://bucket/"', 'expected an address such as s3://bucket/folder/export.csv'],
    ['{ address: "s3://bucket/a", secretAccessKey: MARKED }', `write \${S3_SECRET}`],
  ])('is refused as %s', (s3, message) => {
    const found = problems(`{ s3: ${s3} }`, KEYS).join('\n');
    expect(found).toContain(message);
    expect(found).not.toContain('MARKED');
  });
});

describe('a source on an SSH server', () => {
  const sftp = (fields: string) =>
    `{ sftp: { address: "sftp://shop@files.example/~/exports/a%20b.csv", ${fields} } }`;

  it('names user, host, key and password', () => {
    expect(remoteOf(sftp(`hostKey: "${HOST_KEY}", password: "\${SFTP_PASSWORD}"`))).toEqual({
      kind: 'sftp',
      location: 'sftp://shop@files.example/~/exports/a%20b.csv',
      host: 'files.example',
      port: 22,
      user: 'shop',
      path: 'exports/a b.csv',
      hostKeys: [HOST_KEY],
      password: 'MARKED-sftp',
      privateKey: null,
      passphrase: null,
      newest: false,
      allowPrivateAddresses: false,
    });
    expect(remoteOf(sftp(`hostKey: ["${HOST_KEY}"], privateKey: "\${SFTP_KEY}"`))).toMatchObject({
      privateKey: 'BEGIN\nEND',
    });
  });

  it.each([
    [`password: "\${SFTP_PASSWORD}"`, "'source.sftp.hostKey' is missing"],
    [
      `hostKey: "${HOST_KEY}", pasword: "\${SFTP_PASSWORD}"`,
      "unknown key 'pasword'; did you mean 'password'? (known: address, hostKey, password, privateKey, passphrase, newest,",
    ],
    [`hostKey: "MD5:00", password: "\${SFTP_PASSWORD}"`, 'ssh-keyscan'],
    [`hostKey: "${HOST_KEY}"`, `give password: "\${SFTP_PASSWORD}" or privateKey: "\${SFTP_KEY}"`],
    [`hostKey: "${HOST_KEY}", password: MARKED`, `write \${SFTP_PASSWORD}`],
    [`hostKey: "${HOST_KEY}", privateKey: MARKED`, `write \${SFTP_KEY}`],
    [`hostKey: "${HOST_KEY}", password: "\${SFTP_PASSWORD}", privateKey: "\${SFTP_KEY}"`, 'one of the two'],
  ])('is refused with %s', (fields, message) => {
    const found = problems(sftp(fields)).join('\n');
    expect(found).toContain(message);
    expect(found).not.toContain('MARKED');
  });

  it.each([
    'sftp://files.example/a',
    'sftp://me:MARKED@files.example/a',
    'sftp://me@files.example/',
    'ssh://me@x/a',
  ])('is refused at %s', (address) => {
    const found = problems(
      `{ sftp: { address: "${address}", hostKey: "${HOST_KEY}", password: "\${SFTP_PASSWORD}" } }`,
    ).join('\n');
    expect(found).toContain('source.sftp.address: ');
    expect(found).not.toContain('MARKED');
  });
});

describe('a source or destination', () => {
  it('names exactly one file', () => {
    expect(problems('{ files: 1 }')).toEqual(
      [
        '3:9 source: names no file; give one of path, url, s3, sftp, postgres, mysql, sqlite, custom and watch',
      ].map((text) => `jobs/nightly.yaml:${text}`),
    );
    expect(problems('{ path: a.csv, url: "https://x.example/a.csv" }').join()).toContain(
      'source.url: there is path already; give one of path, url, s3, sftp, postgres, mysql, sqlite, custom and watch',
    );
  });

  it('is one file where it is written', () => {
    const write = (destination: string) =>
      problemsOf(() =>
        workspace(
          { 'jobs/out.yaml': `export: orders\nstore: main\ndestination: ${destination}\n` },
          { ...VARIABLES, AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's' },
        ).job('out'),
      ).join();
    expect(write('{ s3: "s3://bucket/orders.jsonl", format: jsonl }')).toBe('');
    expect(write('{ s3: "s3://bucket/orders-*.jsonl" }')).toContain('a destination is one file');
    expect(write('{ mode: append }')).toContain(
      'destination: names no file; give one of path, url, s3, sftp, postgres, mysql and sqlite',
    );
  });
});
