import { describe, expect, it } from 'vitest';
import { checkMapping, compileMapping } from '../../src/mapping/compile-mapping.ts';
import { DEFAULT_LIMITS, type InputLimits } from '../../src/model/input-limits.ts';
import { MappingError } from '../../src/model/storeferry-error.ts';
import { brief, CONTEXT, mapAll, mappingOf, table } from './mapping-setup.ts';

const limited = (limits: Partial<InputLimits>) => ({ limits: { ...DEFAULT_LIMITS, ...limits } });

describe('the limit recordRows', () => {
  it.each([
    'group: { by: id, rows: adjacent }',
    'group: { by: id, rows: anywhere }',
    'group: { starts: { title: present } }',
    'group: { parent: parent, names: [id] }',
  ])('lets through a record of as many rows, and rejects one of more: %s', async (group) => {
    const spec = mappingOf(`
import: products
columns: { id: Id, title: Title, size: Size${group.includes('parent') ? ', parent: Parent' : ''} }
${group}
product: { url: id, title: title }
options: { columns: { Size: size } }
variants: { rows: { size: present }, pricing: { price: { const: 1 } } }
`);
    const rows = ['S', 'M', 'L'].map((size) => [group.includes('parent') ? '' : 'a', 'a', '', size]);
    const all = () => table(['Id', 'Parent', 'Title', 'Size'], [['a', '', 'A', ''], ...rows]);
    const outcome = async (recordRows: number) =>
      (await mapAll(spec, [all()], limited({ recordRows }))).mapped.map(brief);
    expect(await outcome(4)).toEqual(['record a (4 rows)']);
    expect(await outcome(3)).toContain('rejected a too-many-rows (3 rows)');
  });
});

describe('the limit combinations', () => {
  it('is set by the job, and its message says so', async () => {
    const spec = mappingOf(`
import: products
columns: { id: Id, 'value{n}': 'Value{n}', 'name{n}': 'Name{n}' }
product: { url: id, title: id }
options: { names: 'name{n}', values: 'value{n}', listed: ['value{n}', { split: ; }], combine: true }
variants: { rows: { id: blank }, pricing: { price: { const: 1 } } }
`);
    const row = () =>
      table(['Id', 'Name1', 'Value1', 'Name2', 'Value2'], [['a', 'Size', 'S;M;L', 'Color', 'red;blue']]);
    const outcome = async (combinations: number) =>
      (await mapAll(spec, [row()], limited({ combinations }))).mapped[0];
    expect(await outcome(6)).toMatchObject({ kind: 'record' });
    expect(await outcome(5)).toMatchObject({
      kind: 'rejected',
      reason: {
        code: 'too-many-combinations',
        line: 2,
        message:
          'beyond the limit combinations (5): the listed options combine to 6 variants. If this is correct, set a higher `limits: { combinations: … }` in the job.',
      },
    });
  });
});

describe('the limit patternLength', () => {
  const spec = mappingOf(`
import: products
columns: { id: Id, kind: Kind }
expect: { id: '[a-z]{1,9}' }
skip: [{ when: { kind: { matches: '[a-z]{1,9}' } }, reason: x }]
product: { url: id, title: [id, { replace: '[a-z]{1,9}', with: '' }], description: [id, { extract: '[a-z]{1,9}' }] }
variants: { pricing: { price: { const: 1 } } }
`);

  it('holds for every pattern of a mapping, in a check and in a run', () => {
    expect(checkMapping(spec, limited({ patternLength: 10 }).limits)).toEqual([]);
    const problems = checkMapping(spec, limited({ patternLength: 9 }).limits);
    expect(problems.map(({ path }) => path.join('.')).sort()).toEqual([
      ...[
        'expect.id',
        'product.description.1.extract',
        'product.title.1.replace',
        'skip.0.when.kind.matches',
      ],
    ]);
    for (const { message } of problems) {
      expect(message).toBe(
        'beyond the limit patternLength (9): the pattern has 10 characters. If this is correct, set a higher `limits: { patternLength: … }` in the job.',
      );
    }
    expect(() => compileMapping(spec, { ...CONTEXT, ...limited({ patternLength: 9 }) })).toThrow(
      MappingError,
    );
  });

  it.each(['a**', '(?=a)b', '(a)\\1', '(a{1000}){1000}', '['])(
    'nor is RE2 given what it cannot do: %s',
    (pattern) => {
      const written = mappingOf(
        `import: products\ncolumns: { id: Id }\nproduct: { url: id, title: [id, { extract: '${pattern}' }] }\nvariants: { pricing: { price: { const: 1 } } }\n`,
      );
      expect(checkMapping(written)).toMatchObject([
        {
          path: ['product', 'title', 1, 'extract'],
          message: expect.stringContaining('not a pattern (RE2 syntax)'),
        },
      ]);
    },
  );

  it.each(['a{1000}', '(((a*)*)*){200}', '(?:a?){600}', '.{0,1000}', 'a{300}b{300}c{300}'])(
    'nor a pattern whose repeats make it long: %s',
    (pattern) => {
      expect(checkMapping({ ...spec, expect: { id: pattern } })).toMatchObject([
        {
          path: ['expect', 'id'],
          message: expect.stringMatching(
            /^the pattern has [\d,]+ steps with its repeats written out, at most 600 more than characters/,
          ),
        },
      ]);
    },
  );

  it.each(['.{0,255}x', '(?:[a-z]{1,5}-){0,20}', 'a long sentence '.repeat(60)])(
    'but an ordinary one: %s',
    (pattern) => {
      expect(checkMapping({ ...spec, expect: { id: pattern } })).toEqual([]);
    },
  );
});
