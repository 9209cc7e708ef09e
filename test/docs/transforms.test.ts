import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { PLAIN_TRANSFORMS } from '../../src/config/mapping/mapping-transform.ts';
import { schemaFor } from '../../src/config/reference/json-schema.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { readDocument } from './reference.ts';

/** A line of the table: what a cell holds, the steps it goes through, what comes out. */
interface Example {
  readonly cell: string;
  readonly steps: string;
  readonly gives: string;
}

function examples(): Example[] {
  const document = readDocument('docs/mappings.md');
  const [, table = ''] = /<!-- examples: transforms -->\n([\s\S]*?)\n\n/.exec(document) ?? [];
  const rows = table.split('\n').slice(2);
  return rows.map((row) => {
    const [cell = '', steps = '', gives = ''] = row.slice(2, -2).split(' | ').map(withoutTicks);
    return { cell, steps, gives };
  });
}

function withoutTicks(text: string): string {
  return text.trim().replace(/^`(.*)`$/, '$1');
}

/** A mapping of the table's line, with the line as its test. Lists are seen in tags, all else as text in a property. */
function mappingOf({ cell, steps, gives }: Example): string {
  const value = z.array(z.unknown()).parse(parse(`[cell, ${steps}]`));
  if (steps.includes('date')) return datedMapping(cell, value);
  const list = gives.startsWith('[');
  const result = { properties: { fields: { Result: value } } };
  const sent = { properties: [{ name: 'Result', value: gives }] };
  return JSON.stringify({
    import: 'contacts',
    columns: { id: 'Id', name: 'Name', cell: 'Cell' },
    ...(steps.includes('table:') ? { lookups: { colours: { path: 'colours.csv', match: 'id' } } } : {}),
    contact: { id: 'id', name: 'name', ...(list ? { tags: value } : result) },
    tests: [
      {
        name: `${cell} through ${steps}`,
        rows: [
          ['Id', 'Name', 'Cell'],
          ['7', 'Ada', cell],
        ],
        ...(steps.includes('table:') ? { lookups: { colours: [{ id: '17', name: 'Teal' }] } } : {}),
        expect: [expectation(gives, list ? { tags: parse(gives) } : sent)],
      },
    ],
  });
}

/** Dates stand nowhere but in the time of a sale. */
function datedMapping(cell: string, value: readonly unknown[]): string {
  const rows = [
    ['Code', 'Name', 'Price', 'Cell'],
    ['a', 'Mug', '9', cell],
  ];
  return JSON.stringify({
    import: 'products',
    columns: { code: 'Code', name: 'Name', price: 'Price', cell: 'Cell' },
    product: { url: 'code', title: 'name' },
    variants: { pricing: { regular: 'price', sale: 'price', from: value } },
    tests: [{ name: cell, rows, expect: [{ includes: { url: 'a' } }] }],
  });
}

function expectation(gives: string, sent: Readonly<Record<string, unknown>>) {
  if (gives === 'rejected') return { rejects: {} };
  return { sends: { name: 'Ada', ...(gives === 'nothing' ? {} : sent) } };
}

it('docs/mappings.md shows every transform by an example that is so', async () => {
  const shown = examples();
  const files = shown.map((example, index) => [`mappings/line-${index + 1}.yaml`, mappingOf(example)]);
  await using workspace = await makeWorkspace({
    ...Object.fromEntries(files),
    'colours.csv': 'id,name\n17,Teal\n',
    'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY}" }\n`,
  });
  const { stdout, stderr } = await workspace.storeferry('check');
  expect(stdout.match(/^error.*/gm) ?? []).toEqual([]);
  expect(stdout + stderr).toContain(`${shown.length} mapping tests passed`);

  const steps = shown.flatMap(({ steps }) => z.array(z.unknown()).parse(parse(`[${steps}]`)));
  const used = steps.flatMap((step) =>
    typeof step === 'object' && step !== null ? Object.keys(step) : [step],
  );
  expect([...new Set(used)].toSorted()).toEqual(stepWords().toSorted());
});

/** Every word that a step may begin with or hold, by the schema. */
function stepWords(): string[] {
  const { definitions } = transformDefinition.parse(schemaFor('mapping'));
  const options = definitions.Transform.anyOf.flatMap(({ properties }) => Object.keys(properties));
  return [...new Set([...Object.keys(PLAIN_TRANSFORMS), ...options])];
}

const transformDefinition = z.object({
  definitions: z.object({
    Transform: z.object({
      anyOf: z.array(z.object({ properties: z.record(z.string(), z.unknown()).default({}) })),
    }),
  }),
});
