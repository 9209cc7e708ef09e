import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkWorkspace, watchedJobs } from '../../src/config/workspace.ts';
import { type ConfigurationProblem, formatPlace } from '../../src/model/storeferry-error.ts';
import { JOB, STORES, VARIABLES, workspace } from './support.ts';

const lines = (problems: readonly ConfigurationProblem[]) =>
  problems.map(({ place, message }) => `${formatPlace(place)} ${message}`);

describe('the check of a workspace', () => {
  it('finds nothing in a valid one, and gives what it read', () => {
    const check = checkWorkspace(workspace());
    expect(check).toMatchObject({ problems: [], warnings: [], unset: [] });
    expect(check.stores.map(({ name }) => name)).toEqual(['main']);
    expect(check.jobs.map(({ name }) => name)).toEqual(['nightly']);
    expect(check.mappings.map(({ name }) => name)).toEqual(['goods', 'people']);
  });

  it('warns of variables that are not set, and judges the rest', () => {
    const job = `${JOB.replace('in.csv', `"\${FOLDER}/in.csv"`)}mode: \${MODE}\nnotify: { url: "\${HOOK}", on: [nobody] }\n`;
    const check = checkWorkspace(workspace({ 'jobs/nightly.yaml': job }, {}));
    expect(lines(check.problems)).toEqual([
      "jobs/nightly.yaml:6:32 notify.on.0: expected failed, stopped, rejects, held, edited, drift, missed, done or weekly, found 'nobody'",
    ]);
    expect(check.unset).toEqual(['FOLDER', 'HOOK', 'MODE', 'STORE_API_KEY', 'STORE_URL']);
    expect(lines(check.warnings)).toContain(
      'stores.yaml:2:12 the variable STORE_URL is not set; set it in the environment or in .env',
    );
  });

  it.each([
    `notify: { url: "\${NOPE}" }`,
    `notify: [{ slack: "\${NOPE}", on: [failed] }]`,
    `notify: { email: ops@shop.example, server: "\${NOPE}", from: ops@shop.example }`,
  ])('only warns where a variable that is not set is the whole address: %s', (line) => {
    const check = checkWorkspace(workspace({ 'jobs/nightly.yaml': `${JOB}${line}\n` }));
    expect(lines(check.problems)).toEqual([]);
    expect(check.unset).toEqual(['NOPE']);
  });

  it.each(['url', 's3'])('only warns where the address of a source is not set: %s', (kind) => {
    const job = JOB.replace(/path: [^ }]*/, `${kind}: "\${NOPE}"`);
    const check = checkWorkspace(workspace({ 'jobs/nightly.yaml': job }));
    expect(job).toContain('NOPE');
    expect(lines(check.problems)).toEqual([]);
    expect(check.unset).toContain('NOPE');
  });

  it('warns of variables in .env that the environment overrides, without their values', () => {
    const dotEnv = 'STORE_URL=https://secret.example\nSTORE_API_KEY=secret-key\nSAME=1\nALONE=2\nOFF=3\n';
    const check = checkWorkspace(workspace({ '.env': dotEnv }, { ...VARIABLES, SAME: '1', OFF: '' }));
    const warnings = lines(check.warnings).filter((line) => line.includes('has another value'));
    expect(warnings.map((line) => line.split(' ').slice(0, 2))).toEqual([
      ['.env', 'OFF'],
      ['.env', 'STORE_API_KEY'],
      ['.env', 'STORE_URL'],
    ]);
    expect(warnings.join()).not.toContain('secret');
  });

  it('does not judge what an unset variable is yet to say', () => {
    const job = JOB.replace('store: main', `store: \${STORE}`).replace('goods', `\${MAPPING}`);
    const check = checkWorkspace(workspace({ 'jobs/nightly.yaml': job }));
    expect(check.problems).toEqual([]);
    expect(check.unset).toEqual(['MAPPING', 'STORE']);
  });

  const namesOf = (second: string, first = '') =>
    checkWorkspace(
      workspace({
        'stores.yaml': `main: { baseUrl: https://shop.example, apiKey: "\${STORE_API_KEY}"${first} }
second: { baseUrl: ${second}, apiKey: "\${STORE_API_KEY}" }\n`,
      }),
    );

  it.each(['https://SHOP.example:443/', 'https://shop.example.', 'https://shop.example:443'])(
    'warns of two names of one store: %s',
    (baseUrl) => {
      const [warning, ...others] = lines(namesOf(baseUrl).warnings);
      expect(warning).toMatch(/^stores\.yaml:2:1 second is the same store as main/);
      expect(others).toEqual([]);
    },
  );

  it('warns where only one of two names at one address has an id', () => {
    const check = namesOf('https://shop.example', ', id: shop');
    expect(lines(check.warnings)).toEqual([expect.stringMatching(/only one of them has an id/)]);
  });

  it.each(['https://shop.example, id: shop', 'https://shop.example, id: outlet', 'https://shop.example/b'])(
    'says nothing of two stores that have different addresses, or one id: %s',
    (second) => {
      const first = second.includes('id:') ? ', id: shop' : '';
      expect(namesOf(second, first).warnings).toEqual([]);
    },
  );

  it('collects the problems of all files', () => {
    const check = checkWorkspace(
      workspace(
        {
          'stores.yaml': `${STORES}"a b": {}\nother: { baseUrl: x }\n`,
          'jobs/a.yaml': 'import: products\n',
          'jobs/b.yaml': 'a: 1\na: 2\n',
          'mappings/c.yaml': '',
        },
        { ...VARIABLES, LOG_LEVEL: 'loud' },
      ),
    );
    expect(lines(check.problems).map((line) => line.split(' ')[0])).toEqual([
      'environment',
      'stores.yaml:4:1',
      'stores.yaml:5:19',
      'stores.yaml:5:8',
      'jobs/a.yaml:1:1',
      'jobs/a.yaml:1:1',
      'jobs/a.yaml:1:1',
      'jobs/b.yaml:2:1',
      'mappings/c.yaml:1:1',
    ]);
    expect(check.stores.map(({ name }) => name)).toEqual(['main']);
    expect(check.jobs.map(({ name }) => name)).toEqual(['nightly']);
  });

  it('warns of two jobs that send the same fields of contacts', () => {
    const crm = JOB.replace('products', 'contacts').replace('goods', 'people').concat('crosswalk: store\n');
    const opened = workspace({
      'stores.yaml': `${STORES}other: { baseUrl: "https://other.example", apiKey: "\${STORE_API_KEY}" }\n`,
      'mappings/news.yaml':
        'import: contacts\ncolumns: { mail: E-mail, ok: OK }\ncontact: { email: mail, subscribed: ok }\n',
      'jobs/a.yaml': crm,
      'jobs/b.yaml': crm,
      'jobs/c.yaml': crm.replace('main', 'other'),
      'jobs/d.yaml': crm.replace('people', 'news'),
      'jobs/e.yaml': crm,
      'jobs/f.yaml': crm.replace('people', 'news'),
    });
    const { problems, warnings } = checkWorkspace(opened);
    expect([lines(problems), lines(warnings)]).toEqual([
      [],
      [
        'jobs/a.yaml it sends name, and so do the jobs b, e for the same store: of a contact whom several have each undoes what another sent. Let only one of them have it in its mapping',
        'jobs/b.yaml it sends name, and so does the job e for the same store: of a contact whom several have each undoes what another sent. Let only one of them have it in its mapping',
        'jobs/d.yaml it sends subscribed, and so does the job f for the same store: of a contact whom several have each undoes what another sent, consent too. Let only one of them have it in its mapping',
      ],
    ]);
  });

  it('refuses exports of two stores to one file or table', () => {
    const job = (store: string, destination: string, what = 'orders') =>
      `export: ${what}\nstore: ${store}\ndestination: { ${destination} }\n`;
    const others = ['other', 'https://other.example', 'alias', `\${STORE_URL}`];
    const entry = (at: number) =>
      `${others[at]}: { baseUrl: "${others[at + 1]}", apiKey: "\${STORE_API_KEY}" }\n`;
    const opened = workspace(
      {
        'stores.yaml': `${STORES}${entry(0)}${entry(2)}`,
        'jobs/a.yaml': job('main', 'sqlite: w.db, table: orders'),
        'jobs/b.yaml': job('other', 'sqlite: ./w.db, table: Orders'),
        'jobs/c.yaml': job('main', 'path: lists.csv, mode: append', 'subscriber-lists'),
        'jobs/d.yaml': job('other', 'path: lists.csv, mode: append', 'subscriber-lists'),
        // The same store twice, and another table.
        'jobs/e.yaml': job('alias', 'sqlite: w2.db, table: orders'),
        'jobs/f.yaml': job('main', 'sqlite: w2.db, table: orders'),
        'jobs/g.yaml': job('other', 'sqlite: w2.db, table: orders_other'),
        // Each run has a file of its own.
        'jobs/h.yaml': job('main', 'path: "o-{run}.csv", mode: new'),
        'jobs/i.yaml': job('other', 'path: "o-{run}.csv", mode: new'),
        'jobs/j.yaml': job('main', 'path: "n-{number}.csv", mode: new'),
        'jobs/k.yaml': job('other', 'path: "other/n-{number}.csv", mode: new'),
        // Databases and tables of their own.
        'jobs/l.yaml': job('main', `postgres: "\${DB}", table: orders`),
        'jobs/m.yaml': job('other', `postgres: "\${DB}", table: Orders`),
        'jobs/n.yaml': job('other', `postgres: "\${DB_B}", table: orders`),
        'jobs/o.yaml': job('other', `postgres: "\${DB_C}", table: orders`),
        'jobs/p.yaml': job('main', `mysql: "\${UNSET_A}", table: orders`),
        'jobs/q.yaml': job('other', `mysql: "\${UNSET_B}", table: orders`),
      },
      {
        ...VARIABLES,
        DB: 'postgres://a:x@db.example/shop',
        DB_B: 'postgres://b:x@db.example/shop',
        DB_C: 'postgres://a:y@db.example/shop?options=-csearch_path%3Dc',
      },
    );
    writeFileSync(opened.path('jobs/r.yaml'), job('main', 'path: all.csv'));
    writeFileSync(opened.path('jobs/s.yaml'), job('other', `path: ${opened.path('all.csv')}`));
    const message = (other: string) =>
      `the job ${other} exports another store to the same place: the two would be mixed, or replace each other; name another file or table`;
    expect(lines(checkWorkspace(opened).problems)).toEqual([
      `jobs/a.yaml:3:14 ${message('b')}`,
      `jobs/b.yaml:3:14 ${message('a')}`,
      `jobs/c.yaml:3:14 ${message('d')}`,
      `jobs/d.yaml:3:14 ${message('c')}`,
      `jobs/r.yaml:3:14 ${message('s')}`,
      `jobs/s.yaml:3:14 ${message('r')}`,
    ]);
  });

  it('refuses two jobs, and two stores of a job, that watch one folder', () => {
    const watching = (store: string, watch: string) =>
      JOB.replace('store: main', store).replace('path: in.csv', `watch: ${watch}`);
    const stores = `${STORES}other:\n  baseUrl: https://other.example\n  apiKey: \${STORE_API_KEY}\n`;
    const each = (store: string) => `{ store: ${store}, source: { watch: drop/${store}/*.csv } }`;
    const opened = workspace({
      'stores.yaml': stores,
      'jobs/both.yaml': watching('stores: [main, other]', 'in/*.csv'),
      'jobs/each.yaml': watching(`stores: [${each('main')}, ${each('other')}]`, 'unused/*.csv'),
      'jobs/prices.yaml': watching('store: main', 'inbox/prices-*.csv'),
      'jobs/stock.yaml': watching('store: main', 'inbox/stock-*.csv'),
    });
    expect(lines(checkWorkspace(opened).problems)).toEqual([
      'jobs/both.yaml:3:18 each file would reach only one of the stores that watch in; write in `stores` a folder for each: { store: NAME, source: { watch: in/NAME/*.csv } }',
      'jobs/prices.yaml:3:18 the job stock watches inbox too, and each file is for one job; give each a folder of its own, such as inbox/prices/prices-*.csv',
      'jobs/stock.yaml:3:18 the job prices watches inbox too, and each file is for one job; give each a folder of its own, such as inbox/stock/stock-*.csv',
    ]);
    expect(watchedJobs(opened)).toEqual([
      { job: 'each@main', pattern: 'drop/main/*.csv' },
      { job: 'each@other', pattern: 'drop/other/*.csv' },
    ]);
  });

  it('refuses an inbox in a folder to which another job moves its files', () => {
    const watching = (watch: string) => JOB.replace('path: in.csv', `watch: ${watch}`);
    const opened = workspace({
      'stores.yaml': STORES,
      'jobs/a.yaml': watching('inbox/*.csv'),
      'jobs/b.yaml': watching('inbox/failed/*.csv'),
      'jobs/c.yaml': watching('inbox/processing/of-c/*.csv'),
      'jobs/d.yaml': watching('inbox/prices/*.csv'),
      'jobs/e.yaml': watching('inbox/failed-orders/*.csv'),
    });
    expect(lines(checkWorkspace(opened).problems)).toEqual([
      'jobs/b.yaml:3:18 the job a moves the files of its own inbox to this folder; watch another one',
      'jobs/c.yaml:3:18 the job a moves the files of its own inbox to this folder; watch another one',
    ]);
  });

  it('warns of what is probably a mistake', () => {
    const check = checkWorkspace(
      workspace(
        {
          'jobs/nightly.yaml': JOB.replace('in.csv', 'gone.csv'),
          'jobs/adopting.yaml': `${JOB}adopt: { path: store.csv, mapping: shopify-products }\n`,
          'jobs/glob.yaml': JOB.replace('in.csv', 'exports/*.csv'),
          'jobs/old.yml': JOB,
          'mappings/my goods.yaml': '',
        },
        { ...VARIABLES, STORE_URL: 'http://shop.example' },
      ),
    );
    expect(check.problems).toEqual([]);
    expect(lines(check.warnings)).toEqual([
      'stores.yaml:2:12 main.baseUrl: http sends the API key unencrypted; use https',
      'jobs/adopting.yaml:5:16 adopt.path: this file does not exist (yet)',
      'jobs/nightly.yaml:3:17 source.path: this file does not exist (yet)',
      'jobs/old.yml the file is not read: its name must end in .yaml',
      'mappings/my goods.yaml the file is not read: its name may contain only letters, digits, dots, - and _',
    ]);
  });

  it('warns of a job whose whole products take away what an update sends', () => {
    const catalog = `columns: { sku: SKU, p: Price }\nimport: products\nproduct: { url: sku, title: sku }\nvariants: { sku: sku, pricing: { price: p } }\n`;
    const stock = `columns: { sku: SKU, q: Qty, w: W }\nimport: products\nvariants: { sku: sku, quantity: [q, integer], weight: { value: w, unit: kg } }\n`;
    const warnings = (more = '') =>
      lines(
        checkWorkspace(
          workspace({
            'mappings/goods.yaml': catalog,
            'mappings/stock.yaml': stock,
            'jobs/nightly.yaml': `${JOB}${more}`,
            'jobs/stock.yaml': `${JOB.replace('mapping: goods', 'mapping: stock')}mode: update\nmatch: sku\n`,
          }),
        ).warnings,
      ).filter((line) => line.includes('keep: ['));
    expect(warnings()).toEqual([
      'jobs/stock.yaml it sends variants.quantity, variants.weight, and the job nightly sends whole products without: each of its runs takes away what this job sent. Add to jobs/nightly.yaml: keep: [variants.quantity, variants.weight]',
    ]);
    expect(warnings('keep: [variants.quantity]\n').join()).toContain('it sends variants.weight, and');
    expect(warnings('keep: [variants.quantity, variants.weight]\n')).toEqual([]);
    expect(warnings('mode: create\n')).toEqual([]);
  });

  it('warns of exports whose name says another format than they have', () => {
    const exporting = (destination: string) => `export: orders\nstore: main\ndestination: ${destination}\n`;
    const check = checkWorkspace(
      workspace({
        'jobs/book.yaml': exporting('{ path: out/orders.xlsx }'),
        'jobs/date.yaml': exporting('{ path: "out/orders-{date}.XLS", format: xlsx }'),
        'jobs/lines.yaml': exporting('{ path: out/orders.json, format: jsonl }'),
        'jobs/table.yaml': exporting('{ sqlite: shop.json, table: orders }'),
        'jobs/text.yaml': exporting('{ path: out/orders.txt }'),
        'jobs/well.yaml': exporting('{ path: out/orders.csv, format: excel-csv }'),
      }),
    );
    expect(check.problems).toEqual([]);
    expect(lines(check.warnings)).toEqual([
      'jobs/book.yaml:3:22 destination.path: the name ends in .xlsx, but the format is csv, so that programs cannot open the file: set format: xlsx, or change the name',
      'jobs/date.yaml:3:22 destination.path: the name ends in .xls, but the format is xlsx, so that programs cannot open the file: change the name',
    ]);
  });

  it('finds a store on this machine safe without https', () => {
    for (const url of ['http://localhost:1', 'http://127.0.0.1:1', 'http://[::1]:1']) {
      expect(checkWorkspace(workspace({}, { ...VARIABLES, STORE_URL: url })).warnings).toEqual([]);
    }
  });
});
