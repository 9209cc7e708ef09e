import { createContext, runInContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { constructedDuring, type FoundPattern, findPatterns } from './find-patterns.ts';

// Any text of a source, a store or a user may meet any pattern, so each takes linear time for texts of any shape.

/** Finds the patterns that are not linear, with a shape that shows it. */
const SCREENED_LENGTH = 4_096;
const SHORT_LENGTH = 16 * 1_024;
const LONG_LENGTH = 64 * 1_024;
/** A linear pattern takes four times as long for the long text as for the short one, a quadratic one sixteen times. */
const MAX_GROWTH = 8;
/** A quadratic pattern takes about as long as a known one for the screened text, 256 times as long for the long one. */
const SUSPICIOUS_SHARE = 1 / 20;
const SLOW_SHARE = 8;
/** For a search that never ends, as an exponential one. It is one only if it had the processor for half of this time. */
const TIMEOUT_MS = 1_000;

const { literals, constructing } = findPatterns();

it('finds the patterns of the program', () => {
  expect(literals.length).toBeGreaterThan(400);
  expect(literals).toContainEqual(
    expect.objectContaining({ file: 'src/text/mask-personal-data.ts', flags: 'giu' }),
  );
});

it('takes linear time with every written pattern', () => {
  expect(slowPatterns(literals)).toEqual([]);
});

it('takes linear time with every constructed pattern', async () => {
  const built = await constructedDuring(constructAll);
  // A file that constructs within a function needs a call in `constructAll`.
  const missing = [...constructing].filter(
    ([file, places]) => new Set(built.filter((one) => one.file === file).map(keyOf)).size < places,
  );
  expect(missing).toEqual([]);
  expect(slowPatterns(built)).toEqual([]);
});

it('recognises a pattern that takes quadratic or exponential time', () => {
  const slow = ['\\s+$', '[^@ ]+@', '“[^”]*”', '^(?:a|a)*$', '^\\s+|\\s+$', '^\\d[\\d ]*\\s*$'].map(
    (source) => ({
      file: '',
      source,
      flags: 'u',
    }),
  );
  expect(slowPatterns(slow)).toHaveLength(slow.length);
  expect(slowPatterns([{ file: '', source: '(?<!\\s)\\s+$|[^@ ]{1,64}@', flags: 'u' }])).toEqual([]);
});

/** Loads each file that constructs patterns, and calls what constructs within functions. */
async function constructAll(): Promise<void> {
  vi.resetModules();
  for (const file of constructing.keys()) await import(/* @vite-ignore */ `../../${file}`);
  const { secretRedactor, maskPeople } = await import('../../src/text/mask-personal-data.ts');
  maskPeople('Anna Smith, 5 Long Road, a@b.example', ['Anna  Smith', '5 Long Road', 'a@b.example']);
  const redactor = secretRedactor();
  redactor.add('https://me:pass%20word@host.example/a path?key=12345678');
  redactor.redact('');
  const { keepPlaceholders } = await import('../../src/config/yaml-text.ts');
  keepPlaceholders('', `\${A}\${B:b}`);
  const { editYaml, pausedPart } = await import('../../src/config/yaml-text.ts');
  pausedPart('a: 1\n', 'schedule');
  editYaml('a: 1\n', [{ set: ['schedule'], value: 1 }]);

  const { readProductHeader } = await import('../../src/onboarding/guess/header-reading.ts');
  readProductHeader('Price of it');
  const { readAmount } = await import('../../src/onboarding/guess/sampled-column.ts');
  readAmount('1');

  const { newScope, Problems } = await import('../../src/mapping/scope.ts');
  const { mappingSchema } = await import('../../src/mapping/spec/mapping-spec.ts');
  const { compileSteps } = await import('../../src/mapping/values/compile-steps.ts');
  const spec = mappingSchema.parse({ import: 'contacts', columns: {}, contact: {} });
  const scope = newScope(spec, { problems: new Problems(), params: new Map(), lookups: new Map() });
  const transform = { date: { formats: ['dd/MM/yyyy  HH:mm', 'd. M.  yyyy h:mm a'] } };
  compileSteps(scope, 'text', [{ path: [0], transform }]);
}

/** The patterns, each with a shape of text for which its time grows faster than the text. */
function slowPatterns(patterns: readonly FoundPattern[]): string[] {
  const [known = 0] = searchTimes(
    { source: '0+$', flags: '' },
    [{ begins: '', repeats: '0' }],
    SCREENED_LENGTH,
  );
  return [...new Map(patterns.map((one) => [one.file + keyOf(one), one])).values()].flatMap((pattern) => {
    const shapes = shapesFor(pattern.source);
    const times = searchTimes(pattern, shapes, SCREENED_LENGTH);
    const suspicious = shapes
      .map((shape, index) => ({ shape, time: times[index] ?? 0 }))
      .filter(({ time }) => time > known * SUSPICIOUS_SHARE)
      .sort((one, other) => other.time - one.time);
    const shape = suspicious.find((one) => isSuperlinear(pattern, one.shape, known * SLOW_SHARE))?.shape;
    return shape === undefined ? [] : [`${pattern.file} ${keyOf(pattern)} with ${JSON.stringify(shape)}`];
  });
}

function keyOf({ source, flags }: Searched): string {
  return `/${source}/${flags}`;
}

function isSuperlinear(pattern: Searched, shape: Shape, slow: number): boolean {
  const time = (length: number) => searchTimes(pattern, [shape], length)[0] ?? 0;
  const long = time(LONG_LENGTH);
  // Of the processor's time, so nothing else can have caused it.
  if (long === Number.POSITIVE_INFINITY) return true;
  const isSlow = (taken: number) => taken > slow && taken > MAX_GROWTH * time(SHORT_LENGTH);
  // The machine may have been interrupted: a slow pattern is slow each time.
  return isSlow(long) && isSlow(time(LONG_LENGTH));
}

/** What is repeated, after a beginning without which an anchored pattern would not come so far. */
interface Shape {
  readonly begins: string;
  readonly repeats: string;
}

function textOf({ begins, repeats }: Shape, length: number): string {
  return `${begins}${repeats.repeat(Math.ceil(length / repeats.length)).slice(0, length)}\u0001`;
}

const COMMON_SHAPES = [
  ...`aA0 \t\n"'\`<>&;()[]{}.,-+/\\$%@=:#*_|^~?!éß漢“”„«»‘’•\u0301\u00a0`,
  ...['aGVsbG8x', '<b>', '<a ', '&amp;', '%20', '\r\n', '\\"', '0,0', '1 a ', 'a a 1 ', 'a, ', 'A a '],
];

/** Repeated characters, pairs and triples of what the pattern distinguishes, and the words in it; characters also after others. */
function shapesFor(source: string): Shape[] {
  const written = source.replaceAll(/\\[pP]\{[^}]*\}|\\[a-zA-Z]|\(\?[<!=:a-z]+|[()[\]{}|*+?^$\\]/g, '');
  const escaped = [...source.matchAll(/\\(\W)/g)].map(([, sign = '']) => sign);
  const signs = [...new Set([...written, ...escaped])].filter((one) => !/[a-z0-9]/i.test(one)).slice(0, 6);
  const letters = [...new Set(written)].filter((one) => /[a-z]/i.test(one)).slice(0, 2);
  const parts = [...new Set(['a', 'A', '0', ' ', ...signs, ...letters])];
  const words = source.match(/[a-z]{2,}/gi) ?? [];
  const pairs = parts.flatMap((first) => parts.map((second) => first + second));
  const few = parts.slice(0, 6);
  const triples = few.flatMap((first) => few.flatMap((second) => few.map((third) => first + second + third)));
  const ofWords = words.flatMap((word) => [word, `${word} `, `${word}1`]);
  const alone = new Set([...COMMON_SHAPES, ...parts, parts.join(''), ...ofWords, ...pairs, ...triples]);
  const beginnings = new Set(['a', '0', 'a ', ...signs.slice(0, 3), ...words.slice(0, 2)]);
  return [
    ...[...alone].map((repeats) => ({ begins: '', repeats })),
    ...[...beginnings].flatMap((begins) => parts.slice(0, 8).map((repeats) => ({ begins, repeats }))),
  ];
}

type Searched = Pick<FoundPattern, 'source' | 'flags'>;

const sandbox = createContext({ source: '', flags: '', texts: [''], took: (_index: number) => {} });
const SEARCH = `
  const pattern = new RegExp(source, flags);
  for (const [index, text] of texts.entries()) {
    // Finds every match, and makes no objects of them, which would cost more than most searches.
    text.replace(pattern, '');
    took(index);
  }`;

/** The CPU time of this thread that all matches take, in microseconds, by shape; infinite for those that a timeout ended. */
function searchTimes(
  { source, flags }: Searched,
  shapes: readonly Shape[],
  length: number,
  timeoutMs = TIMEOUT_MS,
): number[] {
  const times = shapes.map(() => Number.POSITIVE_INFINITY);
  const startedAt = cpuTime();
  const texts = shapes.map((shape) => textOf(shape, length));
  let before = cpuTime();
  const took = (index: number) => {
    times[index] = cpuTime() - before;
    before = cpuTime();
  };
  Object.assign(sandbox, { source, flags: `${flags.replaceAll(/[gy]/g, '')}g`, texts, took });
  try {
    runInContext(`{${SEARCH}}`, sandbox, { timeout: timeoutMs });
  } catch (error) {
    // An error of the other context is no Error of this one.
    if (Object(error).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    // Other processes had the processor: this says nothing of the pattern.
    if (cpuTime() - startedAt < (TIMEOUT_MS * 1_000) / 2)
      return searchTimes({ source, flags }, shapes, length, timeoutMs * 2);
  }
  return times;
}

function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
