import { describe, expect, it } from 'vitest';
import { checkMapping, compileMapping } from '../../src/mapping/compile-mapping.ts';
import { paramProblems } from '../../src/mapping/spec/mapping-spec.ts';
import { MappingError } from '../../src/model/storeferry-error.ts';
import { CONTEXT, mappingOf } from './mapping-setup.ts';

/** A mapping that is right, with parts added to it or replaced. */
function mapping(parts: {
  readonly columns?: string;
  readonly product?: string;
  readonly variants?: string;
  readonly more?: string;
}) {
  return mappingOf(`
import: products
columns: { url: Url, title: Title, price: Price${parts.columns === undefined ? '' : `, ${parts.columns}`} }
product: { url: url, title: title${parts.product === undefined ? '' : `, ${parts.product}`} }
variants: { pricing: { price: price }${parts.variants === undefined ? '' : `, ${parts.variants}`} }
${parts.more ?? ''}
`);
}

describe('a mapping that is right', () => {
  it('has no problems', () => {
    expect(checkMapping(mapping({}))).toEqual([]);
  });
});

describe('a mapping with a part that has no effect', () => {
  it.each<[string, Parameters<typeof mapping>[0]]>([
    ['a column', { columns: 'spare: Spare' }],
    ['a param', { more: 'params: { p: 1 }' }],
  ])('is used all the same: %s', (_, parts) => {
    expect(checkMapping(mapping(parts))).toMatchObject([{ isWarning: true }]);
    expect(() => compileMapping(mapping(parts), CONTEXT)).not.toThrow();
  });
});

