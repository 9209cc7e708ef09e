import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { placeholder } from '../../src/config/yaml-text.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { hasPseudoTerminal, KEYS, startAtTerminal } from '../support/pseudo-terminal.ts';

async function setup() {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-init-'));
  await writeFile(join(dir, 'my "best" export.csv'), shopifyCatalog(manyProducts(3)));
  return {
    dir,
    start: (...args: readonly string[]) => startAtTerminal(['init', ...args], { cwd: dir }),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true, maxRetries: 3 }),
  };
}

const KEY = 'key-of-a-shop#1';

describe.skipIf(!hasPseudoTerminal)(
  `init at a terminal${hasPseudoTerminal ? '' : ' (skipped, no script)'}`,
  () => {
    it('asks, keeps the key to .env, and ends with a plan of the file', async () => {
      await using folder = await setup();
      await using session = folder.start('shop');
      await session.sees('Which store is it for?');
      session.type(KEYS.enter);
      await session.sees('Address of the store:');
      session.type(`shop.example${KEYS.enter}`);
      await session.sees('expected an http or https address');
      session.type(`\u0015https://shop.example/${KEYS.enter}`);
      await session.sees('API key');
      session.type(`${KEY}${KEYS.enter}`);
      await session.sees('The file to import');
      session.type(`mistyped.csv${KEYS.enter}`);
      await session.sees('there is no file');
      session.type(`\u0015'my "best" export.csv'${KEYS.enter}`);
      await session.sees('3 rows, 15 columns, separated by comma, utf-8');
      await session.sees('Recognised as shopify-products');
      await session.sees('Which known format does the file have?');
      session.type(KEYS.enter);
      await session.sees('Where does the job read the file?');
      session.type(KEYS.down + KEYS.enter);
      await session.sees('show weights?');
      session.type(KEYS.enter);
      await session.sees('Name of the job:');
      session.type(`nightly${KEYS.enter}`);
      await session.sees('When does it run?');
      session.type(KEYS.down + KEYS.enter);
      await session.sees('At (Hours and minutes');
      session.type(KEYS.enter);
      await session.sees('Write these files?');
      expect(session.shown(), 'nothing was there before').not.toContain('(added to)');
      session.type(KEYS.enter);
      await session.sees('Plan of nightly for the store main');
      await session.sees('storeferry -C shop approve');
      await session.sees('storeferry -C shop check --online');
      expect(await session.ended).toBe(0);
      expect(session.shown()).not.toContain(KEY);

      const shop = join(folder.dir, 'shop');
      expect(await readFile(join(shop, '.env'), 'utf8')).toBe(
        `STORE_URL=https://shop.example\nSTORE_API_KEY='${KEY}'\n`,
      );
      expect((await stat(join(shop, '.env'))).mode & 0o777).toBe(0o600);
      expect(await readFile(join(shop, '.gitignore'), 'utf8')).toBe('.env\n.storeferry/\n.*.tmp\n');
      expect(await readFile(join(shop, 'stores.yaml'), 'utf8')).not.toContain(KEY);
      const job = await readFile(join(shop, 'jobs', 'nightly.yaml'), 'utf8');
      expect(job).toContain(`path: ${JSON.stringify('my "best" export.csv')}`);
      expect(job).toMatch(/^schedule: \{ cron: "15 2 \* \* \*"/m);
      expect(existsSync(join(shop, 'my "best" export.csv'))).toBe(true);
    });

    it.each([
      ['Ctrl-C at the first question', [], KEYS.interrupt],
      ['Ctrl-C at the key', [KEYS.enter, `https://shop.example${KEYS.enter}`], KEYS.interrupt],
      ['the end of input', [KEYS.enter], KEYS.endOfInput],
    ])('leaves nothing behind after %s', async (_, answers, end) => {
      await using folder = await setup();
      await using session = folder.start('shop');
      const questions = ['Which store is it for?', 'Address of the store:', 'API key'];
      for (const [index, answer] of answers.entries()) {
        await session.sees(questions[index] ?? '');
        session.type(answer);
      }
      await session.sees(questions[answers.length] ?? '');
      session.type(end);
      await session.sees('nothing has been written');
      expect(await session.ended).toBe(130);
      expect(readdirSync(folder.dir)).toEqual(['my "best" export.csv']);
    });

    it('asks before it adds a job to a workspace, and begins a mapping where no format is known', async () => {
      await using folder = await setup();
      await writeFile(
        join(folder.dir, 'stores.yaml'),
        `main: { baseUrl: "${placeholder('STORE_URL')}", apiKey: "${placeholder('SHOP_KEY')}" }\n`,
      );
      await writeFile(
        join(folder.dir, 'list.csv'),
        Buffer.from('Dings;Bums;Betrag\nTasse für Öl;Becher klein;9,90\n', 'latin1'),
      );
      await writeFile(join(folder.dir, 'list.xlsx'), '<!doctype html><p>Sign in');
      await using session = folder.start();
      await session.sees('Add a job to it?');
      session.type(KEYS.enter);
      await session.sees('The file to import');
      session.type(`list.xlsx${KEYS.enter}`);
      await session.sees('is an HTML page, not a CSV file');
      await session.sees('The file to import');
      session.type(`list.csv${KEYS.enter}`);
      await session.sees('Which charset is it in?');
      session.type(KEYS.enter);
      await session.sees('separated by semicolon, windows-1252');
      await session.sees('No known format has these columns.');
      await session.sees('Which known format does the file have?');
      session.type(KEYS.enter);
      await session.sees('What is in the file?');
      session.type(KEYS.enter);
      await session.sees('Which column has the name of the product?');
      session.type(KEYS.enter);
      await session.sees('Which column has the price?');
      session.type(KEYS.enter);
      await session.sees('Name of the job:');
      session.type(KEYS.enter);
      await session.sees('When does it run?');
      session.type(KEYS.enter);
      await session.sees('needs STORE_URL');
      session.type(`https://shop.example${KEYS.enter}`);
      await session.sees('needs SHOP_KEY');
      session.type(`${KEY}${KEYS.enter}`);
      await session.sees('Write these files?');
      session.type(KEYS.enter);
      await session.sees('Plan of my-products for the store main');
      expect(await session.ended).toBe(0);
      expect(session.shown()).not.toContain(KEY);
      expect(await readFile(join(folder.dir, 'mappings', 'my-products.yaml'), 'utf8')).toContain(
        '\n  title: Dings # your answer\n  price: Betrag # your answer\n',
      );
      expect(await readFile(join(folder.dir, '.env'), 'utf8')).toBe(
        `STORE_URL=https://shop.example\nSHOP_KEY='${KEY}'\n`,
      );
    });

    it('asks where the ids of contacts come from until a file has them, and rehearses against the sandbox', async () => {
      await using folder = await setup();
      await writeFile(
        join(folder.dir, 'crm.csv'),
        'Contact ID,First Name,Last Name,Email,Lifecycle Stage,Lead Status\n7,Ada,Byron,ada@example.com,Lead,New\n',
      );
      await writeFile(join(folder.dir, 'ids.csv'), 'Contact no,Client no,Email\n4711,36,ada@example.com\n');
      await using session = folder.start('crm', '--sandbox', '--source', 'crm.csv', '--job', 'move');
      await session.sees('Recognised as hubspot-contacts');
      await session.sees('Which known format does the file have?');
      session.type(KEYS.enter);
      await session.sees('Where does the job read the file?');
      session.type(KEYS.enter);
      await session.sees('Where do they come from?');
      session.type(KEYS.enter);
      await session.sees('The crosswalk (CSV):');
      session.type(`my "best" export.csv${KEYS.enter}`);
      await session.sees('This file cannot be used as the crosswalk');
      session.type(`\u0015ids.csv${KEYS.enter}`);
      await session.sees('Which of its columns has the id of the store?');
      session.type(KEYS.enter);
      await session.sees('When does it run?');
      session.type(KEYS.enter);
      await session.sees('Write these files?');
      session.type(KEYS.enter);
      await session.sees('1 contact');
      await session.sees('storeferry sandbox');
      expect(await session.ended).toBe(0);
      expect(await readFile(join(folder.dir, 'crm', 'jobs', 'move.yaml'), 'utf8')).toMatch(
        /^ {2}id: Contact no /m,
      );
    });
  },
);
