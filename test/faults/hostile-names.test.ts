import { it } from 'vitest';
import { catalogWorkspace } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { startStore } from '../support/store.ts';
import { SCALE } from './scale.ts';
import { watchedCommand } from './watched-command.ts';

/** Headers that are names of the language, that repeat, and that are none. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '__defineGetter__',
  'then',
];
const REPEATED = ['Twice', 'Twice'];
const EMPTY = ['', ''];
const CONTACTS = [1, 2, 3];

const MAPPING = `
import: contacts
columns: { id: id, name: name }
contact: { id: id, name: name, properties: { rest: true } }
`;
/** The same names in a products file: as a column that is mapped, as a handle, as an option. */
const PRODUCTS_MAPPING = `
import: products
columns: { url: url, title: constructor, price: __proto__ }
product: { url: url, title: title }
variants: { pricing: { price: price } }
`;

it.concurrent('headers, keys and names are data, whatever the language makes of them', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  await using store = await startStore({ seed: 1, contacts: CONTACTS });
  const header = ['id', 'name', ...NAMES];
  const rows = CONTACTS.map((id) => [id, `Ann ${id}`, ...NAMES.map((name) => `cell of ${name}`)].join(','));
  const files = {
    ...catalogWorkspace(store.baseUrl, ''),
    'mappings/people.yaml': MAPPING,
    'mappings/things.yaml': PRODUCTS_MAPPING,
    'people.csv': [header.join(','), ...rows, ''].join('\n'),
    'things.csv': [
      ['url', 'constructor', '__proto__', ...REPEATED, ...EMPTY].join(','),
      ...NAMES.map((name) => `${name},About ${name},9.50,a,b,c,d`),
      '',
    ].join('\n'),
  };
  const job = (imports: string, source: string, mapping: string) =>
    `import: ${imports}\nstore: main\nsource: { path: ${source} }\nmapping: ${mapping}\n`;
  const run = (name: string, job: string) =>
    watchedCommand(
      { ...files, 'jobs/hostile.yaml': job },
      { STORE_API_KEY: store.apiKey },
      async () => {},
      'run',
      name,
      '--json',
    );
  const people = await run('hostile', job('contacts', 'people.csv', 'people'));
  const things = await run('hostile', job('products', 'things.csv', 'things'));

  const propertiesLost = CONTACTS.flatMap((id) => {
    const properties = new Map(
      (store.shop.contacts.get(id)?.properties ?? []).map(({ name, value }) => [name, value]),
    );
    return NAMES.filter((name) => properties.get(name) !== `cell of ${name}`);
  });
  const productsLost = NAMES.filter((name) => {
    const product = store.shop.byUrl(name);
    return product?.title !== `About ${name}` || product.variants?.[0]?.price !== 9.5;
  });
  figure(context, {
    invariant: 23,
    seed: null,
    fired: {
      'headers that are names of the language': NAMES.length + 2,
      'repeated headers': 2,
      'empty headers': 2,
    },
    measured: [
      none('prototypes polluted', people.watched.polluted.length + things.watched.polluted.length),
      none('columns lost', propertiesLost.length),
      none('products lost', productsLost.length),
    ],
  });
});
