import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/model/input-limits.ts';
import { JOB, problemsOf, VARIABLES, workspace } from './support.ts';

const job = (text: string, variables: Readonly<Record<string, string>> = VARIABLES) =>
  workspace({ 'jobs/nightly.yaml': text }, variables).job('nightly');
const problems = (text: string, variables?: Readonly<Record<string, string>>) =>
  problemsOf(() => job(text, variables)).map((line) => line.replace('jobs/nightly.yaml:', ''));
const CONTACT_JOB = 'import: contacts\nstore: main\nsource: { path: in.csv }\nmapping: people\n';
const CROSSWALK = 'crosswalk: { path: ids.csv, match: email }\n';
const EXPORT_JOB = 'export: orders\nstore: main\ndestination: { path: exports/orders.csv }\n';

describe('an import job', () => {
  it('has defaults', () => {
    expect(job(JOB)).toEqual({
      kind: 'import',
      name: 'nightly',
      import: 'products',
      store: 'main',
      source: { path: 'in.csv', quotes: 'standard' },
      mapping: 'goods',
      params: {},
      mode: 'upsert',
      duplicates: 'reject',
      safety: {
        maxDeletes: { kind: 'percent', percent: 5 },
        maxRejects: { kind: 'percent', percent: 10 },
        maxSkipped: { kind: 'percent', percent: 50 },
        minRows: { kind: 'percent', percent: 80 },
        maxChanges: { kind: 'off' },
        maxCreates: { kind: 'off' },
        maxPriceMoves: { kind: 'percent', percent: 5 },
      },
      html: 'keep',
      limits: DEFAULT_LIMITS,
    });
  });

  it('keeps the other limits when one is named', () => {
    expect(job(`${JOB}safety: { minRows: 0, maxChanges: 12.5 %, maxRejects: off }\n`)).toMatchObject({
      safety: {
        maxDeletes: { kind: 'percent', percent: 5 },
        maxRejects: { kind: 'off' },
        minRows: { kind: 'count', count: 0 },
        maxChanges: { kind: 'percent', percent: 12.5 },
      },
    });
  });

  it.each(['150%', '-1', '5 percent', 'none', '1.5', 'false', '[]'])('refuses the limit %s', (limit) => {
    expect(problems(`${JOB}safety: { maxDeletes: ${limit} }\n`)[0]).toMatch(
      /^5:23 safety.maxDeletes: expected a whole number, a percentage such as 5%, or off, found /,
    );
  });

  it('takes limits, modes and parameters from the environment', () => {
    const text = `${JOB}mode: \${MODE}\nparams: { prefix: "\${PREFIX}" }\nsafety: { maxDeletes: "\${MAX:7}", minRows: "\${MIN:}" }\n`;
    expect(job(text, { MODE: 'mirror', PREFIX: '007' })).toMatchObject({
      mode: 'mirror',
      params: { prefix: '007' },
      safety: { maxDeletes: { kind: 'count', count: 7 }, minRows: { kind: 'percent', percent: 80 } },
    });
    expect(problems(text, { MODE: 'mirorr', PREFIX: '' })).toEqual([
      `5:7 mode: expected upsert, mirror, update or create, found the value of \${MODE}`,
      '6:19 the variable PREFIX is not set; set it in the environment or in .env',
    ]);
  });

  it('names the encoding and the delimiter as everybody does', () => {
    const text = JOB.replace('in.csv', 'exports/*.csv, files: 3, encoding: latin1, delimiter: tab');
    expect(job(text)).toMatchObject({
      source: { path: 'exports/*.csv', files: 3, encoding: 'windows-1252', delimiter: '\t' },
    });
    expect(problems(JOB.replace('in.csv', 'in.csv, encoding: utf-9, delimiter: ":"'))).toEqual([
      "3:35 source.encoding: expected an encoding such as utf-8, utf-16le, windows-1252 or shift_jis, found 'utf-9'",
      "3:53 source.delimiter: expected comma, semicolon, tab or pipe, by name or as the character, found ':'",
    ]);
  });

  it.each([
    ['sqlite: shop.db, query: SELECT 1', 'delimiter: tab', 'sqlite'],
    ['sqlite: shop.db, query: SELECT 1', 'headerRow: 2', 'sqlite'],
    ['custom: rows', 'quotes: none', 'custom'],
  ])('refuses with %s what is about files: %s', (place, option, kind) => {
    const text = JOB.replace('path: in.csv', place);
    const [key] = option.split(':');
    expect(problems(text)).toEqual([]);
    expect(problems(text.replace(place, `${place}, ${option}`))).toEqual([
      expect.stringMatching(
        `^3:\\d+ source.${key}: .${key}. is about files, and ${kind} has rows: leave it out`,
      ),
    ]);
  });

  it('stays inside the workspace unless an absolute path says otherwise', () => {
    expect(problems(JOB.replace('in.csv', '../other/in.csv'))).toEqual([
      "3:17 source.path: expected a path inside the workspace (outside it, give the absolute path), found '../other/in.csv'",
    ]);
    expect(job(JOB.replace('in.csv', '/data/in.csv'))).toMatchObject({ source: { path: '/data/in.csv' } });
    expect(job(JOB.replace('in.csv', 'a/../in.csv'))).toMatchObject({ source: { path: 'a/../in.csv' } });
  });

  it('refuses what the API cannot do', () => {
    expect(problems(`${CONTACT_JOB}${CROSSWALK}mode: mirror\n`)).toEqual([
      '6:7 mode: mirror is for products only: the API deletes no contacts; use upsert',
    ]);
    expect(problems(`${JOB}duplicates: merge\n${CROSSWALK}`)).toEqual([
      '5:13 duplicates: merge is for contacts only; use reject, first or last',
      '6:12 crosswalk: a crosswalk is for contacts only, because products are identified by url; remove it',
    ]);
  });

  it('updates and keeps fields of products only, each where it makes sense', () => {
    expect(job(`${JOB}keep: [variants.quantity, variants.price]\n`)).toMatchObject({
      keep: ['variants.quantity', 'variants.price'],
    });
    expect(problems(`${CONTACT_JOB}${CROSSWALK}mode: update\n`)).toEqual([
      '6:7 mode: update is for products only; contacts have only upsert',
    ]);
    expect(problems(`${JOB}mode: update\nkeep: [title]\n`)).toEqual([
      '6:7 keep: keep goes with mode: upsert or mirror; leave the field out of the mapping',
    ]);
    expect(problems(`${JOB}match: sku\n`)).toEqual([
      '5:8 match: match goes with mode: update; remove it, or set the mode',
    ]);
    expect(problems(`${JOB}keep: [variants.quantitty]\n`)[0]).toContain("did you mean 'variants.quantity'?");
  });

  it('goes with a mapping that gives what its mode needs', () => {
    const stock = 'import: products\ncolumns: { s: SKU, q: Qty }\nvariants: { sku: s, quantity: q }\n';
    const found = (text: string, mapping: string) =>
      problemsOf(() =>
        workspace({ 'jobs/nightly.yaml': text, 'mappings/goods.yaml': mapping }).job('nightly'),
      ).map((line) => line.replace('jobs/nightly.yaml:', ''));
    expect(found(`${JOB}mode: update\nmatch: sku\n`, stock)).toEqual([]);
    expect(found(JOB, stock)).toEqual([
      "4:10 the mapping 'goods' has no product.url, product.title, variants.pricing: mode upsert needs it; only mode: update changes single fields",
    ]);
    expect(found(`${JOB}mode: update\n`, stock)).toEqual([
      "5:7 the mapping 'goods' has no product.url, by which match: url finds products",
    ]);
    const grouped = `${stock}group: { by: s, rows: adjacent }\n`;
    expect(found(`${JOB}mode: update\nmatch: sku\n`, grouped)).toEqual([
      "6:8 the mapping 'goods' groups rows, and match: sku takes each row by itself: remove group, or match by url",
    ]);
  });

  it('finds the ids of contacts by a crosswalk and a field that the mapping gives', () => {
    expect(job(`${CONTACT_JOB}${CROSSWALK}`)).toMatchObject({
      crosswalk: { path: 'ids.csv', match: 'email', id: 'id' },
    });
    expect(problems(CONTACT_JOB)).toEqual([
      "1:1 contacts are updated by id, and the mapping 'people' does not map the id; add a crosswalk",
    ]);
    expect(problems(`${CONTACT_JOB}crosswalk: { path: ids.csv, match: phone }\n`)).toEqual([
      "5:36 the mapping 'people' does not fill the field 'phone' to match by (known: email, name); if the crosswalk's column and the field have different names, add field: email to the crosswalk",
    ]);
  });

  it('goes with a mapping of the same kind', () => {
    expect(problems(JOB.replace('goods', 'people'))).toEqual([
      "4:10 the mapping 'people' produces contacts, but the job imports products",
    ]);
  });

  it('names stores, mappings and parameters that there are', () => {
    const text = `${JOB.replace('main', 'mian').replace('goods', 'good')}mode: mirorr\n`;
    expect(problems(text)).toEqual([
      "5:7 mode: expected upsert, mirror, update or create, found 'mirorr'; did you mean 'mirror'?",
      "2:8 stores.yaml has no store 'mian'; did you mean 'main'? (known: main)",
      "4:10 there is no mapping 'good'; did you mean 'goods'? (known: goods, people)",
    ]);
    expect(problems(`${JOB}params: { perfix: a }\n`)).toEqual([
      "5:11 the mapping 'goods' has no parameter 'perfix'; did you mean 'prefix'? (known: prefix)",
    ]);
  });

  it('sets no parameter to an address with a password, which the store would show', () => {
    expect(problems(`${JOB}params: { prefix: "https://shop:hidden-word@images.example/" }\n`)).toEqual([
      "5:19 params.prefix: expected an address without user and password: the store shows it, found 'https://…@images.example/'",
    ]);
  });

  it('sets the parameters that a mapping cannot do without', () => {
    const mapping = `import: products
columns: { id: Id, price: Price }
params: { shop: { description: The name of the shop } }
product: { url: "{shop}-{id}", title: id }
variants: { pricing: { price: price } }
`;
    const open = (text: string) => workspace({ 'jobs/nightly.yaml': text, 'mappings/goods.yaml': mapping });
    expect(problemsOf(() => open(JOB).job('nightly'))).toEqual([
      "jobs/nightly.yaml:1:1 the mapping 'goods' needs the parameter 'shop'; set it under params",
    ]);
    expect(open(`${JOB}params: { shop: a }\n`).job('nightly')).toMatchObject({ params: { shop: 'a' } });
  });

  it.each([
    ['15 2 * *', 'it has 4 fields'],
    ['x', 'it has 1 field'],
    ['', 'it has 0 fields'],
    ['0 0 31 2 *', 'Invalid explicit day of month definition'],
    ['61 * * * *', 'Constraint error, got value 61 expected range 0-59'],
  ])('refuses the cron expression %j', (cron, why) => {
    expect(problems(`${JOB}schedule: { cron: "${cron}" }\n`)).toEqual([
      `5:19 schedule.cron: expected five cron fields (minute hour day month weekday), or six with seconds first (${why}), found '${cron}'`,
    ]);
  });

  it('runs at a time of day somewhere', () => {
    expect(job(`${JOB}schedule: { cron: "*/5 * * * * *" }\n`)).toMatchObject({
      schedule: { timezone: 'UTC' },
    });
    expect(problems(`${JOB}schedule: { cron: "15 2 * * *", timezone: Europe/Lodnon }\n`)).toEqual([
      "5:43 schedule.timezone: expected the name of a time zone, such as Europe/London or UTC, found 'Europe/Lodnon'; did you mean 'Europe/London'?",
    ]);
    expect(problems(`${JOB}schedule: { cron: "15 2 * * *", timezone: "+02:00" }\n`)).toHaveLength(1);
  });

  it('sends nothing when the address is empty', () => {
    const notify = `notify: { url: "\${OPS_WEBHOOK:}", on: [failed] }\n`;
    expect(job(JOB + notify)).not.toHaveProperty('notify');
    expect(job(JOB + notify, { ...VARIABLES, OPS_WEBHOOK: 'https://hooks.example/x' })).toMatchObject({
      notify: [{ kind: 'url', address: 'https://hooks.example/x', on: ['failed'], when: 'always' }],
    });
    expect(problems(`${JOB}notify: { url: "\${OPS_WEBHOOK:}", on: [fialed] }\n`)).toEqual([
      "5:40 notify.on.0: expected failed, stopped, rejects, held, edited, drift, missed, done or weekly, found 'fialed'; did you mean 'failed'?",
    ]);
  });

  it('notifies a list of recipients, and refuses what has no address or more than one', () => {
    const mail = `email: [a@b.example], server: "\${SMTP_URL}", from: sf@b.example`;
    const variables = { ...VARIABLES, SMTP_URL: 'smtps://u:p@mail.example', HOOK_KEY: 'k' };
    const list = `notify:\n  - { ${mail}, when: change }\n  - { url: https://x.example/, secret: "\${HOOK_KEY}" }\n`;
    expect(job(JOB + list, variables)).toMatchObject({
      notify: [
        { kind: 'email', address: ['a@b.example'], server: 'smtps://u:p@mail.example', when: 'change' },
        { kind: 'url', address: 'https://x.example/', secret: 'k' },
      ],
    });
    expect(problems(`${JOB}notify: { on: [done] }\n`).join()).toContain(
      'expected one of url, slack, teams, email',
    );
    const both = `notify: { url: https://x.example/, slack: https://y.example/ }\n`;
    expect(problems(JOB + both).join()).toMatch(/email, not url and slack together, found a map/);
    expect(problems(`${JOB}notify: { email: a@b.example, from: c@d.example }\n`).join()).toContain(
      'needs `server`',
    );
    expect(problems(`${JOB}notify: { url: https://x.example/, secret: plain }\n`).join()).toMatch(/secret/);
  });
});

