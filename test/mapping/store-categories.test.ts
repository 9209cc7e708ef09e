import { expect, it } from 'vitest';
import { categoryFinder } from '../../src/mapping/product/compile-categories.ts';
import { mapAll, mappingOf, table } from './mapping-setup.ts';

const LIST = [
  { id: 1, name: 'Kitchen', url: 'kitchen', parentCategory: 0 },
  { id: 2, name: 'Mugs', url: 'mugs', parentCategory: 1 },
  { id: 3, name: 'Men', url: 'men', parentCategory: 0 },
  { id: 4, name: 'Women', url: 'women', parentCategory: 0 },
  { id: 5, name: 'Shoes', url: 'men-shoes', parentCategory: 3 },
  { id: 6, name: 'Shoes', url: 'women-shoes', parentCategory: 4 },
  { id: 7, name: 'Gifts', url: 'gifts-2', parentCategory: 0 },
];

function find(path: string, form: 'objects' | 'ids' = 'objects') {
  const levels = path.split(' > ');
  return categoryFinder({ list: LIST, form })(levels, levels.at(-1) ?? '');
}

it.each([
  ['the only one of its name', 'mugs', LIST[1]],
  ['one by its path', 'Women > Shoes', LIST[5]],
  ['one whose store path is shorter', 'Shop > Kitchen > Mugs', LIST[1]],
  ['one with a url of its own', 'Gifts', LIST[6]],
  ['none under another parent', 'Kids > Shoes', undefined],
  ['none that is not there', 'Lamps', undefined],
])('finds %s (%s)', (_what, path, category) => {
  expect(find(path)).toEqual(category);
});

it('leaves a category that the store makes of its name to its name', () => {
  expect(find('Kitchen')).toBeUndefined();
  expect(find('Kitchen', 'ids')).toBe(1);
});

it('refuses to guess', () => {
  expect(() => find('Shoes')).toThrow(/2 categories of this name/);
  expect(() => find('Lamps', 'ids')).toThrow(/create it there first/);
});

const CATEGORIES = mappingOf(`
import: products
columns: { code: Code, price: Price, category: Category }
product: { url: code, title: code, categories: [category, { split: "|" }] }
variants: { pricing: { price: price } }
`);

it.each([
  ['C++|C#|C', ['c'], 'another one of the product has the same url'],
  ['18+|#1 Gifts|Kids + Baby', ['18', '1-gifts', 'kids-baby'], null],
  ['T-Shirts|T Shirts|t-shirts|Café|Cafe', ['t-shirts', 'cafe'], null],
  ['Sale|%', ['sale'], 'no url can be made of the name'],
])(
  'categories %s of a product have the urls %o, and a note says why some are left out: %s',
  async (categories, urls, why) => {
    const { mapped } = await mapAll(CATEGORIES, [
      table(['Code', 'Price', 'Category'], [['a', '1', categories]]),
    ]);
    const notes = why === null ? [] : [`categories: ${why}, left out`];
    expect(mapped).toMatchObject([{ body: { categories: urls.map((url) => ({ url })) } }]);
    expect(Object(mapped[0]).notes ?? []).toEqual(notes);
  },
);
