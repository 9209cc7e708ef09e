import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseYaml, readYaml } from '../../src/config/yaml-file.ts';
import { folder } from './support.ts';

function problems(text: string): string[] {
  return parseYaml(text, 'a.yaml').problems.map(
    ({ place, message }) => `${place.line}:${place.column} ${message}`,
  );
}

describe('a YAML file', () => {
  it('says where every value and every key stands, in any style', () => {
    const word = fc.stringMatching(/^[a-z]{1,6}$/);
    const tree = fc.letrec<{ node: unknown; leaf: unknown }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        tie('leaf'),
        fc.dictionary(word, tie('node'), { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
        fc.array(tie('node'), { minLength: 1, maxLength: 4 }),
      ),
      leaf: fc.constant(null),
    })).node;
    fc.assert(
      fc.property(tree, fc.boolean(), fc.constantFrom(1, 2, 4), (shape, flow, indent) => {
        const leaves: { path: (string | number)[]; token: string }[] = [];
        const number = (node: unknown, path: (string | number)[]): unknown => {
          if (Array.isArray(node)) return node.map((item, index) => number(item, [...path, index]));
          if (node !== null && typeof node === 'object') {
            return Object.fromEntries(
              Object.entries(node).map(([key, item]) => [key, number(item, [...path, key])]),
            );
          }
          const token = `value${leaves.length}`;
          leaves.push({ path, token });
          return token;
        };
        const text = stringify(number(shape, []), { collectionStyle: flow ? 'flow' : 'block', indent });
        const file = parseYaml(text, 'a.yaml');
        const lines = text.split('\n');
        const at = (path: (string | number)[], part: 'key' | 'value') => {
          const { line = 0, column = 0 } = file.placeOf(path, part);
          return lines[line - 1]?.slice(column - 1) ?? '';
        };
        for (const { path, token } of leaves) {
          expect(at(path, 'value').startsWith(token)).toBe(true);
          const key = path.at(-1);
          if (typeof key === 'string') expect(at(path, 'key').startsWith(key)).toBe(true);
        }
      }),
    );
  });

  it('gives for what is absent the place of what is around it', () => {
    const file = parseYaml('main:\n  limits:\n    concurrency: 1\n', 'a.yaml');
    expect(file.placeOf(['main', 'limits', 'other'], 'value')).toEqual({
      file: 'a.yaml',
      line: 3,
      column: 5,
    });
    expect(file.placeOf(['main', 'nothing', 'at', 'all'], 'value')).toMatchObject({ line: 2, column: 3 });
    expect(file.placeOf(['else'], 'key')).toMatchObject({ line: 1, column: 1 });
  });

  it('follows an alias to where the value stands', () => {
    const file = parseYaml('a: &x { b: 1 }\nc: *x\n', 'a.yaml');
    expect(file.content).toEqual({ a: { b: 1 }, c: { b: 1 } });
    expect(file.placeOf(['c', 'b'], 'value')).toMatchObject({ line: 1, column: 12 });
  });

  it('counts lines alike with CRLF and with a byte order mark', () => {
    const dir = folder({ 'a.yaml': '\uFEFFa: 1\r\nb:\r\n  c: x\r\n' });
    const file = readYaml(`${dir}/a.yaml`, 'a.yaml');
    expect(file?.placeOf(['a'], 'key')).toMatchObject({ line: 1, column: 1 });
    expect(file?.placeOf(['b', 'c'], 'value')).toMatchObject({ line: 3, column: 6 });
  });

  it('keeps keys as they are written', () => {
    expect(parseYaml('01: a\nyes: b\nnull: c\n1.0: d\n', 'a.yaml').content).toEqual({
      '01': 'a',
      yes: 'b',
      null: 'c',
      '1.0': 'd',
    });
  });

  it.each([
    ['a repeated key', 'a: 1\nb: 2\na: 3\n', '3:1 this key occurs twice; keep one'],
    ['a tab', 'a:\n\tb: 1\n', '2:1 a tab is used for indentation; YAML takes spaces only'],
    ['a colon without space', 'a:b\nc: d\n', "1:1 expected 'key: value'; the colon needs a space after it"],
    ['an open bracket', 'a: [1, 2\n', 'a bracket is not closed'],
    ['an open quote', 'a: "x\nb: 3\n', 'a closing quote'],
    ['an unquoted placeholder', `a: { url: \${X:}, b: 1 }\n`, 'must be in quotes'],
    ['a default with a blank', `a: \${X: b}\n`, 'must be in quotes'],
    ['a second document', 'a: 1\n---\nb: 1\n', '2:1 a second document (---) begins; a file has one'],
    ['an unknown alias', 'a: *nothing\n', '1:4 an alias (*name) without an anchor'],
    ['an alias within itself', 'a: &x [*x]\n', '1:8 an alias (*name) inside its own value'],
    ['a tag', 'a: !!js/function x\n', 'tags (!name) are not used here'],
    ['a key that is a list', '? [a]\n: 1\n', 'expected a plain name as the key'],
    ['a key that would change objects', 'a: { __proto__: { b: 1 } }\n', "1:6 '__proto__' cannot be a key"],
    ['brackets without end', `a: ${'['.repeat(5000)}\n`, 'nested too deeply'],
  ])('refuses %s', (_, text, message) => {
    expect(problems(text).join('\n')).toContain(message);
    expect(parseYaml(text, 'a.yaml').content).toBeNull();
  });

  it('reads a map of many keys in linear time, and names each key that occurs twice', () => {
    const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: 1\n`).join('');
    const time = (count: number) => {
      const text = keys(count);
      const before = process.threadCpuUsage();
      expect(parseYaml(text, 'a.yaml').problems).toEqual([]);
      const { user, system } = process.threadCpuUsage(before);
      return user + system;
    };
    time(2_000);
    // Linear is 8 times as much, quadratic 64 times.
    expect(time(16_000)).toBeLessThan(32 * Math.min(time(2_000), time(2_000), time(2_000)));
    expect(problems(`${keys(3)}k1: 2\nm: { a: 1, "a": 2 }\n`)).toEqual([
      '4:1 this key occurs twice; keep one',
      '5:12 this key occurs twice; keep one',
    ]);
  });

  it('refuses aliases that multiply', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 12; level += 1) {
      lines.push(
        `a${level}: &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
      );
    }
    expect(problems(lines.join('\n'))).toEqual(['1:1 aliases (*name) repeat too much; write the values out']);
  });

  it('collects what is wrong in several places, and nothing that follows from the first slip', () => {
    expect(problems('a: 1\na: 2\nb: "\\q"\nb: 1\n')).toEqual([
      '2:1 this key occurs twice; keep one',
      '3:5 an unknown escape in double quotes; write \\\\ for a backslash, or use single quotes',
      '4:1 this key occurs twice; keep one',
    ]);
    expect(problems('a: { b: 1 } } }\nc: 1\nd: 2\n')).toHaveLength(1);
  });

  it('never throws and never quotes what stands in the file', () => {
    const yamlish = fc
      .array(
        fc.constantFrom(
          'SECRET',
          ': ',
          '\n',
          '  ',
          '\t',
          '- ',
          '"',
          "'",
          '{',
          '}',
          '[',
          ']',
          '&',
          '*',
          '!',
          '%',
          '|',
          '#',
          ',',
        ),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(yamlish, (text) => {
        expect(problems(text).join('\n')).not.toContain('SECRET');
      }),
      { numRuns: 500 },
    );
  });

  it('must be in UTF-8', () => {
    const dir = folder({
      'a.yaml': Buffer.from('a: caf\xe9\n', 'latin1'),
      'b.yaml': Buffer.from('\uFEFFa: 1', 'utf16le'),
    });
    for (const name of ['a.yaml', 'b.yaml']) {
      expect(readYaml(`${dir}/${name}`, name)?.problems).toEqual([
        { place: { file: name }, message: 'the file is not in UTF-8; save it as UTF-8' },
      ]);
    }
  });

  it('that is a folder is named as what cannot be read', () => {
    const dir = folder({ 'a.yaml/b': '' });
    expect(readYaml(`${dir}/a.yaml`, 'a.yaml')?.problems[0]?.message).toBe(
      'the file cannot be read (EISDIR)',
    );
    expect(readYaml(`${dir}/b.yaml`, 'b.yaml')).toBeUndefined();
  });
});
