import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { schemaFor } from '../../src/config/workspace.ts';
import type { TransformExample } from '../../src/mapping/transforms/define-transform.ts';
import { TRANSFORMS } from '../../src/mapping/transforms/transforms.ts';
import { makeWorkspace } from '../support/workspace.ts';
import {
  EXAMPLES_FILE,
  FIELDS_FILE,
  readDocument,
  withColumnFields,
  withTransformExamples,
} from './reference.ts';

const EXAMPLES = TRANSFORMS.flatMap(({ examples }) => examples);

it('docs/mappings.md shows the examples of all transforms (npm run docs)', () => {
  const document = readDocument(EXAMPLES_FILE);
  expect(document).toBe(withTransformExamples(document));
});

it('docs/mappings.md lists the fields that a column can fill (npm run docs)', () => {
  const document = readDocument(FIELDS_FILE);
  expect(document).toBe(withColumnFields(document));
});

it('the examples of the transforms pass as tests of mappings', async () => {
  const files = EXAMPLES.map((example, index) => [`mappings/example-${index + 1}.yaml`, mappingOf(example)]);
  await using workspace = await makeWorkspace({
    ...Object.fromEntries(files),
    'colours.csv': 'id,name\n17,Teal\n',
    'rates.csv': 'from,to,rate\n',
    'storeferry.config.ts': 'export default { transforms: { ourSku: (text: string) => "our " + text } };',
    'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY}" }\n`,
  });
  const { stdout, stderr } = await workspace.storeferry('check');
  expect(stdout.match(/^error.*/gm) ?? []).toEqual([]);
  const dates = EXAMPLES.filter(({ gives }) => isDate(gives)).length;
  expect(stdout + stderr).toContain(`${EXAMPLES.length + dates} mapping tests passed`);
});

it('every transform, as a word and as a map, and every option of one has an example', () => {
  const steps = EXAMPLES.flatMap(({ steps }) => z.array(z.unknown()).parse(parse(`[${steps}]`)));
  const used = steps.flatMap((step) =>
    typeof step === 'object' && step !== null ? Object.keys(step).map((name) => `${name}:`) : [step],
  );
  expect([...new Set(used)].toSorted()).toEqual(stepWords().toSorted());
});

/** The lookups of the steps that need one. */
const LOOKUPS = [
  {
    step: 'table:',
    place: { colours: { path: 'colours.csv', match: 'id' } },
    rows: { colours: [{ id: '17', name: 'Teal' }] },
  },
  {
    step: 'convert:',
    place: { rates: { path: 'rates.csv', match: 'from' } },
    rows: {
      rates: [
        { from: 'USD', to: 'EUR', rate: 0.9221 },
        { from: 'USD', to: 'JPY', rate: 153.01 },
      ],
    },
  },
];

function lookupsOf(steps: string, part: 'place' | 'rows'): object {
  return Object.assign({}, ...LOOKUPS.filter(({ step }) => steps.includes(step)).map((one) => one[part]));
}

/** The mapping of an example, with the example as its test. Lists are seen in tags, all else as text in a property. */
function mappingOf({ cell, steps, gives }: TransformExample): string {
  const value = z.array(z.unknown()).parse(parse(`[cell, ${steps}]`));
  if (/\bdate\b/.test(steps)) return datedMapping(cell, value, gives);
  const list = Array.isArray(gives);
  const result = { properties: { fields: { Result: value } } };
  return JSON.stringify({
    import: 'contacts',
    columns: { id: 'Id', name: 'Name', cell: 'Cell' },
    lookups: lookupsOf(steps, 'place'),
    contact: { id: 'id', name: 'name', ...(list ? { tags: value } : result) },
    tests: [
      {
        name: `${cell} through ${steps}`,
        rows: [
          ['Id', 'Name', 'Cell'],
          ['7', 'Ada', cell],
        ],
        lookups: lookupsOf(steps, 'rows'),
        expect: [expectation(gives)],
      },
    ],
  });
}

/** Dates stand nowhere but in the time of a sale, which begins at that moment and not a second before. */
function datedMapping(cell: string, value: readonly unknown[], gives: TransformExample['gives']): string {
  const rows = [
    ['Code', 'Name', 'Price', 'Cell'],
    ['a', 'Mug', '9', cell],
  ];
  const at = (time: number, price: 5 | 9) => ({
    name: `${cell} at ${time}`,
    now: new Date(time).toISOString(),
    rows,
    expect: [{ includes: { variants: [sold(price)] } }],
  });
  const moment = isDate(gives) ? Date.parse(gives.moment) : undefined;
  return JSON.stringify({
    import: 'products',
    columns: { code: 'Code', name: 'Name', price: 'Price', cell: 'Cell' },
    product: { url: 'code', title: 'name' },
    variants: { pricing: { regular: 'price', sale: ['price', { max: 5 }], from: value } },
    tests:
      moment === undefined
        ? [{ name: cell, rows, expect: [expectation(gives)] }]
        : [at(moment, 5), at(moment - 1000, 9)],
  });
}

function sold(price: number) {
  const sale = price === 5 ? { salePrice: 5 } : {};
  return { options: [], price, onSale: price === 5, regularPrice: 9, ...sale };
}

function isDate(gives: TransformExample['gives']): gives is { readonly moment: string } {
  return typeof gives === 'object' && 'moment' in gives;
}

function expectation(gives: TransformExample['gives']) {
  if (typeof gives === 'object' && 'rejects' in gives) return { rejects: gives.rejects };
  if (gives === undefined) return { sends: { name: 'Ada' } };
  const sent = Array.isArray(gives)
    ? { tags: gives }
    : { properties: [{ name: 'Result', value: String(gives) }] };
  return { sends: { name: 'Ada', ...sent } };
}

/** Every word that a step may begin with or hold, by the schema. */
function stepWords(): string[] {
  const { definitions } = transformDefinition.parse(schemaFor('mapping'));
  const options = definitions.Transform.anyOf.flatMap(({ properties }) => Object.keys(properties));
  const words = TRANSFORMS.flatMap(({ name, word }) => (word === undefined ? [] : [name]));
  return [...words, ...new Set(options.map((name) => `${name}:`))];
}

const transformDefinition = z.object({
  definitions: z.object({
    Transform: z.object({
      anyOf: z.array(z.object({ properties: z.record(z.string(), z.unknown()).default({}) })),
    }),
  }),
});
