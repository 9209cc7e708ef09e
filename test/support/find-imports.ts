/** An import of a source text. */
export interface FoundImport {
  readonly specifier: string;
  /** Whether it is gone when the types are: `import type`, `export type`. */
  readonly typeOnly: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
/** Of a file that is no part of this program; test/architecture.test.ts names where that is allowed. */
export const OF_WORKSPACE = 'import(/* of the workspace */ ';
const CALL = /\bimport\((?!\/\* of the workspace \*\/)\s*(?:(['"])([^'"]*)\1\s*[,)])?/g;

/**
 * Every import of a source text, in whatever form: statements, re-exports, for side effects only, `import()` and
 * `import('…').Type` (which counts as one of values: write `import type` instead).
 * An `import()` of something computed is an Error, since what it reaches is unknown, unless it is marked as `OF_WORKSPACE`.
 */
export function findImports(text: string): FoundImport[] {
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  return [
    ...[...code.matchAll(STATEMENT)].map(([, typeOnly, specifier = '']) => ({
      specifier,
      typeOnly: typeOnly !== undefined,
    })),
    ...[...code.matchAll(CALL)].map(([found, , specifier]) => {
      if (specifier === undefined) throw new Error(`${found}…) names no file that could be read here`);
      return { specifier, typeOnly: false };
    }),
  ];
}
