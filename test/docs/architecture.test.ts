import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { journeysOf } from '../structure/structure.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const ARCHITECTURE = join('docs', 'architecture.md');
/** What a comment or document may name. The CHANGELOG names what there was. */
const TEXTS = ['README.md', 'CONTRIBUTING.md', 'docs/*.md', 'src/**/*.md', 'test/**/*.md', 'src/**/*.ts'];

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The paths that stand in backquotes; one with a wildcard or a gap names no single file. */
function pathsIn(text: string): string[] {
  return [...text.matchAll(/`((?:src|test)\/[^`\s*{}<>…]*)`/g)].map(([, path = '']) => path);
}

describe('docs/architecture.md', () => {
  it('names many files and folders', () => {
    expect(pathsIn(read(ARCHITECTURE)).length).toBeGreaterThan(30);
  });

  it('leads from the socket to the retry of a 503 through at most eight files', () => {
    const { files = [] } = journeysOf(read(ARCHITECTURE)).find(({ name }) => name === 'a 503') ?? {};
    expect(files.at(0)).toBe('src/storefront/exchange.ts');
    expect(files.at(-1)).toBe('src/storefront/sender.ts');
    expect(files.length).toBeLessThanOrEqual(8);
  });
});

it('every path of src/ and test/ that a document or a comment names exists', () => {
  const files = globSync(TEXTS, { cwd: ROOT });
  expect(files).toContain(ARCHITECTURE);
  const wrong = files.flatMap((file) =>
    pathsIn(read(file))
      .filter((path) => !existsSync(join(ROOT, path)))
      .map((path) => `${file}: ${path}`),
  );
  expect(wrong).toEqual([]);
});
