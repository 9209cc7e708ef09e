import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { NEEDED_FIELDS } from '../../src/cli/init/ask-mapping.ts';
import { importJobSchema, safetySchema } from '../../src/config/job/import-job-schema.ts';
import { jobText, type NewJob } from '../../src/config/new-workspace/job-text.ts';
import { mappingText, toBeChosen } from '../../src/config/new-workspace/mapping-text.ts';
import { storesText } from '../../src/config/new-workspace/new-workspace.ts';
import { placeholder } from '../../src/config/placeholder.ts';
import { storesSchema } from '../../src/config/store-config.ts';
import { checkMapping } from '../../src/mapping/compile-mapping.ts';
import { mappingSchema } from '../../src/mapping/spec/mapping-spec.ts';

const JOB: NewJob = {
  name: 'nightly',
  imports: 'products',
  store: 'main',
  source: { path: 'export.csv' },
  mapping: 'shopify-products',
  params: {},
  paramValues: {},
  timezone: 'Europe/Paris',
};

/** The text as it would be read once its comments of one # are taken away from keys. */
function uncommented(text: string, keys: readonly string[]): string {
  return keys.reduce((all, key) => all.replace(new RegExp(`^# ?( *${key}:)`, 'm'), '$1'), text);
}

describe('the file of a new job', () => {
  it('says what was answered, and its examples are right when they are uncommented', () => {
    const text = jobText(JOB);
    expect(importJobSchema.parse(parse(text))).toMatchObject({
      import: 'products',
      source: { path: 'export.csv' },
      mode: 'upsert',
    });
    const more = importJobSchema.parse(
      parse(uncommented(text, ['schedule', 'notify']).replace(placeholder('OPS_WEBHOOK', ''), '')),
    );
    expect(more.schedule).toEqual({ cron: '15 2 * * *', timezone: 'Europe/Paris' });
    expect(more.notify?.on).toEqual(['failed', 'stopped', 'rejects']);
  });

  it('writes the safety limits that are judged on its records, with their defaults', () => {
    const products = jobText(JOB);
    expect(products).toContain(
      '\nsafety: { maxDeletes: 5%, maxRejects: 10%, minRows: 80%, maxChanges: off, maxPriceMoves: 5% }\n',
    );
    const contacts = jobText({ ...JOB, imports: 'contacts', mapping: 'hubspot-contacts' });
    expect(contacts).toContain('\nsafety: { maxRejects: 10%, minRows: 80%, maxChanges: off }\n');
    for (const text of [products, contacts]) {
      expect(importJobSchema.parse(parse(text)).safety).toEqual(safetySchema.parse({}));
    }
  });

  it('writes parameters as the kind of value that the mapping expects, and offers the others', () => {
    const params = {
      decimal: { default: '.', description: 'The sign\nof decimals' },
      least: 5,
      loud: false,
      list: { description: 'Must be set' },
    };
    const text = jobText({ ...JOB, params, paramValues: { least: '7', loud: 'true', list: '12' } });
    expect(importJobSchema.parse(parse(text)).params).toEqual({ least: 7, loud: true, list: '12' });
    expect(text).toContain('\n#   decimal: "." # The sign of decimals\n');
    const offered = jobText({ ...JOB, params: { decimal: ',' } });
    expect(importJobSchema.parse(parse(uncommented(offered, ['params', 'decimal']))).params).toEqual({
      decimal: ',',
    });
  });

  it('joins contacts with their ids', () => {
    const crosswalk = { path: 'ids: of "all".csv', match: 'email', id: 'Contact no' };
    const text = jobText({ ...JOB, imports: 'contacts', mapping: 'hubspot-contacts', crosswalk });
    expect(importJobSchema.parse(parse(text))).toMatchObject({ import: 'contacts', crosswalk });
    const without = jobText({ ...JOB, imports: 'contacts', mapping: 'my-contacts' });
    expect(importJobSchema.parse(parse(uncommented(without, ['crosswalk']))).crosswalk).toMatchObject({
      path: 'contact-ids.csv',
      match: 'email',
      id: 'id',
    });
  });
});