describe('an export job', () => {
  it('has defaults', () => {
    expect(job(EXPORT_JOB)).toEqual({
      kind: 'export',
      name: 'nightly',
      export: 'orders',
      store: 'main',
      destination: { path: 'exports/orders.csv', mode: 'replace', format: 'csv' },
    });
  });

  it('is recognised by what it names', () => {
    expect(problems(`${EXPORT_JOB}mapping: goods\n`)[0]).toContain("4:1 unknown key 'mapping'");
    expect(problems(EXPORT_JOB.replace('export:', 'exports:')).join()).toContain("did you mean 'export'?");
    expect(problems(EXPORT_JOB.replace('orders', 'order'))).toEqual([
      "1:9 export: expected subscriber-lists or orders, found 'order'; did you mean 'orders'?",
    ]);
  });
});

describe('a mask of an export', () => {
  const columns =
    'columns: [id, { path: customer.email, as: Mail }, items.0.sku, { path: created_iso, as: Date }]\n';
  it.each([
    ['Mail', "'Mail' is the name of a column: write the path of its field, 'customer.email'"],
    ['Date', "'Date' is the name of a column: write the path of its field, 'created'"],
    ['created_iso', "no column has 'created_iso', so nothing would be masked; did you mean 'created'?"],
    [
      'customer.emial',
      "no column has 'customer.emial', so nothing would be masked; did you mean 'customer.email'?",
    ],
    [
      'Customer.Email',
      "no column has 'Customer.Email', so nothing would be masked; did you mean 'customer.email'?",
    ],
    ['items.1.sku', "no column has 'items.1.sku', so nothing would be masked; did you mean 'items.0.sku'?"],
  ])('that names no field of a column is refused: %s', (name, message) => {
    expect(problems(`${EXPORT_JOB}${columns}mask: { ${name}: redact }\n`).join()).toContain(message);
  });

  it.each(['customer', 'customer.email', 'customer.email.domain', 'items.sku', 'items.0', 'created'])(
    'that has a part of a column is allowed: %s',
    (name) => {
      expect(problems(`${EXPORT_JOB}${columns}mask: { ${name}: redact }\n`)).toEqual([]);
    },
  );

  it.each(['shipping.phone', 'billing.email', 'note', 'customer.email2', 'customer.mail'])(
    'that names a field of no column masks none: %s',
    (name) => {
      expect(problems(`${EXPORT_JOB}${columns}mask: { ${name}: redact }\n`)).toEqual([]);
    },
  );

  it('may name any field where all columns are written', () => {
    expect(problems(`${EXPORT_JOB}mask: { customerEmail: redact }\n`)).toEqual([]);
  });
});

describe('a job file', () => {
  it.each([
    ['', ['1:1 the file is empty; expected a map']],
    ['# nothing\n', ['1:1 the file is empty; expected a map']],
    ['just text\n', ['1:1 expected a map, found something else']],
    ['import: products\nimport: products\n', ['2:1 this key occurs twice; keep one']],
  ])('like %j is refused', (text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  it('with an unreadable placeholder is refused', () => {
    expect(problems(JOB.replace('in.csv', `"\${IN-FILE}"`))).toEqual([
      `3:17 source.path: a placeholder that cannot be read; write \${NAME} or \${NAME:default}, and $\${ for a plain \${`,
    ]);
  });
});
