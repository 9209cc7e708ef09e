import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../src/mapping/compile-mapping.ts';
import { brief, mapAll, mappingOf, products, table } from './mapping-setup.ts';

const HEADER = ['Code', 'Price', 'Was', 'Markup', 'Off'];

/** A mapping with these prices, and what else is said of it. */
function priced(pricing: string, more = '') {
  return mappingOf(`
import: products
columns: { code: Code, price: Price, was: Was, factor: Markup, off: Off }
${more}
product: { url: code, title: code, description: "{was} {factor} {off}" }
variants: { pricing: ${pricing} }
`);
}

/** The prices of one row. */
async function prices(
  pricing: string,
  cells: readonly string[],
  { more = '', params = {} }: { readonly more?: string; readonly params?: Record<string, number> } = {},
) {
  const { mapped } = await mapAll(priced(pricing, more), [table(HEADER, [['a', ...cells]])], { params });
  const [first] = mapped;
  if (first?.kind !== 'record') return first === undefined ? 'nothing' : brief(first);
  return products(mapped)[0]?.variants[0];
}

const NEAR_99 = '[{ times: 1.2 }, { round: { to: 1, ending: 0.99 } }]';

describe('the rule of prices', () => {
  it('goes over all four fields', async () => {
    expect(await prices(`{ price: price, was: was, rule: ${NEAR_99} }`, ['10.00', '12.50', '', ''])).toEqual({
      options: [],
      price: 11.99,
      onSale: true,
      regularPrice: 14.99,
      salePrice: 11.99,
    });
  });

  it('ends a sale whose prices it makes equal', async () => {
    const sent = await prices(`{ price: price, was: was, rule: [{ round: 10 }] }`, [
      '10.10',
      '10.90',
      '',
      '',
    ]);
    expect(sent).toEqual({ options: [], price: 10, onSale: false, regularPrice: 10 });
  });

  it('comes after discounts and surcharges, which are in the money of the source', async () => {
    const pricing = '{ price: price, plus: was, percent: off, rule: [{ times: 2 }, { round: 1 }] }';
    expect(await prices(pricing, ['10.00', '2.50', '', '10'])).toMatchObject({
      price: 23,
      regularPrice: 25,
      salePrice: 23,
    });
  });

  it('rounds to cents, or as finely as the source, where it does not say', async () => {
    expect(await prices('{ price: price, rule: [{ times: 1.1 }] }', ['9.95', '', '', ''])).toMatchObject({
      price: 10.95,
    });
    expect(await prices('{ price: price, rule: [{ times: 1.1 }] }', ['9.955', '', '', ''])).toMatchObject({
      price: 10.951,
    });
  });

  it('takes numbers from params and columns', async () => {
    const more = 'params: { markup: 1.5 }';
    const rule = '{ price: price, rule: [{ times: "{markup}" }, { plus: "{off}" }] }';
    expect(await prices(rule, ['10', '', '', '0.25'], { more })).toMatchObject({ price: 15.25 });
    expect(await prices(rule, ['10', '', '', '0.25'], { more, params: { markup: 2 } })).toMatchObject({
      price: 20.25,
    });
  });

  it('may stand in one price instead', async () => {
    const sent = await prices('{ price: [price, { times: 0.5 }], was: was }', ['10', '12', '', '']);
    expect(sent).toMatchObject({ price: 5, regularPrice: 12, salePrice: 5 });
  });

  it('leaves a price of 0 alone, and refuses to make one', async () => {
    expect(await prices(`{ price: price, rule: ${NEAR_99} }`, ['0', '', '', ''])).toMatchObject({ price: 0 });
    expect(await prices('{ price: price, rule: [{ round: 1 }] }', ['0.30', '', '', ''])).toBe(
      'rejected a price-rounded-to-zero (1 row)',
    );
  });

  it.each([
    ['below 0', '[{ plus: -11 }]', 'price-negative'],
    ['with a blank number', '[{ times: "{factor}" }]', 'price-rule-blank'],
    ['with a number that is none', '[{ times: "{off}" }]', 'not-a-number'],
  ])('refuses a price %s', async (_, rule, code) => {
    expect(await prices(`{ price: price, rule: ${rule} }`, ['10', '', '', 'half'])).toBe(
      `rejected a ${code} (1 row)`,
    );
  });

  it('names the cell of a number that is none', async () => {
    const mapping = priced('{ price: price, rule: [{ times: "{off}" }] }');
    const { mapped } = await mapAll(mapping, [table(HEADER, [['a', '10', '', '', 'half']])]);
    expect(mapped[0]).toMatchObject({ reason: { field: 'variants.price', line: 2, column: 'Off' } });
  });
});

