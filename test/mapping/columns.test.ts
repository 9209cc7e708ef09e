import { describe, expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { MappingError } from '../../src/model/storeferry-error.ts';
import { CONTEXT, mapAll, mappingOf, products, table } from './mapping-setup.ts';

function mapping(columns: string, description = 'text', required = '[]') {
  return mappingOf(`
import: products
columns: { id: Id, ${columns} }
required: ${required}
product: { url: id, title: id, description: ${description} }
variants: { pricing: { price: 1 } }
`);
}

/** The description that each row gets. */
async function texts(
  spec: ReturnType<typeof mapping>,
  header: readonly string[],
  ...rows: readonly (readonly string[])[]
) {
  const { mapped } = await mapAll(spec, [table(header, rows)]);
  return products(mapped).map(({ description }) => description);
}

describe('columns', () => {
  it.each([
    ['exactly', 'Body (HTML)'],
    ['in any case', 'body (html)'],
    ['with other white space', ' Body\u00a0 (HTML) '],
    ['behind a byte order mark', '\ufeffBody (HTML)'],
    ['with hyphens and underscores', 'body_-(html)'],
  ])('are found by their header %s', async (_how, header) => {
    expect(await texts(mapping('text: Body (HTML)'), ['Id', header], ['1', 'x'])).toEqual(['x']);
  });

  it('are found exactly before loosely', async () => {
    expect(
      await texts(mapping('text: Company name'), ['Id', 'Company Name', 'Company name'], ['1', 'a', 'b']),
    ).toEqual(['b']);
  });

  it('take the first alternative that the file has', async () => {
    expect(await texts(mapping('text: [New, Old]'), ['Id', 'Old', 'New'], ['1', 'a', 'b'])).toEqual(['b']);
    expect(await texts(mapping('text: [New, Old]'), ['Id', 'Old'], ['1', 'a'])).toEqual(['a']);
  });

  it('capture a unit or a language, and no long text', async () => {
    const long = 'a'.repeat(201);
    const spec = mapping("text: 'Text ({what}) {more}'");
    expect(await texts(spec, ['Id', 'Text (kg) net'], ['1', 'x'])).toEqual(['x']);
    expect(await texts(spec, ['Id', `Text (${long}) net`], ['1', 'x'])).toEqual([undefined]);
  });

  it('that are repeated in thousands of places name the first ones', async () => {
    const header = ['Id', ...Array.from({ length: 16_000 }, () => 'Text')];
    await expect(mapAll(mapping('text: Text'), [table(header, [])])).rejects.toThrow(
      /columns 2 \('Text'\), .*, 11 \('Text'\), and 15990 more\.$/,
    );
  });

  it('may be missing unless they are required', async () => {
    expect(await texts(mapping('text: Text'), ['Id'], ['1'])).toEqual([undefined]);
  });

  it('that are required and missing are named, with the nearest header and those found', async () => {
    const refused = mapAll(mapping('text: [Price, Cost]', 'text', '[text]'), [table(['Id', 'Prise'], [])]);
    await expect(refused).rejects.toThrow(MappingError);
    await expect(refused).rejects.toThrow(
      "lacks the required column text: expected the header 'Price' or 'Cost'; did you mean 'Prise'? Headers found: 'Id', 'Prise'.",
    );
  });

  it('that a file in a zip lacks come with what to do about such a file', async () => {
    const stray = { ...table(['Thank you'], []), name: 'export.zip/readme.txt' };
    await expect(mapAll(mapping('text: Text', 'text', '[text]'), [stray])).rejects.toMatchObject({
      place: { file: 'export.zip/readme.txt' },
      hint: expect.stringContaining('Remove files with other content from the zip'),
    });
  });

  it('that repeat are an error where they are used', async () => {
    await expect(mapAll(mapping('text: Phone'), [table(['Id', 'Phone', 'Phone'], [])])).rejects.toThrow(
      "has it more than once: columns 2 ('Phone'), 3 ('Phone')",
    );
    expect(
      await texts(
        mapping('text: Text'),
        ['Id', 'Phone', 'Phone', '', '', 'Text'],
        ['1', '', '', '', '', 'x'],
      ),
    ).toEqual(['x']);
  });

  it('that repeat are chosen by their occurrence', async () => {
    const spec = mapping('text: { header: Phone, occurrence: 2 }');
    expect(await texts(spec, ['Id', 'Phone', 'Phone'], ['1', 'a', 'b'])).toEqual(['b']);
  });

  it('that repeat may all be taken', async () => {
    const spec = mapping('text: { header: Image, occurrence: all }', "[text, { join: '|' }]");
    expect(await texts(spec, ['Id', 'Image', 'image', 'Image'], ['1', 'a', 'b', 'c'])).toEqual(['a|c']);
    expect(await texts(spec, ['Id', 'image', 'IMAGE'], ['1', 'a', 'b'])).toEqual(['a|b']);
  });

  it('of a family are taken by number, from all alternatives', async () => {
    const spec = mapping("'image{n}': ['IMAGE{n}', '{n}. Bild']", "['image{n}', { join: '|' }]");
    expect(
      await texts(spec, ['IMAGE10', 'Id', '3. Bild', 'Image2', 'IMAGE'], ['j', '1', 'c', 'b', 'x']),
    ).toEqual(['b|c|j']);
  });

  it('give a part of their header', async () => {
    const spec = mapping("text: ['Weight ({unit})', 'Peso ({unit})']", '{ join: [text, "{unit}"] }');
    expect(await texts(spec, ['Id', 'Peso (kg)'], ['1', '5'])).toEqual(['5 kg']);
  });

  it.each(['__proto__', 'constructor', 'toString'])('called %s are columns like any other', async (name) => {
    const spec = mappingOf(`
import: contacts
columns: { id: Id, email: Email }
contact: { id: id, email: email, properties: { rest: true } }
`);
    const { mapped } = await mapAll(spec, [table(['Id', 'Email', name], [['1', 'a@b.example', 'x']])]);
    expect(mapped[0]).toMatchObject({ body: { properties: [{ name, value: 'x' }] } });
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });

  it('that are not used are reported, but for those of a rejects file', () => {
    const compiled = compileMapping(mapping('text: Text'), CONTEXT);
    expect(
      compiled.bind(['Id', 'Vendor', '', 'storeferry_reason', 'storeferry_line', 'storeferry_extra_1'], 0)
        .report,
    ).toEqual({
      used: [{ name: 'id', headers: ['Id'] }],
      missing: ['text'],
      unused: ['Vendor'],
    });
  });

  it('that only show whether a row has shifted are reported as not used', () => {
    const spec = mappingOf(`
import: products
columns: { id: Id, code: Code, kind: Kind }
expect: { code: '^[A-Z]{3}$' }
misaligned: { kind: 12 }
product: { url: id, title: id }
variants: { pricing: { price: 1 } }
`);
    expect(compileMapping(spec, CONTEXT).bind(['Kind', 'Id', 'Code'], 0).report).toEqual({
      used: [{ name: 'id', headers: ['Id'] }],
      missing: [],
      unused: ['Kind', 'Code'],
    });
  });

  it('that a cell shows to have shifted make its row misaligned', async () => {
    const spec = mappingOf(`
import: products
columns: { id: Id, code: Code }
expect: { code: '^[A-Z]{3}$' }
product: { url: id, title: id, description: code }
variants: { pricing: { price: 1 } }
`);
    const { mapped } = await mapAll(spec, [
      table(
        ['Id', 'Code'],
        [
          ['1', 'EUR'],
          ['2', '99'],
          ['3', ''],
        ],
      ),
    ]);
    expect(mapped.map((one) => (one.kind === 'rejected' ? one.reason : one.kind))).toEqual([
      'record',
      {
        code: 'cell-unexpected',
        message: "'99' does not fit this column: has the row shifted?",
        line: 3,
        column: 'Code',
      },
      'record',
    ]);
  });
});

describe('a condition on a column that the file lacks', () => {
  /** The product of one row, whose columns Active and Published are called otherwise. */
  async function productOf(field: string) {
    const spec = mappingOf(`
import: products
columns: { id: Id, stock: Stock, active: Active, published: Published, 'flag{n}': 'Flag {n}' }
params: { strict: true }
product: { url: '{id}{stock}', title: id, ${field} }
variants: { pricing: { price: 1 } }
`);
    const { mapped } = await mapAll(spec, [table(['Id', 'Stock', 'Aktiv'], [['1', '5', 'yes']])]);
    return products(mapped)[0];
  }

  it.each([
    '{ active: no }',
    '{ not: { active: yes } }',
    '{ not: { active: present } }',
    '{ not: { active: [blank, no] } }',
    '{ not: { not: { active: yes } } }',
    '{ not: { active: missing } }',
    "{ not: { 'flag{n}': yes } }",
    '{ not: { any: [{ active: yes }, { published: yes }] } }',
    '{ all: [{ not: { active: yes } }, { not: { published: yes } }] }',
    '{ not: { all: [{ active: yes }, { published: yes }] } }',
    '{ not: { active: yes, published: yes } }',
    '{ all: [{ strict: yes }, { not: { active: yes } }] }',
  ])('hides no product if the file has none of its columns: %s', async (condition) => {
    expect((await productOf(`hidden: ${condition}`))?.hidden).toBeUndefined();
  });

  it.each(['when: { not: { active: yes } }', 'unless: { active: no }'])(
    'gives no constant yes or no: %s',
    async (condition) => {
      const first = `{ value: { const: true }, ${condition} }, { const: false }`;
      expect((await productOf(`hidden: [{ first: [${first}] }]`))?.hidden).toBe(false);
    },
  );

  it.each([
    ['{ not: { any: [{ active: yes }, { stock: 0 }] } }', true],
    ['{ not: { any: [{ active: yes }, { stock: 5 }] } }', false],
    ['{ all: [{ not: { active: yes } }, { not: { stock: 0 } }] }', true],
    ['{ all: [{ not: { active: yes } }, { not: { stock: 5 } }] }', false],
    ['{ not: { all: [{ active: yes }, { stock: 5 }] } }', true],
    ['{ not: { active: yes, stock: 5 } }', true],
    ['{ any: [{ not: { active: yes } }, { stock: 0 }] }', true],
    ['{ all: [{ not: { active: yes } }, { stock: 5 }] }', true],
    ['{ all: [{ not: { active: yes } }, { stock: 0 }] }', false],
    ['{ not: { all: [{ active: yes }, { stock: 0 }] } }', true],
    ['{ any: [{ not: { active: yes } }, { stock: 5 }] }', true],
    ['{ any: [{ active: no }, { stock: 0 }] }', false],
    ['{ strict: yes }', true],
  ])(
    'is decided by those that the file has, as if the absent ones were unmet: %s',
    async (condition, hidden) => {
      expect((await productOf(`hidden: ${condition}`))?.hidden).toBe(hidden);
    },
  );

  it.each([
    '{ active: missing }',
    '{ active: [no, missing] }',
    '{ all: [{ active: missing }, { stock: 5 }] }',
    '{ all: [{ active: missing }, { not: { published: yes } }] }',
  ])('may hide a product by missing: %s', async (condition) => {
    expect((await productOf(`hidden: ${condition}`))?.hidden).toBe(true);
  });

  it('decides neither type nor shipping if the file has none of its columns', async () => {
    const types = [
      'type: { is: { membership: { not: { active: yes } } } }',
      'unshipped: { not: { active: yes } }',
    ];
    for (const field of types) expect((await productOf(field))?.type).toBe('physical');
    const decided = '{ all: [{ not: { active: yes } }, { not: { stock: 0 } }] }';
    expect((await productOf(`type: { is: { membership: ${decided} } }`))?.type).toBe('membership');
    expect((await productOf(`unshipped: ${decided}`))?.type).toBe('service');
  });

  it('subscribes no contact', async () => {
    const spec = mappingOf(`
import: contacts
columns: { id: Id, name: Name, out: Out }
contact: { id: id, name: name, subscribed: { not: { out: yes } } }
`);
    const bodies = async (header: readonly string[]) => {
      const { mapped } = await mapAll(spec, [table(header, [['7', 'Ann', 'no']])]);
      return mapped.map((one) => one.kind === 'record' && one.body);
    };
    expect(await bodies(['Id', 'Name', 'Out'])).toEqual([{ name: 'Ann', subscribed: true }]);
    expect(await bodies(['Id', 'Name', 'Opted out'])).toEqual([{ name: 'Ann' }]);
  });
});
