import { describe, expect, it } from 'vitest';
import { runMappingTests } from '../../src/run/inputs/run-mapping-tests.ts';
import { mappingOf } from './mapping-setup.ts';

/** What a mapping's own tests say, one line a problem. */
async function problems(tests: string) {
  const spec = mappingOf(`
import: products
columns: { url: Url, kind: Kind, price: Price }
required: [url]
params: { title: { default: T } }
lookups: { kinds: { path: kinds.csv, match: code } }
skip: [{ when: { kind: draft }, reason: not ready }]
product: { url: url, title: '{title}', description: [kind, { table: kinds }] }
variants: { pricing: { price: price }, quantity: [price, { min: 2 }] }
tests:
${tests}
`);
  const results = await runMappingTests(spec);
  return results.flatMap(({ problems: found }) =>
    found.map(({ path, message }) => `${path.join('.')}: ${message}`),
  );
}

describe('the tests inside a mapping', () => {
  it('pass when rows become what they say', async () => {
    expect(
      await problems(`
  - name: CSV text
    rows: |
      Url;Kind;Price
      a;k;1
      ;;1
      b;draft;1
    delimiter: ;
    params: { title: Named }
    lookups: { kinds: [{ code: k, name: Kind }] }
    expect:
      - { includes: { title: Named, description: Kind, variants: [{ options: [], price: 1, onSale: false, regularPrice: 1, quantity: 2 }] }, key: a, rows: 1, notes: ['variants.quantity: below 2, raised to 2'] }
      - { rejects: { code: url-missing, line: 3, column: Url, message: blank, key: null } }
      - { skips: not ready, key: b }
  - name: cells
    rows: [[Url, Kind, Price], [a, null, 5]]
    expect:
      - sends: { type: physical, title: T, url: a, options: [], variants: [{ options: [], price: 5, onSale: false, regularPrice: 5, quantity: 5 }] }
`),
    ).toEqual([]);
  });

  it('fail with the place and what was found instead', async () => {
    const found = await problems(`
  - name: all wrong
    rows: [[Url, Price], [a, 5], [b, 5], [c, x], [d, 5], [e, 5]]
    expect:
      - sends: { title: T }
      - includes: { title: Other }
      - rejects: price-missing
      - { includes: {}, key: z }
  - name: too many
    rows: [[Url, Price]]
    expect: [{ includes: {} }]
`);
    expect(found.map((line) => line.replace(/found [{].*/, 'found {…'))).toEqual([
      'tests.0.expect.0.sends.type: type: expected nothing, found "physical"',
      'tests.0.expect.0.sends.url: url: expected nothing, found "a"',
      'tests.0.expect.0.sends.options: options: expected nothing, found []',
      expect.stringMatching(/^tests.0.expect.0.sends.variants: variants: expected nothing, found \[/),
      'tests.0.expect.1.includes.title: title: expected "Other", found "T"',
      expect.stringMatching(
        /^tests.0.expect.2: expected the rejection "price-missing", found rejected \(key c\)/,
      ),
      'tests.0.expect.3: expected the key z, found d',
      'tests.0.expect: expected nothing more, found {…',
      'tests.1.expect.0: expected a further record, found none',
    ]);
  });

  it('fail at each member that differs, with what it is and what it should be', async () => {
    const variant = 'price: 5, onSale: false, regularPrice: 6, quantity: 5';
    expect(
      await problems(`
  - name: a price, a quantity, and a variant too many
    rows: [[Url, Price], [a, 5]]
    expect:
      - includes: { title: T, variants: [{ options: [Red], ${variant} }, { options: [] }] }
`),
    ).toEqual([
      'tests.0.expect.0.includes.variants.0.options.0: variants[0].options[0]: expected "Red", found nothing',
      'tests.0.expect.0.includes.variants.0.regularPrice: variants[0].regularPrice: expected 6, found 5',
      'tests.0.expect.0.includes.variants.1: variants[1]: expected {"options":[]}, found nothing',
    ]);
  });

  it('fail with the message of what stops an import', async () => {
    expect(await problems('  - { name: x, rows: [[Price], [1]], expect: [] }')).toEqual([
      expect.stringContaining('tests.0: The file lacks the required column url'),
    ]);
    expect(await problems('  - { name: x, now: soon, rows: [[Url], [1]], expect: [] }')).toEqual([
      'tests.0.now: expected a time such as 2026-01-01T00:00:00Z',
    ]);
  });
});
