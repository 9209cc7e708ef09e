import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';
import { unauthorized } from '../support/store/faults.ts';
import { startWebhook } from '../support/webhook.ts';

describe('a sample first', () => {
  it('sends the first records, then named ones, then the rest, each once', async () => {
    await using nightly = await setupNightly(60, { mode: 'mirror' });
    const { store, workspace } = nightly;
    const planned = await workspace.storeferry('plan', 'nightly', '--limit', '10', '--json');
    expect(planned.code).toBe(0);
    expect(planned.json()).toMatchObject({ status: 'planned', records: 60, new: 10, skipped: 50 });
    const approved = await workspace.storeferry('approve', String(planned.json()['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done', applied: 10, skipped: 50, requests: 10 });

    const again = await workspace.storeferry('run', 'nightly', '--limit', '10', '--json');
    expect(again.json()).toMatchObject({ status: 'done', unchanged: 10, skipped: 50, requests: 0 });
    const named = await workspace.storeferry(
      ...['run', 'nightly', '--only', 'product-60,product-1', '--only', 'product-40', '--json'],
    );
    expect(named.json()).toMatchObject({ status: 'done', applied: 2, unchanged: 1, skipped: 57 });
    expect(store.figures().requests).toBe(12);

    const rest = await workspace.storeferry('run', 'nightly', '--json');
    expect(rest.json()).toMatchObject({ status: 'done', applied: 48, unchanged: 12, skipped: 0, removed: 0 });
  });

  it('deletes nothing in a mirror, and is not the run with which the next one compares its rows', async () => {
    await using nightly = await setupNightly(60, { mode: 'mirror' });
    const { store, workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    store.forget();
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(20)));
    const sample = await workspace.storeferry('run', 'nightly', '--limit', '5', '--json');
    expect(sample.json()).toMatchObject({ status: 'done', unchanged: 5, removed: 0, deleted: 0 });
    const whole = await workspace.storeferry('run', 'nightly', '--json');
    expect(whole.json()).toMatchObject({
      status: 'stopped',
      error: expect.stringContaining('the last completed run had 60'),
    });
    expect(store.figures().requests).toBe(0);
  });

  it('says in the report and in its next steps that it was a sample, and is continued as one', async () => {
    await using nightly = await setupNightly(40);
    const { store, workspace } = nightly;
    store.misbehave({ does: unauthorized, from: 5 });
    const failed = await workspace.storeferry('run', 'nightly', '--limit', '20');
    expect(failed.code).toBe(1);
    expect(failed.stdout).toMatch(/run nightly --limit 20$/m);
    store.behave();
    const done = await workspace.storeferry('run', 'nightly', '--limit', '20');
    expect(done.code).toBe(0);
    expect(done.stdout).toContain('This is a sample (--limit 20): 20 of 40 products.');
    expect(done.stdout).toMatch(/To send all records of the source:\s+storeferry -C \S+ run nightly$/m);
  });

  it('refuses keys that the source does not have, and exports', async () => {
    await using nightly = await setupNightly(4);
    const { store, workspace } = nightly;
    await using webhook = await startWebhook();
    const job = await readFile(join(workspace.dir, 'jobs/nightly.yaml'), 'utf8');
    await workspace.write(
      'jobs/nightly.yaml',
      `${job}notify: { url: "${webhook.url}", on: [done, failed, stopped, rejects] }\n`,
    );
    const planned = (await workspace.storeferry('plan', 'nightly', '--json')).json()['run'];
    const unknown = await workspace.storeferry('run', 'nightly', '--only', 'product-1,prodct-2', '--json');
    expect(unknown.code).toBe(2);
    expect(unknown.json()['run']).toBeNull();
    expect(webhook.calls).toEqual([]);
    // No run began, so the plan can still be approved.
    const listed = await workspace.storeferry('runs', 'nightly', '--json');
    expect(listed.json()['runs']).toMatchObject([{ run: planned, status: 'planned' }]);
    expect(unknown.json()['error']).toContain('The source has no record with the key "prodct-2".');
    expect(store.figures().requests).toBe(0);
    await workspace.write(
      'jobs/lists.yaml',
      'export: subscriber-lists\nstore: main\ndestination: { path: lists.csv, mode: append, format: csv }\n',
    );
    const lists = await workspace.storeferry('run', 'lists', '--limit', '3');
    expect(lists.code).toBe(2);
    expect(lists.stderr).toContain('--limit 3 is for imports');
    expect((await workspace.storeferry('run', 'nightly', '--limit', '0')).code).toBe(2);
  });
});
