import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  escapePlaceholders,
  type FilledText,
  fillTemplate,
  parseTemplate,
  placeholder,
} from '../../src/config/yaml-text.ts';

function fill(text: string, variables: Readonly<Record<string, string>> = {}): FilledText {
  const template = parseTemplate(text);
  if (template === undefined) throw new Error(`not a template: ${text}`);
  return fillTemplate(template, (name) => (Object.hasOwn(variables, name) ? variables[name] : undefined));
}

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
const fallback = fc.stringMatching(/^[^}$]*$/);
const anyText = fc.oneof(
  fc.string(),
  fc.array(fc.constantFrom('$', '{', '}', 'A', ':')).map((all) => all.join('')),
);

describe('placeholders', () => {
  it('take the value of the variable, else the default, else stay and are reported', () => {
    expect(fill(`a${placeholder('A')}b`, { A: '1' }).text).toBe('a1b');
    expect(fill(placeholder('A', 'x:y z')).text).toBe('x:y z');
    expect(fill(placeholder('A', 'x'), { A: '1' }).text).toBe('1');
    expect(fill(placeholder('A', ''))).toMatchObject({ text: '', unset: [], whole: true });
    expect(fill(`${placeholder('A')}/${placeholder('B', 'b')}/${placeholder('C')}`)).toMatchObject({
      text: `${placeholder('A')}/b/${placeholder('C')}`,
      unset: ['A', 'C'],
      whole: false,
    });
  });

  it('are written plainly with a second dollar', () => {
    expect(fill(`$${placeholder('A')}`, { A: '1' }).text).toBe(placeholder('A'));
    expect(fill('costs $5, $$6 and {7}').text).toBe('costs $5, $$6 and {7}');
  });

  it.each([
    placeholder(''),
    placeholder('a-b'),
    '${A',
    '${',
    placeholder('A', placeholder('B')),
    placeholder(' A'),
  ])('are refused when they are ambiguous: %s', (text) => {
    expect(parseTemplate(text)).toBeUndefined();
  });

  it('leave every text as it is once it is escaped', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(fill(escapePlaceholders(text))).toMatchObject({
          text,
          placeholders: [],
          whole: false,
        });
      }),
    );
  });

  it('are replaced wherever they stand, and what comes in is not read again', () => {
    const piece = fc.oneof(
      anyText.map((text) => ({
        written: text.replaceAll('$', ''),
        meant: text.replaceAll('$', ''),
        name: '',
      })),
      fc.tuple(name, anyText).map(([name, meant]) => ({ written: placeholder(name), meant, name })),
      fc
        .tuple(name, fallback)
        .map(([name, meant]) => ({ written: placeholder(`_0${name}`, meant), meant, name: '' })),
    );
    fc.assert(
      fc.property(fc.uniqueArray(piece, { selector: (each) => each.name || each }), (pieces) => {
        const variables = Object.fromEntries(pieces.map((each) => [each.name, each.meant]));
        const filled = fill(pieces.map((each) => each.written).join(''), variables);
        expect(filled.text).toBe(pieces.map((each) => each.meant).join(''));
        expect(filled.unset).toEqual([]);
      }),
    );
  });

  it('never throw, whatever stands there', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const template = parseTemplate(text);
        if (template !== undefined && !text.includes('${')) expect(template.join('')).toBe(text);
      }),
    );
  });
});
