import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { importJobSchema, safetySchema } from '../../src/config/job/import-job-schema.ts';
import { storesSchema } from '../../src/config/store-config.ts';
import { writeAddress } from '../../src/config/write-address.ts';
import { flow, placeholder } from '../../src/config/yaml-text.ts';
import { checkMapping } from '../../src/mapping/compile-mapping.ts';
import { mappingSchema } from '../../src/mapping/spec/mapping-spec.ts';
import { proposeMapping } from '../../src/onboarding/guess/propose-mapping.ts';
import { jobText, type NewJob } from '../../src/onboarding/job-text.ts';
import { mappingText, storesText } from '../../src/onboarding/new-workspace.ts';

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
    expect(more.notify).toMatchObject({ on: ['failed', 'stopped', 'rejects'], when: 'always' });
  });

  it('has no placeholder that an answer or a file has brought', () => {
    const key = placeholder('STORE_API_KEY');
    const params = { list: { description: 'x' } };
    const { url } = writeAddress(`https://x.example/${key}`, { isFree: () => true });
    const source = { url, sheet: key, records: key, delimiter: key };
    const { source: written, ...job } = parse(
      jobText({ ...JOB, source, params, paramValues: { list: key } }),
    );
    expect(written).toEqual({
      ...{ url: `https://x.example/$${key}`, sheet: `$${key}`, records: `$${key}`, delimiter: `$${key}` },
    });
    expect(job.params).toEqual({ list: `$${key}` });
    expect(flow({ [key]: [key] })).toBe(`{ "${key}": ["$${key}"] }`);
  });

  it('writes the safety limits that are judged on its records, with their defaults', () => {
    const products = jobText(JOB);
    expect(products).toContain(
      '\nsafety: { maxDeletes: 5%, maxRejects: 10%, maxSkipped: 50%, minRows: 80%, maxChanges: off, maxPriceMoves: 5% }\n',
    );
    const contacts = jobText({ ...JOB, imports: 'contacts', mapping: 'hubspot-contacts' });
    expect(contacts).toContain(
      '\nsafety: { maxRejects: 10%, maxSkipped: 50%, minRows: 80%, maxChanges: off, maxCreates: off }\n',
    );
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

describe('a mapping that was proposed', () => {
  const header = ['Titel', 'Preis', 'Farbe', 'Farbe', 'Größe (cm)', '', '=cmd', 'a: "b"\n# c', 'E-Mail'];
  const rows = [['Tasse', '9,90', 'rot', 'blau', '12', '', '', '', 'ada@mail.example']];

  it.each(['products', 'contacts'] as const)(
    'for %s is right as it stands, and lists every column once',
    (imports) => {
      const proposal = proposeMapping(imports, { header, rows });
      const { spec } = proposal;
      if (spec === null) throw new Error(JSON.stringify(proposal.questions));
      const text = mappingText({ name: 'my', file: 'list.csv', header, proposal, spec });
      const read = mappingSchema.parse(parse(text));
      expect(read).toEqual(spec);
      expect(checkMapping(read)).toEqual([]);
      expect(text.match(/# farbe\d*: Farbe/g)).toHaveLength(1);
      const [, listed = ''] = /\n( {2}# The other[\s\S]*?)\nrequired/.exec(text) ?? [];
      const all: unknown = parse(listed.replaceAll(/^ {2}# (?!The other)/gm, ''));
      expect(Object.values(all ?? {})).toEqual(
        expect.arrayContaining(['Farbe', 'Größe (cm)', '=cmd', 'a: "b"\n# c']),
      );
    },
  );

  it('says beside each column what shows it', () => {
    const proposal = proposeMapping('products', { header, rows });
    if (proposal.spec === null) throw new Error('there is a question');
    const text = mappingText({ name: 'my', file: 'list.csv', header, proposal, spec: proposal.spec });
    expect(text).toContain('  price: Preis # header is German for price; all 1 values are amounts\n');
  });
});
