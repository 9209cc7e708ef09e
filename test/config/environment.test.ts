import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadEnvironment } from '../../src/config/environment.ts';
import { readSettings } from '../../src/config/settings.ts';
import { folder, problemsOf } from './support.ts';

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

  it('needs no .env, but one that can be read', () => {
    const dir = folder({});
    mkdirSync(join(dir, '.env'));
    expect(problemsOf(() => loadEnvironment(dir, {}))).toEqual([
      '.env the file cannot be read; let this user read it, or remove it',
    ]);
  });
});

describe('the settings', () => {
  it('have defaults', () => {
    expect(settings({})).toEqual({
      redisUrl: undefined,
      artifactsUrl: '/srv/shop/.storeferry/artifacts',
      logLevel: 'info',
    });
  });

  it.each([
    ['files', '/srv/shop/files'],
    ['/mnt/shared', '/mnt/shared'],
    ['file:///mnt/a%20b', '/mnt/a b'],
    ['s3://bucket/prefix', 's3://bucket/prefix'],
  ])('take %s as the place of artifacts', (given, meant) => {
    expect(settings({ ARTIFACTS_URL: given }).artifactsUrl).toBe(meant);
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
