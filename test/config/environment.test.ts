import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadEnvironment, readSettings } from '../../src/config/settings.ts';
import { folder, problemsOf, VARIABLES, workspace } from './support.ts';

function settings(variables: Readonly<Record<string, string>>, dir = '/srv/shop') {
  return readSettings({ get: (name) => variables[name] }, dir);
}

describe('the environment', () => {
  it('is that of the process, and .env behind it', () => {
    const dir = folder({ '.env': '\uFEFFA=from file\nB="b b"\nexport C=3 # three\nD=\n' });
    const environment = loadEnvironment(dir, { A: 'from process', E: 'e' });
    expect(['A', 'B', 'C', 'D', 'E', 'F'].map((name) => environment.get(name))).toEqual([
      'from process',
      'b b',
      '3',
      undefined,
      'e',
      undefined,
    ]);
  });

  it('counts an empty variable as unset, and so switches off what .env sets', () => {
    const environment = loadEnvironment(folder({ '.env': 'REDIS_URL=redis://localhost\n' }), {
      REDIS_URL: '',
    });
    expect(environment.get('REDIS_URL')).toBeUndefined();
  });

  it('has nothing that objects have by nature', () => {
    const environment = loadEnvironment(folder({}), {});
    expect(environment.get('constructor')).toBeUndefined();
    expect(environment.get('__proto__')).toBeUndefined();
  });

  it('reads what both leave unset or empty from the file that the process names, and no file that .env names', () => {
    const dir = folder({
      '.env': 'A=from file\nB_FILE=secret\nC=\n',
      secret: 'two\nlines\r\n',
    });
    const named = { A_FILE: 'secret', C_FILE: join(dir, 'secret'), D_FILE: '' };
    const environment = loadEnvironment(dir, { ...named, E: '', E_FILE: 'secret' });
    expect(['A', 'B', 'C', 'D', 'E'].map((name) => environment.get(name))).toEqual([
      ...['from file', undefined, 'two\nlines', undefined, 'two\nlines'],
    ]);
    expect(environment.secretsInFiles()).toEqual(['two\nlines', 'two\nlines']);
  });

  it('says where a file of a secret is needed and cannot be read, in every part that needs it', () => {
    const { STORE_API_KEY: _, ...others } = VARIABLES;
    const message =
      'environment STORE_API_KEY_FILE names the file gone, which cannot be read (ENOENT); correct the path, or give this user read access';
    const opened = workspace({}, { ...others, STORE_API_KEY_FILE: 'gone', REDIS_URL_FILE: 'gone' });
    expect(problemsOf(() => opened.store('main'))).toEqual([message]);
    expect(opened.inspection.store('main')?.problems).toHaveLength(1);
    expect(opened.job('nightly').store).toBe('main');
    expect(problemsOf(() => opened.settings())).toEqual([message.replace('STORE_API_KEY', 'REDIS_URL')]);
  });

  it('gives what a file has to stores and settings, and to redaction', () => {
    const { STORE_API_KEY, ...others } = VARIABLES;
    const files = { key: `${STORE_API_KEY}\n`, redis: 'redis://127.0.0.1:6399\n' };
    const opened = workspace(files, { ...others, STORE_API_KEY_FILE: 'key', REDIS_URL_FILE: 'redis' });
    expect(opened.store('main').apiKey).toBe(STORE_API_KEY);
    expect(opened.settings().redisUrl).toBe('redis://127.0.0.1:6399');
    expect(opened.secrets()).toEqual([STORE_API_KEY, 'redis://127.0.0.1:6399']);
  });

  it('needs no .env, but one that can be read', () => {
    const dir = folder({});
    mkdirSync(join(dir, '.env'));
    expect(problemsOf(() => loadEnvironment(dir, {}))).toEqual([
      '.env the file cannot be read; give this user read access, or remove the file',
    ]);
  });
});

