import { describe, expect, it } from 'vitest';
import { findImports } from './find-imports.ts';

const specifiers = (text: string) => findImports(text).map(({ specifier }) => specifier);

describe('finding the imports of a file', () => {
  it.each([
    ["import { a } from './a.ts';"],
    ["import {\n  a,\n  b,\n} from './a.ts';"],
    ["import a, * as b from './a.ts';"],
    ["import './a.ts';"],
    ["export { a } from './a.ts';"],
    ["export * from './a.ts';"],
    ["const { a } = await import('./a.ts');"],
    ["const a = import(\n  './a.ts',\n);"],
    ['const a = import("./a.ts");'],
    ["let a: import('./a.ts').A;"],
    ["let a: typeof import('./a.ts');"],
  ])('sees %j', (text) => {
    expect(findImports(text)).toEqual([{ specifier: './a.ts', typeOnly: false }]);
  });

  it.each([["import type { A } from './a.ts';"], ["export type { A } from './a.ts';"]])(
    'knows that %j is gone with the types',
    (text) => {
      expect(findImports(text)).toEqual([{ specifier: './a.ts', typeOnly: true }]);
    },
  );

  it('sees each of several, and none in what is exported, said or commented', () => {
    const text = [
      "import a from 'a';",
      "import { b } from 'b';",
      "export const from = 'c';",
      "// import d from 'd';",
      " * import('e')",
      "const f = 'import it (as CSV)';",
    ].join('\n');
    expect(specifiers(text)).toEqual(['a', 'b']);
  });

  it('refuses an import() whose target cannot be read', () => {
    expect(() => findImports("await import('./' + name)")).toThrow('names no file');
    expect(() => findImports('await import(name)')).toThrow('names no file');
    expect(() => findImports('await import(/* whatever */ name)')).toThrow('names no file');
    expect(findImports('await import(/* of the workspace */ name)')).toEqual([]);
  });
});