describe('a mapping that makes no sense', () => {
  it.each<[string, Parameters<typeof mapping>[0], readonly (string | number)[], string]>([
    [
      'a name that is not declared',
      { product: 'description: titel' },
      ['product', 'description'],
      "titel is not declared under columns or params; did you mean 'title'?",
    ],
    [
      'one in a condition',
      { product: 'hidden: { any: [{ prise: blank }] }' },
      ['product', 'hidden', 'any', 0, 'prise'],
      "did you mean 'price'?",
    ],
    [
      'one in a template',
      { product: 'description: "{nope} x"' },
      ['product', 'description'],
      'nope is not declared',
    ],
    [
      'one that is required',
      { more: 'required: [sku]' },
      ['required', 0],
      'sku is not declared under columns',
    ],
    [
      'one that is inherited',
      { variants: 'inherit: [wait]' },
      ['variants', 'inherit', 0],
      'wait is not declared',
    ],
    ['one that is expected of', { more: 'expect: { nope: x }' }, ['expect', 'nope'], 'nope is not declared'],
    ['a column that nothing uses', { columns: 'spare: Spare' }, ['columns', 'spare'], 'is used nowhere'],
    ['a param that nothing uses', { more: 'params: { p: 1 }' }, ['params', 'p'], 'is used nowhere'],
    [
      'a lookup that nothing uses',
      { more: 'lookups: { l: { path: l.csv, match: a } }' },
      ['lookups', 'l'],
      'is used nowhere',
    ],
    [
      'a lookup that is not declared',
      { product: 'description: [url, { table: l }]' },
      ['product', 'description', 1, 'table'],
      'l is not declared under lookups',
    ],
    [
      'a param called like a column',
      { product: 'description: url', more: 'params: { url: x }' },
      ['params', 'url'],
      'is a column as well',
    ],
    [
      'a family without a number in its header',
      { columns: "'f{n}': F", product: "images: ['f{n}', unique]" },
      ['columns', 'f{n}'],
      '{n} must be in the name',
    ],
    [
      'a column named as a word of conditions',
      { columns: 'any: Any', product: 'description: any' },
      ['columns', 'any'],
      'has a special meaning',
    ],
    [
      'a transform on the wrong kind',
      { product: 'description: [url, number, upper]' },
      ['product', 'description', 2],
      'upper works on a text, but is given a number',
    ],
    [
      'a list where a text belongs',
      { product: 'description: [url, { split: "," }]' },
      ['product', 'description'],
      'expected a text here, but this gives a list of texts',
    ],
    [
      'a text joined',
      { product: 'description: [url, { join: "," }]' },
      ['product', 'description', 1],
      'join works on a list of texts',
    ],
    [
      'a pattern that is none',
      { product: "description: [url, { extract: '(' }]" },
      ['product', 'description', 1, 'extract'],
      'not a pattern',
    ],
    [
      'a pattern with a look-behind, which has no linear time',
      { product: "description: [url, { extract: '(?<=a)b' }]" },
      ['product', 'description', 1, 'extract'],
      'not a pattern',
    ],
    [
      'a decimal sign that is none',
      { variants: 'quantity: [price, { number: { decimal: ";" } }]' },
      ['variants', 'quantity', 1, 'number', 'decimal'],
      "found ';'",
    ],
    [
      'a time zone that is none',
      { product: 'description: [url, { date: { timezone: Mars/Base } }]' },
      ['product', 'description', 1, 'date', 'timezone'],
      "'Mars/Base' is not a time zone",
    ],
    [
      'a date format without a year',
      { product: 'description: [url, { date: { formats: [dd.MM] } }]' },
      ['product', 'description', 1, 'date', 'formats', 0],
      'lacks a year',
    ],
    [
      'lookup values of two kinds',
      { product: 'description: [url, { lookup: { a: 1, b: x } }]' },
      ['product', 'description', 1, 'lookup'],
      'expected values of one kind',
    ],
    [
      'blank within a value',
      { product: 'description: { first: [{ value: url, blank: reject }] }' },
      ['product', 'description', 'first', 0, 'blank'],
      'belongs to the field itself',
    ],
    [
      'from on a variant',
      { variants: 'sku: { value: url, from: any }' },
      ['variants', 'sku', 'from'],
      'read from its own row',
    ],
    [
      'clear on a number',
      { variants: 'quantity: { value: price, blank: clear }' },
      ['variants', 'quantity', 'blank'],
      'only texts and lists can be cleared',
    ],
    [
      'two tests of one cell',
      { product: 'hidden: { price: { above: 1, below: 2 } }' },
      ['product', 'hidden', 'price'],
      'expected one of',
    ],
    [
      'options of a column that is no family',
      { more: 'options: { names: title, values: url }' },
      ['options', 'names'],
      'is not a family',
    ],
    [
      'options without values',
      { columns: "'f{n}': 'F{n}'", more: "options: { names: 'f{n}' }" },
      ['options'],
      'expected values',
    ],
    [
      'children without references',
      { variants: 'rows: children' },
      ['variants', 'rows'],
      'needs a group by parent',
    ],
    [
      'adjacent rows of another key',
      { more: 'group: { by: title, rows: adjacent }' },
      ['group', 'rows'],
      'must be the value of by',
    ],
  ])('%s', (_name, parts, path, message) => {
    const problems = checkMapping(mapping(parts));
    expect(problems.map((problem) => problem.path)).toContainEqual(path);
    expect(problems.find((problem) => problem.path.join() === path.join())?.message).toContain(message);
  });

  it.each([
    ['group: { by: url }', 'by needs rows'],
    ['group: { by: url, starts: { url: present }, rows: anywhere }', 'expected one of by, starts'],
    ['group: { parent: url }', 'parent needs names'],
    ['group: { starts: { url: present }, rows: anywhere }', 'rows must be adjacent'],
    ['group: { starts: { url: present }, alone: { url: x } }', 'alone goes with children'],
    ['skip: [{ when: { url: x } }]', 'reason'],
    ['tests: [{ name: x, rows: "a", expect: [{ sends: {}, rejects: x }] }]', 'expected one of sends'],
  ])('is refused by its schema: %s', (more, message) => {
    expect(() => mapping({ more })).toThrow(message);
  });

  it('cannot be compiled', () => {
    expect(() => compileMapping(mapping({ product: 'description: titel' }), CONTEXT)).toThrow(MappingError);
  });

  it('clears a field of a contact, which the API cannot', () => {
    const spec = mappingOf(`
import: contacts
columns: { id: Id, email: Email }
contact: { id: id, email: { value: email, blank: clear } }
`);
    expect(checkMapping(spec)).toEqual([
      {
        path: ['contact', 'email', 'blank'],
        message: 'the API cannot clear a field of a contact: empty fields do not overwrite; use leave-out',
      },
    ]);
  });
});

describe('params', () => {
  const spec = mapping({
    product: 'description: "{base}/{url}", hidden: { sign: x }',
    more: "params: { base: { description: x }, sign: ',' }",
  });

  it('may lack a value while no job is known', () => {
    expect(checkMapping(spec)).toEqual([]);
  });

  it('must be set by the job, all that have no default and none that is unknown', () => {
    expect(paramProblems(spec, { bace: 'x' }).map(({ message }) => message)).toEqual([
      "the mapping has no parameter 'bace'; did you mean 'base'? (known: base, sign)",
      "the mapping needs the parameter 'base'; set it under params",
    ]);
    expect(() => compileMapping(spec, CONTEXT)).toThrow("needs the parameter 'base'");
    expect(() => compileMapping(spec, { ...CONTEXT, params: { base: 'x' } })).not.toThrow();
  });
});
