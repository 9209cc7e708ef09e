import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBounds } from './bounds.ts';
import { boundsOf, isWorse, journeysOf, measureStructure } from './structure.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('the structure of src/', () => {
  const structure = measureStructure();

  it('gets no worse in any ratio (npm run structure)', () => {
    const measured = boundsOf(structure);
    const bounds = readBounds();
    expect(Object.keys(measured).sort()).toEqual(Object.keys(bounds).sort());
    const worse = Object.entries(measured).filter(([name, value]) => isWorse(value, bounds[name] ?? [0]));
    expect(worse).toEqual([]);
  });

  it('has the files of the journeys that docs/architecture.md names', () => {
    const gone = structure.journeys.flatMap(({ files }) =>
      files.filter((file) => !existsSync(join(ROOT, file))),
    );
    expect(gone).toEqual([]);
    expect(structure.journeys.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['a row', 'a 503', 'a scheduled tick', 'a rejected row']),
    );
  });
});

it('is worse with more files, also in relation, and not after a merge or growth', () => {
  const bound = [100, 400] as const;
  expect([isWorse([101, 400], bound), isWorse([100, 300], bound), isWorse([110, 450], bound)]).toEqual([
    true,
    false,
    false,
  ]);
  expect([isWorse([9], [8]), isWorse([8], [8])]).toEqual([true, false]);
});

it('knows registries that exist', () => {
  expect(measureStructure().entriesOfRegistries.length).toBeGreaterThan(40);
});

it('reads journeys from a list', () => {
  const document =
    '# A\n\n- *a row*: `src/a.ts` → `src/b.ts`\n  and `src/a.ts`\n- *nothing*: no file\n\n## B\n';
  expect(journeysOf(document)).toEqual([{ name: 'a row', files: ['src/a.ts', 'src/b.ts'] }]);
});

describe('names in src/', () => {
  const lines = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .map((text, index) => ({ text, place: `${file}:${index + 1}` })),
  );

  it.each([
    [
      'a bound is MAX_… or MIN_…',
      /\b(?:const|static readonly) (?:MOST|LEAST|(?:LONG|SHORT|FEW|LARG|SMALL|NARROW|WID|DEEP|TALL|FARTH)EST)(?:_|\b)/,
    ],
    ['a rate is …_PER_…', /\b(?:const|static readonly) [A-Z0-9]+_AN?_[A-Z0-9_]+ /],
    ['a literal is not spread only to save lines', /^\s*\.\.\.(?:\{ [^}]*\}|\[[^\]]*\]),?$/],
  ])('follow the rule: %s', (_rule, pattern) => {
    expect(lines.length).toBeGreaterThan(10_000);
    expect(lines.filter(({ text }) => pattern.test(text)).map(({ place }) => place)).toEqual([]);
  });
});
