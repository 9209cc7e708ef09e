import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../src/onboarding/guess/propose-mapping.ts';
import { fileToGuess, type LookOptions, lookAtSource } from '../../src/onboarding/preview-source.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';

/** The proposal for a file of products. */
async function proposed(name: string, text: string, options: LookOptions = {}, answers = {}) {
  await using workspace = await workspaceWith({ [name]: text });
  const look = await lookAtSource(join(workspace.workspaceDir, name), options);
  return proposeMapping('products', fileToGuess(look), answers);
}

const ids = ({ questions }: Awaited<ReturnType<typeof proposed>>) => questions.map(({ id }) => id);
const table = ['SKU;Name;Price', 'A1;Mug;12,50', 'A2;Jug;14,90', 'A3;Can;20,00'];

describe('a line beside the table', () => {
  it.each([
    'Price list 2026 - all prices net',
    'All prices are exclusive of tax (excl. VAT)',
    'Alle Preise zzgl. MwSt.',
    'Tous les prix sont hors taxes',
    '# prices are per 100 pieces',
    'Preise pro kg',
    'Dealer prices, valid from 1 March',
  ])('above or below it is asked about: %s', async (line) => {
    const above = await proposed('a.csv', [line, ...table].join('\n'), { headerRow: 2 });
    const below = await proposed('a.csv', [...table, `${line};;`].join('\n'));
    for (const one of [above, below]) {
      expect(ids(one)).toEqual(['unused.lines']);
      expect(one.questions[0]?.reason).toContain(line);
    }
    const answered = await proposed(
      'a.csv',
      [line, ...table].join('\n'),
      { headerRow: 2 },
      { 'unused.lines': 'leave-out' },
    );
    expect(answered.spec).not.toBeNull();
  });

  it.each([
    'Price list 2026',
    'All prices incl. 19 % VAT',
    'Alle Preise inkl. MwSt. pro Stück',
    'Valid from 12.10.2026',
  ])('is not where it says nothing of that: %s', async (line) => {
    expect(ids(await proposed('a.csv', [line, ...table].join('\n'), { headerRow: 2 }))).toEqual([]);
  });

  it('may say that amounts are cents', async () => {
    const text = ['Prices in cents', 'SKU;Name;Price', 'A1;Mug;1250', 'A2;Jug;1490'].join('\n');
    expect(ids(await proposed('a.csv', text, { headerRow: 2 }))).toEqual(['word.1250']);
    const { spec } = await proposed('a.csv', text, { headerRow: 2 }, { 'word.1250': 'hundredths' });
    expect(JSON.stringify(spec)).toContain('"times":0.01');
  });
});

describe('whole amounts in JSON', () => {
  const records = (...prices: readonly unknown[]) =>
    prices.map((price, at) => ({ sku: `A${at}`, name: `Mug ${at}`, price }));
  const lines = (...prices: readonly unknown[]) =>
    records(...prices)
      .map((record) => JSON.stringify(record))
      .join('\n');

  it('of a hundred or more may be cents', async () => {
    expect(ids(await proposed('a.json', JSON.stringify(records(50, 1999, 2499, 900, 1299))))).toEqual([
      'word.50',
    ]);
    for (const answer of ['hundredths', 'whole']) {
      expect(ids(await proposed('a.json', JSON.stringify(records(1999, 900))))).toEqual(['word.1999']);
      const { spec } = await proposed('a.jsonl', lines(1999, 900), {}, { 'word.1999': answer });
      expect(JSON.stringify(spec).includes('"times":0.01')).toBe(answer === 'hundredths');
    }
  });

  it.each([[[19.99, 9]], [[1999, 12]], [['1999 JPY', '900 JPY']]])('are not: %s', async (prices) => {
    expect(ids(await proposed('a.json', JSON.stringify(records(...prices))))).toEqual([]);
  });
});

describe('a value beside the records', () => {
  const record = { sku: 'A1', name: 'Mug', price: 12.5 };
  const records = [record, { ...record, sku: 'A2', price: 1290 }];

  it.each<[string, object, readonly string[]]>([
    ['cents', { unit: 'cents' }, []],
    ['without tax', { vat: 'excluded' }, ['unused.vat']],
    ['without tax', { meta: { prices_include_tax: false } }, ['unused.meta.prices_include_tax']],
    ['net', { prices: 'net' }, ['unused.prices']],
    ['per kg', { unit: 'kg' }, ['unused.unit']],
    ['for dealers', { customer_group: 'Dealers' }, ['unused.customer_group']],
    ['nothing of prices', { version: 3, currency: 'EUR', tax_included: true, page: 'net' }, ['unused.page']],
  ])('that says %s is asked about: %j', async (_, beside, expected) => {
    for (const file of [
      { ...beside, products: records },
      { products: records, ...beside },
    ])
      expect(ids(await proposed('a.json', JSON.stringify(file), { records: 'products' }))).toEqual(expected);
  });

  it('is asked about where it says that whole amounts are cents, also within each record', async () => {
    const whole = records.map((one) => ({ ...one, price: 12 }));
    expect(
      ids(
        await proposed('a.json', JSON.stringify({ unit: 'cents', products: whole }), { records: 'products' }),
      ),
    ).toEqual(['word.12']);
    const within = whole.map((one) => ({ ...one, unit: 'cents' }));
    expect(ids(await proposed('a.json', JSON.stringify(within)))).toEqual(['word.12']);
  });

  it('states the currency', async () => {
    const text = JSON.stringify({ currency: 'USD', products: records });
    const { spec } = await proposed('a.json', text, { records: 'products' });
    expect(spec).toMatchObject({ variants: { pricing: { currency: { const: 'USD' } } } });
  });

  it('may name a currency without hundredths, as those of records may', async () => {
    const whole = records.map((one) => ({ ...one, price: 1290 }));
    const text = JSON.stringify({ currency: 'JPY', products: whole });
    expect(ids(await proposed('a.json', text, { records: 'products' }))).toEqual([]);
    const within = whole.map((one) => ({ ...one, currency: 'JPY' }));
    expect(ids(await proposed('a.json', JSON.stringify(within)))).toEqual([]);
  });

  it('is not kept of other lists, which may be about people', async () => {
    const people = [{ prices: 'net' }, { prices: 'net' }];
    for (const file of [
      { people, products: records },
      { products: records, people: people.slice(1) },
    ])
      expect(ids(await proposed('a.json', JSON.stringify(file), { records: 'products' }))).toEqual([]);
    const xml =
      '<list><person><prices>net</prices></person><person><prices>net</prices></person><product><sku>A1</sku><name>Mug</name><price>12.50</price></product></list>';
    expect(ids(await proposed('a.xml', xml, { records: 'list.product' }))).toEqual([]);
  });

  it('is asked about in XML too', async () => {
    const text = (attributes: string) =>
      `<list ${attributes}><product><sku>A1</sku><name>Mug</name><price>12.50</price></product><product><sku>A2</sku><name>Jug</name><price>13.50</price></product><tax>excluded</tax></list>`;
    expect(ids(await proposed('a.xml', text('prices="net"'), { records: 'list.product' }))).toEqual([
      'unused.list@prices',
      'unused.list.tax',
    ]);
  });
});
