import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';

const IMAGE = { 'content-type': 'image/jpeg', 'content-length': '10' };

async function setup(
  count: number,
  images: FileServer,
  check = '{ check: warn, allowPrivateAddresses: true }',
): Promise<Nightly> {
  const shop = await setupNightly(count, { images: check });
  const catalog = shopifyCatalog(manyProducts(count)).replaceAll('https://images.example', images.url);
  await shop.workspace.write('catalog.csv', catalog);
  return shop;
}

describe('images: { check: warn }', () => {
  it('counts the problems of new addresses, rejects nothing, and asks for good ones once', async () => {
    await using images = await startFileServer();
    for (let number = 1; number <= 5; number++) {
      images.answer(`/product-${number}.jpg`, (_, response) => void response.writeHead(200, IMAGE).end());
    }
    images.answer('/product-2.jpg', (_, response) => void response.writeHead(404).end());
    images.answer('/product-3.jpg', (_, response) => void response.writeHead(404).end());
    images.answer('/product-4.jpg', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end();
    });
    images.answer('/product-5.jpg', (_, response) => void response.writeHead(403).end());
    await using shop = await setup(5, images);
    const plan = await shop.workspace.storeferry('plan', 'nightly');
    expect(plan.code).toBe(0);
    expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'Images: 3 of 5 new addresses have problems: 2 not found (404) and 1 is text/html. 1 address could not be checked',
    );
    expect(plan.stdout).toMatch(/product-2 \S+\/product-2\.jpg/);
    expect(shop.store.figures().requests).toBe(0);

    const before = images.requests.length;
    const run = await shop.workspace.storeferry('run', 'nightly', '--json');
    expect(run.json()).toMatchObject({ status: 'done', applied: 5, rejected: 0 });
    expect(run.json()).not.toHaveProperty('images');
    const again = images.requests.slice(before).map(({ path }) => path);
    expect(new Set(again)).toEqual(new Set([2, 3, 4, 5].map((number) => `/product-${number}.jpg`)));
    expect(JSON.parse(shop.store.lastBody('product-2') ?? '')).toMatchObject({
      images: [`${images.url}/product-2.jpg`],
    });
  });

  it('asks no more of a server that asks for fewer requests', async () => {
    await using images = await startFileServer();
    for (let number = 1; number <= 60; number++) {
      images.answer(`/product-${number}.jpg`, (_, response) => void response.writeHead(429).end());
    }
    await using shop = await setup(60, images);
    const { stdout } = await shop.workspace.storeferry('plan', 'nightly');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('60 addresses could not be checked');
    expect(images.requests.length).toBeLessThan(10);
  });

  it('ends when its time is over, and says what is left', async () => {
    await using images = await startFileServer();
    for (let number = 1; number <= 6; number++) images.answer(`/product-${number}.jpg`, () => {});
    await using shop = await setup(
      6,
      images,
      '{ check: warn, withinSeconds: 1, allowPrivateAddresses: true }',
    );
    const plan = await shop.workspace.storeferry('plan', 'nightly');
    expect(plan.code).toBe(0);
    expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain(
      '6 addresses were left unchecked when the time for this check was over',
    );
  });

  it('asks nothing unless the job says so, and never a private address', async () => {
    await using images = await startFileServer();
    await using off = await setup(2, images, '{ check: off }');
    expect((await off.workspace.storeferry('plan', 'nightly')).stdout).not.toContain('Images');
    await using guarded = await setup(2, images, '{ check: warn }');
    const signed = shopifyCatalog(manyProducts(2)).replaceAll(
      /https:\S+?\.jpg/g,
      `${images.url}/a.jpg?X-Amz-Signature=5f4dcc`,
    );
    await guarded.workspace.write('catalog.csv', signed);
    const { stdout } = await guarded.workspace.storeferry('plan', 'nightly');
    expect(stdout).toContain('is a private address');
    expect([stdout.includes('X-Amz-Signature=***'), stdout.includes('5f4dcc')]).toEqual([true, false]);
    expect(images.requests).toEqual([]);
  });
});
