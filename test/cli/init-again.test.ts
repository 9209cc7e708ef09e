import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { askJob } from '../../src/cli/init/ask-job.ts';
import type { InitOptions } from '../../src/cli/init/init-options.ts';
import type { Prompter } from '../../src/cli/init/prompter.ts';
import { loadEnvironment, typedPlace } from '../../src/config/workspace.ts';
import { serveFile } from '../remote/serve-file.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { askingOf } from './asking.ts';

const PASSWORD = 'mark of a pass/word';

const unexpected = (message: string) => Promise.reject(new Error(`unexpected question: ${message}`));

/** Asks for a job in a folder; only the file is typed. */
async function askFor(
  dir: string,
  options: Partial<InitOptions>,
  { text = unexpected, secret = unexpected }: Partial<Pick<Prompter, 'text' | 'secret'>> = {},
) {
  const said: string[] = [];
  const prompter = { text, secret, choose: unexpected, confirm: unexpected };
  const asking = {
    ...askingOf({ sandbox: true, yes: true, ...options }, prompter, dir),
    say: (line: string) => void said.push(line),
  };
  return { made: await askJob(asking), said };
}

describe('a file that init asks for', () => {
  it('is read again after it was refused and corrected', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-again-'));
    try {
      const path = join(dir, 'list.csv');
      await writeFile(path, '');
      let asked = 0;
      const { made, said } = await askFor(
        dir,
        { job: 'list' },
        {
          text: async (message, { check } = {}) => {
            expect(message).toContain('The file to import');
            asked += 1;
            if (asked === 2) await writeFile(path, 'Title,Price,SKU\nMug,4.00,m1\n');
            expect(asked).toBeLessThan(3);
            await check?.(path);
            return path;
          },
        },
      );
      expect(said.join('\n')).toContain('This file cannot be imported.');
      expect([asked, made.job.name]).toEqual([2, 'list']);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });

  it.each([
    ['--column', { column: { price: 'Variant Price' } }],
    ['--word', { word: { ja: 'yes' } }],
    ['--import', { import: 'contacts' }],
  ])('leaves no use for %s where a known mapping reads it: that is refused', async (flag, option) => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-again-'));
    try {
      const source = join(dir, 'catalog.csv');
      await writeFile(source, shopifyCatalog(manyProducts(1)));
      const refusal = askFor(dir, { source, job: 'list', ...option });
      await expect(refusal).rejects.toThrow(
        `${flag} is about a new mapping, and the file is read by the mapping shopify-products.`,
      );
      await expect(refusal).rejects.toMatchObject({ hint: expect.stringContaining('--mapping new') });
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });

  it('may not be an address where it has the ids of contacts: the advice names that key of the job', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-again-'));
    try {
      const source = join(dir, 'people.csv');
      await writeFile(source, 'Name,Email\nAda,ada@example.com\n');
      const options = {
        source,
        mapping: 'new',
        import: 'contacts',
        crosswalk: 'https://crm.example/ids.csv',
      };
      await expect(askFor(dir, options)).rejects.toThrow('by `crosswalk: { url: … }`');
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});

describe('the password of an SSH server', () => {
  it('is asked for at a terminal, because that of the environment may belong to another server', async () => {
    await using server = await serveFile(shopifyCatalog(manyProducts(1)), PASSWORD);
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-again-'));
    try {
      const settled = { yes: false, job: 'list', weightUnit: 'kg', schedule: '15 2 * * *' };
      const options = {
        ...settled,
        ...{ mapping: 'shopify-products', allowPrivateAddresses: true },
        ...{ source: server.address('shop'), hostKey: server.fingerprint },
      };
      for (const [known, variable, kept] of [
        ['of-another-server', 'SFTP_PASSWORD_2', { SFTP_PASSWORD_2: PASSWORD }],
        [PASSWORD, 'SFTP_PASSWORD', {}],
      ] as const) {
        await writeFile(join(dir, '.env'), `SFTP_PASSWORD=${known}\n`);
        const asked: string[] = [];
        const { made } = await askFor(dir, options, {
          secret: (message) => {
            asked.push(message);
            return Promise.resolve(PASSWORD);
          },
        });
        expect(asked).toEqual(['Password of shop at 127.0.0.1:']);
        expect(made.job.source).toMatchObject({ sftp: { password: `\${${variable}}` } });
        expect(made.variables).toMatchObject(kept);
        expect(Object.keys(made.variables).filter((name) => name.startsWith('SFTP'))).toEqual(
          Object.keys(kept),
        );
      }
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });

  it('is asked for by the user and the host that placeholders of the address name', () => {
    const context = {
      environment: loadEnvironment(tmpdir(), { SFTP_USER: 'shop', SFTP_HOST: 'files.example' }),
      onSecret: () => undefined,
    };
    const address = 'sftp://$' + '{SFTP_USER}@$' + '{SFTP_HOST}/list.csv';
    expect(typedPlace(address, context, { fillsPlaceholders: true })).toMatchObject({
      user: 'shop',
      host: 'files.example',
    });
    const named = typedPlace('sftp://shop:$' + '{SFTP_USER}@files.example/list.csv', context, {
      fillsPlaceholders: true,
    });
    expect('enter' in named && named.hasPassword).toBe(true);
    const entered = 'enter' in named ? named.enter(`SHA256:${'A'.repeat(43)}`, undefined) : undefined;
    expect(entered).toMatchObject({ written: { sftp: { password: '$' + '{SFTP_USER}' } }, variables: {} });
    // A visitor fills none.
    expect(typedPlace(address, context)).toMatchObject({ host: '$' + '{SFTP_HOST}' });
  });
});
