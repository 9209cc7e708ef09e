import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { setupNightly } from '../../support/nightly.ts';
import { endOf } from './end-of.ts';
import type { Answer } from './http-client.ts';
import { serveDashboard } from './running-dashboard.ts';

const GUARDS = '[{ field: variants.price, changeBy: 50%, action: hold }]';

/** The products with the prices of the first of them multiplied. */
function catalog(dearer: number, factor = 10): string {
  return shopifyCatalog(
    manyProducts(30).map((product, index) => ({
      ...product,
      price: (Number(product.price) * (index < dearer ? factor : 1)).toFixed(2),
    })),
  );
}

function runOf({ words }: Answer): string {
  return /(?<=Run )\w{6,}/.exec(words)?.[0] ?? '';
}

async function setup() {
  const nightly = await setupNightly(30, { guards: GUARDS, safety: '{ maxPriceMoves: off }' });
  const { workspace, store } = nightly;
  await workspace.storeferry('run', 'nightly');
  return {
    ...{ workspace, store },
    run: async () => String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']),
    priceOf: (n: number) =>
      [...store.shop.products.values()].find(({ url }) => url === `product-${n}`)?.variants?.[0]?.price,
    [Symbol.asyncDispose]: () => nightly[Symbol.asyncDispose](),
  };
}

describe('undo and release from the dashboard', () => {
  it('shows held values, releases the chosen records, then all, and records who did it', async () => {
    await using shop = await setup();
    await shop.workspace.write('catalog.csv', catalog(3));
    const run = await shop.run();
    const before = [1, 2, 3].map(shop.priceOf);
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');

    const record = await client.get('/records?q=product-1&key=product-1');
    expect(record.words).toMatch(/Held by a guard Run \w+ of nightly did not send these values/);
    expect(record.words).toMatch(/variants\.price ?[\d.]+ ?[\d.]+/);
    const one = await client.get(`/runs/${run}/release?key=product-1`);
    expect(one.words).toContain('All records that the run holds');
    expect(one.document.querySelectorAll('input[type=checkbox]')).toHaveLength(1);

    const asked = await client.get(`/runs/${run}/release`);
    expect(asked.words).toContain('held 3 records');
    expect([1, 2, 3].map(shop.priceOf)).toEqual(before);
    const boxes = [...asked.document.querySelectorAll('input[type=checkbox]')];
    const unticked = await client.post(`/runs/${run}/release`, formWith(asked, run, { which: 'chosen' }));
    expect(unticked.status).toBe(400);
    expect(unticked.words).toContain('tick the records');
    const chosen = boxes.find((box) => box.getAttribute('value') === 'product-2')?.getAttribute('name') ?? '';
    const released = await client.follow(
      await client.post(
        `/runs/${run}/release`,
        formWith(asked, run, { which: 'chosen', [chosen]: 'product-2' }),
      ),
    );
    await endOf(client, `/runs/${runOf(released)}`);
    expect(shop.priceOf(2)).toBe((before[1] ?? 0) * 10);
    expect(shop.priceOf(1)).toBe(before[0]);

    const again = await client.get(`/runs/${run}/release`);
    expect(again.words).toContain('sent since');
    expect(again.words).toContain('Release all 2');
    const rest = await client.follow(
      await client.post(`/runs/${run}/release`, formWith(again, run, { which: 'all' })),
    );
    await endOf(client, `/runs/${runOf(rest)}`);
    expect([1, 2, 3].map(shop.priceOf)).toEqual(before.map((price = 0) => price * 10));
    expect((await client.get('/audit')).words).toMatch(/released held records.*released held records/);
  });

  it('plans the undo of a run, sends it once it is approved, and undoes one record alone', async () => {
    await using shop = await setup();
    await shop.workspace.write('catalog.csv', catalog(3, 1.2));
    const before = [1, 2, 3].map(shop.priceOf);
    const run = await shop.run();
    const after = [1, 2, 3].map(shop.priceOf);
    expect(after).not.toEqual(before);
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');

    expect((await client.get('/records?key=product-1')).body).toContain(`/runs/${run}/undo?key=product-1`);
    const one = await client.get(`/runs/${run}/undo?key=product-1`);
    expect(one.words).toContain('Correct the source first.');
    const job = await readFile(join(shop.workspace.dir, 'jobs/nightly.yaml'), 'utf8');
    await shop.workspace.write('jobs/nightly.yaml', `${job.trimEnd()}\nschedule: { cron: "0 3 * * *" }\n`);
    expect((await client.get(`/runs/${run}/undo`)).words).toContain('or pause the schedule.');
    await shop.workspace.write('jobs/nightly.yaml', job);
    const planned = await client.submit(one, `/runs/${run}/undo`, { keys: 'product-1\r\n' });
    const plan = runOf(planned);
    await endOf(client, `/runs/${plan}`);
    expect([1, 2, 3].map(shop.priceOf)).toEqual(after);
    const approval = await client.get(`/runs/${plan}/approve`);
    expect(approval.words).toContain('Sends 1 request ');
    await client.submit(approval, `/runs/${plan}/approve`);
    await endOf(client, `/runs/${plan}`);
    expect([1, 2, 3].map(shop.priceOf)).toEqual([before[0], after[1], after[2]]);

    const whole = await client.submit(await client.get(`/runs/${run}/undo`), `/runs/${run}/undo`, {
      keys: '',
    });
    await endOf(client, `/runs/${runOf(whole)}`);
    const rest = await client.get(`/runs/${runOf(whole)}/approve`);
    await client.submit(rest, `/runs/${runOf(whole)}/approve`);
    await endOf(client, `/runs/${runOf(whole)}`);
    expect([1, 2, 3].map(shop.priceOf)).toEqual(before);
    expect((await client.get('/audit')).words).toMatch(/planned to undo a run.*planned to undo a run/);
  });

  it('offers neither to visitors who may only look', async () => {
    await using shop = await setup();
    await shop.workspace.write('catalog.csv', catalog(1));
    const run = await shop.run();
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('readOnly');
    const record = await client.get('/records?key=product-1');
    expect(record.words).toContain('Held by a guard');
    expect(record.body).not.toMatch(/\/(undo|release)\b/);
    for (const action of ['undo', 'release']) {
      expect((await client.get(`/runs/${run}/${action}`)).status).toBe(403);
      expect((await client.post(`/runs/${run}/${action}`, {})).status).toBe(403);
    }
  });
});

function formWith(page: Answer, run: string, fields: Readonly<Record<string, string>>) {
  const form = page.document.querySelector(`form[action="/runs/${run}/release"]`);
  const hidden = [...(form?.querySelectorAll('input[type=hidden]') ?? [])];
  const kept = hidden.map((input) => [input.getAttribute('name') ?? '', input.getAttribute('value') ?? '']);
  return { ...Object.fromEntries(kept), ...fields };
}
