import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serveFile } from '../remote/serve-file.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { makeWorkspace } from '../support/workspace.ts';

const PASSWORD = 'mark of a pass/word';
const CATALOG = shopifyCatalog(manyProducts(3));
const JOB = 'jobs/shopify-products.yaml';

const initFrom = (address: string, ...more: readonly string[]) => [
  ...['init', '--sandbox', '--yes', '--allow-private-addresses'],
  ...['--source', address, ...more],
];

describe('init with a file on an SSH server', () => {
  it('asks whose key it is and for the password, and writes neither into the job', async () => {
    await using server = await serveFile(CATALOG, PASSWORD);
    const { fingerprint } = server;
    await using shop = await makeWorkspace({}, {});
    const address = server.address('shop');
    const open = await shop.storeferry(...initFrom(address));
    expect(open.code).toBe(2);
    expect(open.stderr).toContain(`Give --host-key with one of: ${fingerprint}`);

    const other = await shop.storeferry(...initFrom(address, '--host-key', `SHA256:${'B'.repeat(43)}`));
    expect(other.code).toBe(2);
    expect(other.stderr).toContain(`The server shows another key: ${fingerprint}`);

    const confirmed = initFrom(address, '--host-key', fingerprint);
    const without = await shop.storeferry(...confirmed);
    expect(without.code).toBe(2);
    expect(without.stderr).toContain('The password of shop at 127.0.0.1 is missing');
    expect(without.stderr).toContain('Set SFTP_PASSWORD in the environment');

    const wrong = await shop.storeferry(...initFrom(server.address('shop:other'), '--host-key', fingerprint));
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('the server refuses the login of the user shop');
    expect(existsSync(join(shop.dir, 'jobs'))).toBe(false);

    const typed = server.address(`shop:${encodeURIComponent(PASSWORD)}`);
    const made = await shop.storeferry(...initFrom(typed, '--host-key', fingerprint));
    expect(made).toMatchObject({ code: 0 });
    expect(made.stdout).toContain('3 products would be created');
    const job = await readFile(join(shop.dir, JOB), 'utf8');
    expect(job).toContain(`hostKey: "${fingerprint}"`);
    expect(job).toContain(`password: "\${SFTP_PASSWORD}"`);
    expect(await readFile(join(shop.dir, '.env'), 'utf8')).toContain(`SFTP_PASSWORD=${PASSWORD}\n`);
    for (const text of [job, made.stdout, made.stderr]) expect(text).not.toContain('mark');
    expect((await shop.storeferry('plan', 'shopify-products')).code).toBe(0);
  });

  it('uses the password of the environment, and copies it nowhere', async () => {
    await using server = await serveFile(CATALOG, PASSWORD);
    await using shop = await makeWorkspace({}, { SFTP_PASSWORD: PASSWORD });
    const made = await shop.storeferry(...initFrom(server.address('shop'), '--host-key', server.fingerprint));
    expect(made).toMatchObject({ code: 0 });
    expect(await readFile(join(shop.dir, JOB), 'utf8')).toContain(`password: "\${SFTP_PASSWORD}"`);
    expect(await readFile(join(shop.dir, '.env'), 'utf8')).not.toContain('SFTP_PASSWORD');
  });
});