describe('the settings', () => {
  it('have defaults', () => {
    expect(settings({})).toEqual({
      redisUrl: undefined,
      allowedFolders: [],
      artifacts: { kind: 'folder', path: '/srv/shop/.storeferry/artifacts' },
      logLevel: 'info',
      secrets: [],
    });
  });

  it('give the address of Redis the prefix of keys and the certificates to trust', () => {
    const given = { REDIS_URL: 'rediss://h:1/2', REDIS_PREFIX: 'shop-2', REDIS_CA: 'ca.pem' };
    expect(settings(given).redisUrl).toBe('rediss://h:1/2?prefix=shop-2&ca=%2Fsrv%2Fshop%2Fca.pem');
    expect(problemsOf(() => settings({ ...given, REDIS_PREFIX: 'shop:{a}' }))).toEqual([
      "environment REDIS_PREFIX: expected at most 40 letters, digits, '_' and '-'",
    ]);
    expect(problemsOf(() => settings({ REDIS_URL: 'redis://h?prefix=a:b' }))).toHaveLength(1);
    expect(problemsOf(() => settings({ REDIS_URL: 'redis://h?famly=6' }))).toHaveLength(1);
  });

  it.each([
    ['files', '/srv/shop/files'],
    ['/mnt/shared', '/mnt/shared'],
    ['file:///mnt/a%20b', '/mnt/a b'],
  ])('take %s as the folder of artifacts', (given, path) => {
    expect(settings({ ARTIFACTS_URL: given }).artifacts).toEqual({ kind: 'folder', path });
  });

  it.each([
    ['s3://bucket', ''],
    ['s3://bucket/', ''],
    ['s3://bucket/shop/night.ly', 'shop/night.ly'],
    ['s3://bucket/shop/', 'shop'],
  ])('take %s as artifacts in S3, reached as the usual variables say', (given, prefix) => {
    const keys = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'MARKED' };
    expect(settings({ ARTIFACTS_URL: given, ...keys })).toMatchObject({
      artifacts: {
        kind: 's3',
        bucket: 'bucket',
        prefix,
        endpoint: null,
        region: 'us-east-1',
        pathStyle: false,
      },
      secrets: ['MARKED'],
    });
    const own = { AWS_ENDPOINT_URL: 'http://minio:9000', AWS_REGION: 'eu-1', AWS_SESSION_TOKEN: 'LENT' };
    const { artifacts, secrets } = settings({ ARTIFACTS_URL: given, ...keys, ...own });
    expect(artifacts).toMatchObject({
      endpoint: own.AWS_ENDPOINT_URL,
      region: 'eu-1',
      pathStyle: true,
      allowPrivateAddresses: true,
    });
    expect(secrets).toEqual(['MARKED', 'LENT']);
  });

  it.each([
    's3://',
    's3://B/x',
    's3://key:MARKED@bucket/prefix',
    's3://bucket/a//b',
    's3://bucket/../other',
    's3://bucket/a/..',
    's3://bucket/a?b',
    'https://host/MARKED',
    'file://host/MARKED',
  ])('refuse %s, without showing it', (given) => {
    expect(problemsOf(() => settings({ ARTIFACTS_URL: given }))).toEqual([
      'environment ARTIFACTS_URL: expected a folder or s3://bucket/prefix',
    ]);
  });

  it('say what S3 needs besides', () => {
    expect(problemsOf(() => settings({ ARTIFACTS_URL: 's3://bucket/prefix' }))).toEqual([
      'environment AWS_ACCESS_KEY_ID: not set, and ARTIFACTS_URL needs it; set it in the environment or in .env',
      'environment AWS_SECRET_ACCESS_KEY: not set, and ARTIFACTS_URL needs it; set it in the environment or in .env',
    ]);
    for (const name of ['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_S3']) {
      const wrong = { ARTIFACTS_URL: 's3://bucket', [name]: 'minio:9000' };
      expect(problemsOf(() => settings(wrong))).toEqual([
        `environment ${name}: expected an http or https address`,
      ]);
    }
  });

  it('are refused all at once and without their values', () => {
    const wrong = { REDIS_URL: 'http://:secret@x', ARTIFACTS_URL: 'ftp://secret', LOG_LEVEL: 'inof' };
    expect(problemsOf(() => settings(wrong))).toEqual([
      'environment REDIS_URL: expected redis://… or rediss://…',
      'environment ARTIFACTS_URL: expected a folder or s3://bucket/prefix',
      "environment LOG_LEVEL: expected trace, debug, info, warn, error, fatal or silent; did you mean 'info'?",
    ]);
  });
});
