import { describe, expect, it } from 'vitest';
import { type MappingSpec, mappingSchema } from '../../src/mapping/spec/mapping-spec.ts';
import { guessMapping, recogniseFile } from '../../src/onboarding/guess-mapping.ts';
import { explainGuess } from '../../src/onboarding/preview-source.ts';

function shop(
  columns: Readonly<Record<string, string | string[]>>,
  required: readonly string[] = ['title'],
): MappingSpec {
  return mappingSchema.parse({
    import: 'products',
    columns,
    required,
    product: { url: 'title', title: 'title' },
    variants: { pricing: { price: 'price' } },
  });
}

const ALPHA = {
  name: 'alpha',
  shipped: true,
  spec: shop({ title: 'Title', price: 'Price', sku: 'Alpha SKU' }),
};
const BETA = {
  name: 'beta',
  shipped: true,
  spec: shop({ title: ['Title', 'Titel'], price: ['Price', 'Preis'], code: 'Beta code' }),
};

describe('the guess of a mapping from a header', () => {
  it('goes by the columns that only one format has', () => {
    const { best, fitting } = guessMapping(['Title', 'Price', 'Beta code', 'Colour'], [ALPHA, BETA]);
    expect(best).toMatchObject({ name: 'beta', distinctive: ['Beta code'], headers: 4, obstacle: null });
    expect(best?.used).toEqual(['Title', 'Price', 'Beta code']);
    expect(fitting.map(({ name }) => name)).toEqual(['beta', 'alpha']);
  });

  it('takes none where several formats fit alike, and names them', () => {
    const { best, fitting } = guessMapping(['Title', 'Price'], [ALPHA, BETA]);
    expect(best).toBeUndefined();
    expect(fitting.map(({ name }) => name)).toEqual(['alpha', 'beta']);
  });

  it('takes none whose required columns are missing, and says which', () => {
    const { best, fitting, near } = guessMapping(['Price', 'Alpha SKU'], [ALPHA, BETA]);
    expect(best).toBeUndefined();
    expect(fitting).toEqual([]);
    expect(near[0]).toMatchObject({ name: 'alpha', obstacle: "the file has no 'Title'" });
  });

  it('does not take a mapping one of whose columns repeats in the file, and says which', () => {
    const { fitting, near } = guessMapping(['Title', 'Price', 'Title', 'Alpha SKU'], [ALPHA]);
    expect(fitting).toEqual([]);
    expect(near[0]?.used).toEqual(['Title', 'Price', 'Alpha SKU']);
    expect(near[0]?.obstacle).toMatch(
      /^the mapping uses the column 'Title', but the file has it more than once/,
    );
  });

  it('does not take a mapping whose pattern matches several columns', () => {
    const pattern = { name: 'pattern', shipped: true, spec: shop({ title: 'Title', price: 'Price ({of})' }) };
    const { best, near } = guessMapping(
      ['Title', 'Price (tax excl.)', 'Price (tax incl.)', 'Alpha SKU', 'Price'],
      [ALPHA, pattern],
    );
    expect(best?.name).toBe('alpha');
    expect(near).toEqual([]);
  });

  it("goes by a workspace's own mapping before the shipped one that it was made of", () => {
    const own = { ...ALPHA, name: 'my-alpha', shipped: false };
    expect(guessMapping(['Title', 'Price', 'Alpha SKU'], [ALPHA, BETA, own]).best?.name).toBe('my-alpha');
  });

  it('knows nothing of a header without a familiar column', () => {
    expect(guessMapping(['Betreff', ''], [ALPHA, BETA])).toEqual({ best: undefined, fitting: [], near: [] });
  });
});

describe('the format of a file', () => {
  const GAMMA = {
    name: 'gamma',
    shipped: true,
    spec: shop({ title: 'gtt', price: 'gpp', sku: 'gkk', stock: 'gss' }, ['title', 'price']),
  };
  const recognised = (header: readonly string[], known: readonly (typeof GAMMA)[] = [GAMMA]) =>
    recogniseFile({ header, rows: [header.map((text) => (text === 'price' ? '5.00' : `A ${text}`))] }, known);

  it('is recognised by several columns that only this format has', () => {
    expect(recognised(['gtt', 'gpp', 'gkk', 'price']).best?.name).toBe('gamma');
  });

  it('is not recognised by few, and what the mapping would leave out is named', () => {
    const { best, lost, guess } = recognised(['gtt', 'gpp', 'price']);
    expect(guess.fitting.map(({ name }) => name)).toEqual(['gamma']);
    expect(best).toBeUndefined();
    expect(lost.get('gamma')).toEqual([{ header: 'price', field: 'Price' }]);
  });

  it('is recognised by two if the mapping leaves out no column that is understood', () => {
    expect(recognised(['gtt', 'gpp', 'xy']).best?.name).toBe('gamma');
  });

  it('is that of a mapping of the workspace, whatever columns it has', () => {
    const own = { ...GAMMA, name: 'mine', shipped: false };
    expect(recognised(['gtt', 'gpp', 'price'], [GAMMA, own]).best?.name).toBe('mine');
  });

  it('is not that of a mapping of the workspace that leaves out as many columns as it knows', () => {
    const spec = mappingSchema.parse({
      import: 'contacts',
      columns: { email: 'Email', name: 'Name', phone: 'Phone' },
      required: ['email'],
      contact: { email: 'email', name: 'name', phone: 'phone' },
    });
    const row = ['a@x.example', 'Ada', 'Bonn', 'Germany', '+49 228 123456'];
    const file = (...header: string[]) => ({ header, rows: [row.slice(0, header.length)] });
    const known = [{ name: 'mine', shipped: false, spec }];
    const weak = recogniseFile(file('Email', 'Name', 'City', 'Country'), known);
    expect(weak.best).toBeUndefined();
    expect(explainGuess(weak)).toContain("  mine would leave out 'City' (City) and 'Country' (Country).");
    const strong = recogniseFile(file('Email', 'Name', 'City', 'Country', 'Phone'), known);
    expect(strong.best?.name).toBe('mine');
    expect(explainGuess(strong)).toContain(
      "  It leaves out 'City' (City) and 'Country' (Country), which a new mapping would use.",
    );
  });
});
