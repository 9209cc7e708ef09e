import { existsSync, readdirSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/commands.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { startFileServer } from '../support/file-server.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { makeWorkspace } from '../support/workspace.ts';

const CATALOG = { 'export.csv': shopifyCatalog(manyProducts(3)) };
const KEY = { STORE_API_KEY: 'key-of-a-shop' };
const CONTACTS =
  'Contact ID,First Name,Last Name,Email,Lifecycle Stage,Lead Status\n7,Ada,Byron,ada@example.com,Lead,New\n';

/** A folder that is no workspace yet; commands run with -C on it. */
const folder = (
  files: Readonly<Record<string, string>> = CATALOG,
  env: Readonly<Record<string, string>> = KEY,
) => makeWorkspace(files, env);

describe('init by flags', () => {
  it('imports a file from the web, with its secrets in .env', async () => {
    await using shop = await folder({}, { ...KEY, OWN_TOKEN: 'mark-of-the-environment' });
    await using web = await startFileServer({ '/feeds/export.csv': shopifyCatalog(manyProducts(3)) });
    const address = `${web.url.replace('//', '//shop:mark-of-a-password@')}/feeds/export.csv?token=\${OWN_TOKEN}&key=mark-of-a-key`;
    const init = ['init', '--sandbox', '--yes', '--source', address];
    const refused = await shop.storeferry(...init);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/private address[\s\S]*--allow-private-addresses/);
    expect(existsSync(join(shop.dir, 'jobs'))).toBe(false);
    const copied = await shop.storeferry(...init, '--allow-private-addresses', '--copy');
    expect(copied).toMatchObject({ code: 2 });
    expect(copied.stderr).toContain('leave out --copy');

    const made = await shop.storeferry(...init, '--allow-private-addresses');
    expect(made).toMatchObject({ code: 0 });
    expect(made.stdout).toContain('3 products would be created');
    const authorization = `Basic ${Buffer.from('shop:mark-of-a-password').toString('base64')}`;
    expect(web.requests.at(-1)).toMatchObject({
      path: '/feeds/export.csv?token=mark-of-the-environment&key=mark-of-a-key',
      headers: { authorization },
    });
    const job = await readFile(join(shop.dir, 'jobs/shopify-products.yaml'), 'utf8');
    expect(job).toContain(`?token=\${OWN_TOKEN}&key=\${FEED_TOKEN}`);
    expect(job).toContain('allowPrivateAddresses: true');
    for (const text of [job, made.stdout, made.stderr, copied.stderr, refused.stderr])
      expect(text).not.toContain('mark-of');
    const dotEnv = await readFile(join(shop.dir, '.env'), 'utf8');
    expect(dotEnv).toContain('FEED_TOKEN=mark-of-a-key\nFEED_PASSWORD=mark-of-a-password\n');
    expect(dotEnv).not.toContain('environment');
    expect((await shop.storeferry('plan', 'shopify-products')).code).toBe(0);

    const byName = `${web.url.replace('//', `//shop:\${OWN_TOKEN}@`)}/feeds/export.csv`;
    const again = ['init', '--yes', '--job', 'again', '--allow-private-addresses', '--source', byName];
    expect(await shop.storeferry(...again)).toMatchObject({ code: 0 });
    const { authorization: sent = '' } = web.requests.at(-1)?.headers ?? {};
    expect(atob(sent.replace('Basic ', ''))).toBe('shop:mark-of-the-environment');
    expect(await readFile(join(shop.dir, '.env'), 'utf8')).toBe(dotEnv);
  });

  it('recognises an address of S3, which is not a missing file', async () => {
    await using shop = await folder();
    const refused = await shop.storeferry('init', '--sandbox', '--source', 's3://bucket/export.csv', '--yes');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('This address is read by runs only');
    expect(refused.stderr).toContain('source: { s3: … }');
    expect(existsSync(join(shop.dir, 'jobs'))).toBe(false);
  });

  it('names the option for the file where a file is given as the folder', async () => {
    await using shop = await folder();
    const file = join(shop.dir, 'export.csv');
    const refused = await shop.storeferry('init', file);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`To import the file: storeferry init --source ${file}`);
  });

  it('makes a workspace whose files are right, and plans the file', async () => {
    await using shop = await folder();
    const source = join(shop.dir, 'export.csv');
    const made = await shop.storeferry(
      'init',
      '--store-url',
      'https://shop.example/',
      '--source',
      source,
      '--yes',
    );
    expect(made.stderr).toContain('Recognised as shopify-products');
    expect(made.stdout).toContain('Plan of shopify-products for the store main');
    expect(made.stdout).toContain(`storeferry -C ${shop.dir} run shopify-products`);
    expect(made.code).toBe(0);
    expect(made.stdout + made.stderr).not.toContain(KEY.STORE_API_KEY);

    expect(await readFile(join(shop.dir, '.env'), 'utf8')).toBe(
      'STORE_URL=https://shop.example\nSTORE_API_KEY=key-of-a-shop\n',
    );
    expect((await stat(join(shop.dir, '.env'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(shop.dir, 'jobs/shopify-products.yaml'), 'utf8')).toMatch(
      /^ {2}path: export\.csv /m,
    );
    const check = await shop.storeferry('check');
    expect(check.stdout).toContain('No problems found.');
    expect(check.stdout).not.toContain('warning');
  });

  it('names every flag that is missing where there is no terminal to ask on, and writes nothing', async () => {
    await using shop = await folder(CATALOG, {});
    const { terminal, err } = memoryTerminal();
    expect(await runCommandLine(['-C', shop.dir, 'init'], terminal)).toBe(2);
    for (const flag of ['--store-url', '--sandbox', 'STORE_API_KEY', '--source', '--mapping', '--job']) {
      expect(err()).toContain(flag);
    }
    expect(readdirSync(shop.dir)).toEqual(['export.csv']);
  });

  it.each([
    [
      'an address that is none',
      ['--store-url', 'shop', '--source', 'SOURCE', '--yes'],
      '--store-url: expected an http',
    ],
    ['a file that is not there', ['--sandbox', '--source', 'SOURCEx', '--yes'], 'did you mean'],
    [
      'a mapping that does not fit',
      ['--sandbox', '--source', 'SOURCE', '--yes', '--mapping', 'wix-products'],
      "the file has no 'fieldType'",
    ],
    [
      'a mapping that is misspelt',
      ['--sandbox', '--source', 'SOURCE', '--yes', '--mapping', 'shopfy-products'],
      "did you mean 'shopify-products'",
    ],
    [
      'a job that cannot be a file',
      ['--sandbox', '--source', 'SOURCE', '--yes', '--job', '../x'],
      'letters, digits',
    ],
    [
      'a schedule that is none',
      ['--sandbox', '--source', 'SOURCE', '--yes', '--schedule', 'daily'],
      'expected five cron fields',
    ],
    [
      'a parameter of no mapping',
      ['--sandbox', '--source', 'SOURCE', '--yes', '--param', 'colour=red'],
      'no such parameter',
    ],
  ])('refuses %s and writes nothing', async (_, args, said) => {
    await using shop = await folder({ ...CATALOG, '.env': 'STORE_API_KEY=k\n' });
    const given = args.map((arg) => arg.replace('SOURCE', join(shop.dir, 'export.csv')));
    const { terminal, err } = memoryTerminal();
    expect(await runCommandLine(['-C', shop.dir, 'init', ...given], terminal)).toBe(2);
    expect(err()).toContain(said);
    expect(readdirSync(shop.dir)).toEqual(['.env', 'export.csv']);
  });

  it('adds jobs to a workspace and overwrites nothing', async () => {
    await using shop = await folder();
    const source = ['--source', join(shop.dir, 'export.csv'), '--yes'];
    await shop.storeferry('init', '--sandbox', ...source);
    const before = await Promise.all(
      ['stores.yaml', '.env', '.gitignore'].map((name) => readFile(join(shop.dir, name), 'utf8')),
    );

    const again = await shop.storeferry(
      'init',
      ...source,
      '--schedule',
      '0 6 * * *',
      '--timezone',
      'Europe/Paris',
    );
    expect(again.code).toBe(0);
    expect(readdirSync(join(shop.dir, 'jobs')).sort()).toEqual([
      'shopify-products-2.yaml',
      'shopify-products.yaml',
    ]);
    expect(await readFile(join(shop.dir, 'jobs/shopify-products-2.yaml'), 'utf8')).toContain(
      '\nschedule: { cron: "0 6 * * *", timezone: Europe/Paris }\n',
    );
    const taken = await shop.storeferry('init', ...source, '--job', 'shopify-products');
    expect(taken.code).toBe(2);
    expect(taken.stderr).toContain('There is a job shopify-products already');
    const other = await shop.storeferry('init', ...source, '--store-url', 'https://other.example');
    expect(other.stderr).toContain('There is a stores.yaml already, and it is not changed');
    expect(
      await Promise.all(
        ['stores.yaml', '.env', '.gitignore'].map((name) => readFile(join(shop.dir, name), 'utf8')),
      ),
    ).toEqual(before);
  });

  it('copies a packed file with blanks in its name into the workspace where --copy asks for it', async () => {
    await using place = await folder();
    const packed = join(place.dir, 'my export (1).csv.gz');
    await writeFile(packed, gzipSync(CATALOG['export.csv']));
    const shop = join(place.dir, 'shop');
    const made = await place.storeferry('init', shop, '--sandbox', '--source', packed, '--copy', '--yes');
    expect(made.stdout).toContain('3 products');
    expect(made.stdout).toContain(`storeferry -C ${shop} run`);
    expect(existsSync(join(shop, 'my export (1).csv.gz'))).toBe(true);
  });

  it('asks for a crosswalk where contacts are moved, and finds its columns', async () => {
    await using crm = await folder({
      'crm.csv': CONTACTS,
      'ids.csv': 'Contact no,Email\n4711,ada@example.com\n',
    });
    const source = [
      '--sandbox',
      '--source',
      join(crm.dir, 'crm.csv'),
      '--yes',
      '--mapping',
      'hubspot-contacts',
    ];
    const { terminal, err } = memoryTerminal();
    expect(await runCommandLine(['-C', crm.dir, 'init', ...source], terminal)).toBe(2);
    expect(err()).toContain('--crosswalk FILE');

    const ofStore = join(crm.dir, 'of-store');
    const done = await crm.storeferry('init', ofStore, ...source, '--crosswalk', 'store');
    expect(done.stdout).toContain('storeferry probe main');
    const text = await readFile(join(ofStore, 'jobs/hubspot-contacts.yaml'), 'utf8');
    expect(text).toContain('\ncrosswalk: store\n');

    const made = await crm.storeferry('init', ...source, '--crosswalk', join(crm.dir, 'ids.csv'));
    expect(made.stdout).toContain('1 contact');
    expect(made.code).toBe(0);
    const job = await readFile(join(crm.dir, 'jobs/hubspot-contacts.yaml'), 'utf8');
    expect(job).toMatch(/^ {2}match: email /m);
    expect(job).toMatch(/^ {2}id: Contact no /m);
  });

  it.each([
    [
      'Customer ID,E-mail,Name\n4711,ada@example.com,Ada\n',
      [],
      /^ {2}match: E-mail .*\n {2}id: Customer ID /m,
    ],
    [
      'Nr;Kontakt;Kunde\n4711;ada@example.com;Ada\n',
      [],
      /^ {2}match: Kontakt .*\n {2}field: email .*\n {2}id: Nr /m,
    ],
    [
      'id,E-Mail,Second e-mail\n4711,ada@example.com,a@example.com\n',
      [],
      /^ {2}match: E-Mail .*\n {2}id: id /m,
    ],
    ['id,E-mail,Name\n4711,ada@example.com,Ada\n', ['--crosswalk-match', 'E-mail'], /^ {2}match: E-mail /m],
    ['id,E-mail,Name\n4711,ada@example.com,Ada\n', ['--crosswalk-match', 'email'], /^ {2}match: E-mail /m],
    [
      'id,Mail address,Name\n4711,ada@example.com,Ada\n',
      ['--crosswalk-match', 'mail address'],
      /^ {2}match: Mail address .*\n {2}field: email /m,
    ],
    ['id,Name\n4711,Ada Byron\n', ['--crosswalk-match', 'Name'], /^ {2}match: name /m],
  ] as const)(
    'finds the columns of the crosswalk %j, and its contact by them',
    async (ids, flags, expected) => {
      await using crm = await folder({ 'crm.csv': CONTACTS, 'ids.csv': ids }, {});
      const made = await crm.storeferry(
        ...[
          'init',
          '--sandbox',
          '--source',
          join(crm.dir, 'crm.csv'),
          '--yes',
          '--mapping',
          'hubspot-contacts',
        ],
        ...['--crosswalk', join(crm.dir, 'ids.csv'), ...flags],
      );
      expect(made.stdout).toMatch(/not sent before +1 /);
      expect(made.code).toBe(0);
      expect(await readFile(join(crm.dir, 'jobs/hubspot-contacts.yaml'), 'utf8')).toMatch(expected);
      expect((await crm.storeferry('check')).stdout).toContain('No problems found.');
    },
  );

  it.each([
    ['id,Name\n4711,Ada Byron\n', [], 'Give --crosswalk-match with one of: Name'],
    ['id,Email,Name\n4711,yes,Ada Byron\n', ['--crosswalk-match', 'Telephone'], 'it has id, Email, Name'],
    ['id,A,B\n4711,ada@example.com,b@example.com\n', [], 'Give --crosswalk-match with one of: A, B'],
    ['Age,Shoe size,E-mail\n36,41,ada@example.com\n', [], 'Give --crosswalk-id with one of: Age, Shoe size'],
    ['E-mail,Points\nada@example.com,7\n', [], 'Give --crosswalk-id with one of'],
    ['E-mail,Invoice No.\nada@example.com,7\n', [], 'Give --crosswalk-id with one of'],
    ['E-mail,Order ID\nada@example.com,7\n', [], 'Give --crosswalk-id with one of'],
    ['memberId,E-mail\n4,ada@example.com\n', [], 'Give --crosswalk-id with one of: memberId'],
    ['HubSpot ID,E-mail\n4,ada@example.com\n', [], 'Give --crosswalk-id with one of: HubSpot ID'],
    ['Phone number,E-mail\n4,ada@example.com\n', [], 'Give --crosswalk-id with one of: Phone number'],
    ['id,Store contact id,E-mail\n4,9,ada@example.com\n', [], 'Give --crosswalk-id with one of: id, Store'],
    ['id,Referrer\n4,a@example.com\n', [], 'Give --crosswalk-match with one of: Referrer'],
    ['id,Who\n4,a@example.com\n5,a@example.com\n', [], 'Give --crosswalk-match with one of: Who'],
    ['id,Newsletter,Town\n4711,yes,Ely\n', [], 'it needs a column of e-mail addresses'],
  ] as const)('refuses to guess from the crosswalk %j', async (ids, flags, expected) => {
    await using crm = await folder({ 'crm.csv': CONTACTS, 'ids.csv': ids });
    const { terminal, err } = memoryTerminal();
    const code = await runCommandLine(
      [
        ...['-C', crm.dir, 'init', '--sandbox', '--source', join(crm.dir, 'crm.csv'), '--yes'],
        ...['--mapping', 'hubspot-contacts', '--crosswalk', join(crm.dir, 'ids.csv'), ...flags],
      ],
      terminal,
    );
    expect(err()).toContain(expected);
    expect(code).toBe(2);
    expect(existsSync(join(crm.dir, 'jobs'))).toBe(false);
  });

  it('proposes a mapping of one’s own where no format is known, and plans by it', async () => {
    const list = { 'list.csv': 'Article,Name,Price,Colour of it\nA-1,Mug,9.90,blue\n' };
    await using shop = await folder(list, {});
    const source = ['--sandbox', '--source', join(shop.dir, 'list.csv'), '--yes'];
    const made = await shop.storeferry('init', ...source);
    expect(made.code).toBe(0);
    expect(made.stderr).toMatch(/Price +price +9\.90 +header is English for price/);
    expect(made.stdout).toContain('new        1  first: a-1');
    expect(await readFile(join(shop.dir, 'mappings/my-products.yaml'), 'utf8')).toContain(
      '\n  # colourOfIt: Colour of it\n',
    );
    expect((await shop.storeferry('check')).stdout).toContain('No problems found.');
  });

  it('calls a format possible, not recognised, where a mapping of one’s own knows as many columns', async () => {
    await using shop = await folder({ 'few.csv': 'Handle,Title,Variant Price\na,A,1\n' });
    const made = await shop.storeferry('init', '--sandbox', '--source', join(shop.dir, 'few.csv'), '--yes');
    expect(made.code).toBe(0);
    expect(made.stderr).toContain(
      'A possible mapping is shopify-products (3 of 3 columns).\nProposed mapping',
    );
  });

  it('refuses what a file leaves open, and names the option that answers it', async () => {
    await using shop = await folder({ 'list.csv': 'Name;Preis brutto;Preis netto\nTasse;11,90;10,00\n' });
    const source = ['--sandbox', '--source', join(shop.dir, 'list.csv'), '--yes'];
    const { terminal, err } = memoryTerminal();
    expect(await runCommandLine(['-C', shop.dir, 'init', ...source], terminal)).toBe(2);
    expect(err()).toContain('Which column has the price?');
    expect(err()).toContain("--column 'price=Preis brutto'");
    expect(existsSync(join(shop.dir, 'jobs'))).toBe(false);

    const made = await shop.storeferry('init', ...source, '--column', 'price=Preis brutto');
    expect(made.code).toBe(0);
    expect(await readFile(join(shop.dir, 'mappings/my-products.yaml'), 'utf8')).toContain(
      '\n  price: Preis brutto # your answer\n',
    );
  });
});
