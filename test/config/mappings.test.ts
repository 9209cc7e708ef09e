import { describe, expect, it } from 'vitest';
import { MAPPING, problemsOf, workspace } from './support.ts';

const withCsv = (csv: string) => workspace({ 'mappings/goods.yaml': `${MAPPING}csv: ${csv}\n` });

describe('a mapping', () => {
  it('names the encoding and the delimiter as everybody does', () => {
    const { spec } = withCsv('{ encoding: latin1, delimiter: tab }').mapping('goods');
    expect(spec.csv).toEqual({ encoding: 'windows-1252', delimiter: '\t' });
  });

  it.each([
    'description: ["Id", { template: "URL{value}" }]',
    'description: "URL{Id}"',
    'description: { const: "URLa.png" }',
  ])('sends no address with a password: %s', (field) => {
    const written = field.replace('URL', 'https://shop:hidden-word@images.example/');
    const files = { 'mappings/goods.yaml': MAPPING.replace('product: {', `product: { ${written},`) };
    const [problem, ...others] = problemsOf(() => workspace(files).mapping('goods'));
    expect(problem).toContain('expected an address without user and password: the store shows it');
    expect(`${problem}${others}`).not.toContain('hidden-word');
  });

  it('refuses an unknown encoding, before a run meets it', () => {
    expect(problemsOf(() => withCsv('{ encoding: utf-9 }').mapping('goods'))).toEqual([
      expect.stringContaining(
        "csv.encoding: expected an encoding such as utf-8, utf-16le, windows-1252 or shift_jis, found 'utf-9'",
      ),
    ]);
  });
});