it('the file of new stores names no secret', () => {
  const { main } = storesSchema.parse(
    parse(storesText('lb').replace(placeholder('STORE_URL'), 'http://a.b')),
  );
  expect(main).toMatchObject({ apiKey: expect.stringContaining('STORE_API_KEY'), weightUnit: 'lb' });
});

describe('a mapping to begin with', () => {
  const header = ['Titel', 'Preis', 'Farbe', 'Farbe', 'Größe (cm)', '', '=cmd', 'a: "b"\n# c'];

  it.each([
    [
      'products',
      [
        { field: 'title', header: 'Titel' },
        { field: 'price', header: 'Preis' },
      ],
    ],
    [
      'contacts',
      [
        { field: 'email', header: 'Titel' },
        { field: 'name', header: 'Preis' },
      ],
    ],
  ] as const)('for %s is right as it stands, and lists every column once', (imports, suggested) => {
    const starter = {
      name: 'my',
      imports,
      file: 'list.csv',
      header,
      required: NEEDED_FIELDS[imports],
      suggested,
    };
    const text = mappingText(starter);
    expect(checkMapping(mappingSchema.parse(parse(text)))).toEqual([]);
    expect(toBeChosen(starter)).toEqual([]);
    expect(text.match(/# farbe\d*: Farbe/g)).toHaveLength(1);
    const [, listed = ''] = /\n( {2}# The other[\s\S]*?)\nrequired/.exec(text) ?? [];
    const all: unknown = parse(listed.replaceAll(/^ {2}# (?!The other)/gm, ''));
    expect(Object.values(all ?? {})).toEqual(['Farbe', 'Größe (cm)', '=cmd', 'a: "b"\n# c']);
  });

  it.each([
    ['products', ['Name', 'Price', 'Photo URLs', 'Published', 'Weight (g)', 'Grams', 'Colour'], 3],
    ['products', ['Name', 'Price', 'Colour'], 0],
    ['contacts', ['Email', 'Tags', 'Newsletter', 'Birthday'], 3],
    ['contacts', ['Email', 'Colour'], 0],
  ] as const)(
    'for %s offers lines that are right once their # and that of their column is gone',
    (imports, columns, offers) => {
      const fields = imports === 'products' ? ['title', 'price'] : ['email'];
      const suggested = fields.map((field, index) => ({ field, header: columns[index] }));
      const text = mappingText({
        ...{ name: 'my', imports, file: 'list.csv', header: columns, suggested },
        required: NEEDED_FIELDS[imports],
      });
      const body = text.slice(text.indexOf(`\n${imports === 'products' ? 'product' : 'contact'}:`));
      const offered = [...body.slice(0, body.indexOf('# tests:')).matchAll(/^ {2}# (\w+: .*)$/gm)];
      expect(offered.length).toBe(offers);
      const inUse = offered.reduce((all, [line]) => all.replace(line, line.replace('# ', '')), text);
      const wanted = offered.map(([, line = '']) => line).join(' ');
      const complete = inUse.replaceAll(/^ {2}# (\w+): (.*)$/gm, (line, word) =>
        new RegExp(`\\b${word}\\b`).test(wanted) ? line.replace('# ', '') : line,
      );
      expect(checkMapping(mappingSchema.parse(parse(complete)))).toEqual([]);
    },
  );

  it('names what a person must still choose, and imports nothing till then', () => {
    const suggested = [
      { field: 'title', header: undefined },
      { field: 'price', header: 'Preis' },
    ];
    const starter = {
      ...({ name: 'my', imports: 'products', file: 'list.csv', header, suggested } as const),
      required: NEEDED_FIELDS.products,
    };
    expect(toBeChosen(starter)).toEqual(['title']);
    const spec = mappingSchema.parse(parse(mappingText(starter)));
    expect(header).not.toContain(spec.columns['title']);
    expect(spec.required).toContain('title');
  });
});
