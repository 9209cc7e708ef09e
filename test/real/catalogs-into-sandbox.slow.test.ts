import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readWorkspace } from '../../src/config/workspace.ts';
import { DEFAULT_LIMITS } from '../../src/model/input-limits.ts';
import { executeRun } from '../../src/run/execute-run.ts';
import { openMapping } from '../../src/run/inputs/open-mapping.ts';
import type { ImportRequest } from '../../src/run/run-context.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openState } from '../../src/state/open-state.ts';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { DATA_FOLDER, dataPresent, readCatalog, suiteName } from './catalog-rows.ts';
import { CATALOGS } from './catalogs.ts';

const API_KEY = 'sandbox-key';

interface HeldProduct {
  readonly title: string;
  readonly url: string;
  readonly variants: readonly unknown[];
}

/** A sandbox and a workspace whose one job reads real files into it. */
async function setup() {
  const sandbox = await startSandbox({ port: 0, apiKey: API_KEY, seedSize: { contacts: 0, orders: 0 } });
  const files = {
    'stores.yaml': `main: { baseUrl: "${sandbox.url}", apiKey: "\${KEY}" }\n`,
    'jobs/none.yaml': '',
  };
  const folder = await makeWorkspace(files);
  const temporary = await mkdtemp(join(tmpdir(), 'storeferry-real-'));
  const state = await openState({ redisUrl: undefined, dir: join(temporary, 'state') });
  const workspace = readWorkspace(folder.dir, { KEY: API_KEY });
  const store = workspace.store('main');
  const storefront = createStorefront({
    ...store,
    userAgent: 'storeferry/test',
    attemptMs: store.limits.timeoutSeconds * 1_000,
  });
  let runs = 0;

  const run = async (file: string, mapping: string) => {
    const job: ImportRequest['job'] = {
      kind: 'import',
      name: mapping,
      import: 'products',
      store: 'main',
      source: { path: fileURLToPath(new URL(file, DATA_FOLDER)), quotes: 'standard' },
      mapping,
      params: {},
      mode: 'upsert',
      duplicates: 'reject',
      safety: {
        maxDeletes: { kind: 'off' },
        maxRejects: { kind: 'off' },
        maxSkipped: { kind: 'off' },
        minRows: { kind: 'off' },
        maxChanges: { kind: 'off' },
        maxCreates: { kind: 'off' },
        maxPriceMoves: { kind: 'off' },
      },
      html: 'keep',
      limits: DEFAULT_LIMITS,
    };
    const source = await openMapping(workspace.mapping(mapping), job, { workspaceDir: folder.dir });
    const context = {
      workspaceDir: folder.dir,
      state,
      artifacts: folderArtifacts(join(temporary, 'artifacts')),
      version: 'test',
      clock: Date.now,
      redact: String,
      newRunId: () => `run${++runs}`,
      openStorefront: () => storefront,
      onEvent: () => {},
      signal: new AbortController().signal,
    };
    return await executeRun(context, {
      kind: 'run',
      request: { job, store, mapping: source, resend: false },
    });
  };
  const held = async (): Promise<HeldProduct[]> => {
    const headers = { authorization: `Bearer ${API_KEY}`, 'user-agent': 'test/1' };
    const response = await fetch(`${sandbox.url}/_sandbox/products`, { headers });
    return JSON.parse(await response.text());
  };
  return {
    run,
    held,
    async [Symbol.asyncDispose]() {
      await storefront.close();
      await state[Symbol.asyncDispose]();
      await sandbox.close();
      await folder[Symbol.asyncDispose]();
      await rm(temporary, { recursive: true, force: true });
    },
  };
}

function variantsOf(products: readonly { readonly variants: readonly unknown[] }[]): number {
  return products.reduce((sum, { variants }) => sum + variants.length, 0);
}

describe.skipIf(!dataPresent)(suiteName('real catalogs in the sandbox'), () => {
  it.each(CATALOGS)('$file arrives whole, with every row accounted for', async ({ file, mapping, count }) => {
    const expected = count(readCatalog(file));
    await using shop = await setup();
    const { run, totals } = await shop.run(file, mapping);
    const held = await shop.held();

    expect(run.error).toBeNull();
    expect(held.length).toBe(expected.products.length);
    expect(variantsOf(held)).toBe(variantsOf(expected.products));
    expect(totals).toMatchObject({
      rows: expected.rows,
      applied: expected.products.length,
      requests: expected.products.length,
      skipped: expected.skipped.length,
      unsent: 0,
    });
    const { applied, unchanged, rejected, skipped, unsent } = totals.inRows;
    expect(applied + unchanged + rejected + skipped + unsent).toBe(expected.rows);
    expect(rejected).toBe(expected.rejected.reduce((sum, { rows }) => sum + rows, 0));
    expect(totals.records).toBe(totals.applied + totals.rejected + totals.skipped);

    const again = await shop.run(file, mapping);
    expect(again.totals).toMatchObject({ requests: 0, unchanged: expected.products.length });
  });

  it('sends only what changed between two exports of one Squarespace shop', async () => {
    await using shop = await setup();
    const first = 'squarespace/products_Jul-21.csv';
    const second = 'squarespace/products_Nov-02.csv';
    await shop.run(first, 'squarespace-products');
    const before = new Map((await shop.held()).map((product) => [product.url, JSON.stringify(product)]));
    const { totals } = await shop.run(second, 'squarespace-products');
    const after = await shop.held();

    const differing = after.filter((product) => before.get(product.url) !== JSON.stringify(product));
    expect(totals.requests).toBe(totals.new + totals.changed);
    expect(differing.length).toBe(totals.new + totals.changed);
    expect(totals.unchanged).toBeGreaterThan(0);
    expect(totals.new).toBe(after.length - before.size);
  });
});
