import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { s3Client } from '../../src/remote/s3-client.ts';
import { fetchOne, put } from '../remote/trials.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { s3Address } from '../support/s3-address.ts';
import { s3Environment } from '../support/s3-environment.ts';
import { type S3Server, startS3 } from '../support/s3-server.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

describe('artifacts in S3', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** As a client of the user's own sees an object. */
  function object(location: string) {
    const [, key = ''] = /^s3:\/\/bucket\/(.*)$/.exec(location) ?? [];
    return s3Client(s3Address(server, key));
  }

  it('serve a run, its rejects, and the rows as they were corrected there', async () => {
    await using store = await startStore({ seed: 1 });
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-5'] });
    const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(40)));
    const env = { STORE_API_KEY: store.apiKey, ...s3Environment(server, 'shop/night') };
    await using workspace = await makeWorkspace(files, env);

    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.code, run.stderr).toBe(3);
    const id = String(run.json()['run']);
    const rejects = `s3://bucket/shop/night/${id}/rejects.csv`;
    expect(run.json()).toMatchObject({ applied: 39, rejected: 1, rejectsFile: rejects });
    expect((await workspace.storeferry('runs', id)).stdout).toContain(rejects);
    expect(await readdir(`${workspace.dir}/.storeferry`)).not.toContain('artifacts');

    store.behave();
    const { content = '' } = (await fetchOne(object(rejects))) ?? {};
    expect(content).toContain('Too dear');
    await put(object(rejects), content.replaceAll('15.00', '14.00'));
    const retry = await workspace.storeferry('retry', id);
    expect(retry.code, retry.stderr).toBe(0);
    expect(retry.stderr + retry.stdout).toContain('14.00');
    expect(JSON.parse(store.lastBody('product-5') ?? '').variants[0].price).toBe(14);
    expect(store.shop.products.size).toBe(40);

    const again = await workspace.storeferry('run', 'nightly', '--json');
    expect(again.json()).toMatchObject({ status: 'done', changed: 1, unchanged: 39, rejectsFile: null });
  });

  it('keep a run that was killed, which goes on', async () => {
    await using store = await startStore({ seed: 1, latencyMs: 20 });
    const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(300)));
    const env = { STORE_API_KEY: store.apiKey, ...s3Environment(server, 'killed') };
    await using workspace = await makeWorkspace(files, env);
    const killed = workspace.start('run', 'nightly');
    await expect.poll(() => store.requests.length, { interval: 5 }).toBeGreaterThan(50);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.json()).toMatchObject({ status: 'done', applied: 300, unsent: 0 });
    expect(store.figures()).toMatchObject({ duplicates: 0 });
    expect(store.shop.products.size).toBe(300);
  });

  it('are tried by `check --online`, which says what is wrong and shows no secret', async () => {
    const env = { STORE_API_KEY: 'x', ...s3Environment(server, 'shop') };
    const files = catalogWorkspace('http://127.0.0.1:9', shopifyCatalog(manyProducts(1)));
    await using well = await makeWorkspace(files, env);
    const found = await well.storeferry('check', '--online');
    expect(found.stdout).toMatch(/^ok +artifacts: can be written and read in s3:\/\/bucket\/shop$/m);
    expect(found.stdout).not.toMatch(/^\w+ +disk:/m);

    await using refused = await makeWorkspace(files, { ...env, AWS_SECRET_ACCESS_KEY: 'MARKED-secret' });
    const denied = await refused.storeferry('check', '--online');
    expect(denied.stdout).toMatch(/^error +artifacts: .*cannot be written:\s+the server refuses access/m);
    expect(denied.stdout).toContain('AWS_SECRET_ACCESS_KEY');
    expect(denied.stdout + denied.stderr).not.toContain('MARKED-secret');
    expect(denied.code).not.toBe(0);

    await using unset = await makeWorkspace(files, { ...env, AWS_ACCESS_KEY_ID: '' });
    const printed = await unset.storeferry('check');
    expect(printed.stdout + printed.stderr).toContain(
      'AWS_ACCESS_KEY_ID: not set, and ARTIFACTS_URL needs it',
    );
    expect(printed.code).not.toBe(0);
  });
});