describe('numbers at the edge', () => {
  it('reject a product rather than being sent', async () => {
    const large = 'rejected a number-too-large (1 row)';
    const by = (rule: string, cell = '') => prices(`{ price: price, rule: [${rule}] }`, ['10', '', cell, '']);
    expect(await by('{ times: 1e300 }, { times: 1e300 }')).toBe(large);
    expect(await by('{ plus: 1e15 }')).toBe(large);
    expect(await by('{ times: -1e300 }')).toBe(large);
    expect(await by('{ times: 1e-300 }')).toBe('rejected a price-rounded-to-zero (1 row)');
    expect(await by('{ times: 1e300 }, { times: 1e-300 }')).toMatchObject({ price: 10 });
    for (const digits of ['12345678901234567890', '0.12345678901234567890', '1e5']) {
      expect(await by('{ times: "{factor}" }', digits)).toBe('rejected a not-a-number (1 row)');
    }
  });

  it.each(['12345678901234567890', '1.2345678901234567890', '0.00012345678901234567'])(
    'are refused where the mapping has more digits than are kept: %s',
    (number) => {
      const messages = checkMapping(priced(`{ price: price, rule: [{ times: ${number} }] }`)).map(
        ({ message }) => message,
      );
      expect(messages).toContainEqual(expect.stringContaining('at most 15 digits'));
    },
  );

  it.each(['1200000000000000000000', '0.000000000000000000012', '-123456789012345', '1e-7'])(
    'are taken where all digits are kept: %s',
    (number) => {
      const rule = `[{ times: ${number} }]`;
      const messages = checkMapping(priced(`{ price: price, rule: ${rule} }`)).map(({ message }) => message);
      expect(messages).not.toContainEqual(expect.stringContaining('digits'));
    },
  );
});

describe('a check of calculations', () => {
  const problems = (pricing: string, more = '') =>
    checkMapping(priced(pricing, more)).flatMap(({ path, message }) =>
      path[0] === 'columns' ? [] : [`${path.join('.')}: ${message}`],
    );

  it.each([
    ['{ times: half }', "times: expected a number, or a param or column in braces, found 'half'"],
    ['{ times: "{markup}" }', 'times: markup is not declared under columns or params'],
    ['{ round: { to: 1, ending: 1.5 } }', 'round.ending: expected a number below 1 (`to`), found 1.5'],
  ])('finds what is wrong with %s', (step, message) => {
    const [found] = problems(`{ price: price, rule: [${step}] }`);
    expect(found).toContain(`variants.pricing.rule.0.${message}`);
  });

  it('finds a param that is no number', () => {
    expect(problems('{ price: [price, { times: "{markup}" }] }', 'params: { markup: much }')).toEqual([
      "variants.pricing.price.1.times: expected a number as the param markup, found 'much'",
    ]);
    expect(problems('{ price: [price, { times: "{markup}" }] }', 'params: { markup: {} }')).toEqual([]);
  });

  it('finds a rule that gives no number', () => {
    expect(problems('{ price: price, rule: [lower] }')).toHaveLength(1);
  });
});

it('numbers of several columns become one, blanks left out', async () => {
  const mapping = mappingOf(`
import: products
columns: { code: Code, 'stock{n}': 'Stock {n}', more: More }
product: { url: code, title: code }
variants: { pricing: { price: { max: ['stock{n}'] } }, quantity: { sum: ['stock{n}', more] } }
`);
  const { mapped } = await mapAll(mapping, [
    table(
      ['Code', 'Stock 1', 'Stock 2', 'More'],
      [
        ['a', '3', '', '4'],
        ['b', '1', '0.5', ''],
        ['c', '2', 'x', '1'],
      ],
    ),
  ]);
  expect(products(mapped).map(({ variants }) => [variants[0]?.price, variants[0]?.quantity])).toEqual([
    [3, 7],
    [1, 1.5],
  ]);
  expect(mapped.at(-1)).toMatchObject({ reason: { code: 'not-a-number' } });
});
