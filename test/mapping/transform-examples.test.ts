import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { lookupTable } from '../../src/mapping/lookup-table.ts';
import type { TransformContext, TransformExample } from '../../src/mapping/transforms/define-transform.ts';
import { compileTransform, TRANSFORMS, transformSchema } from '../../src/mapping/transforms/transforms.ts';
import { type Cell, isList, type Kind, Moment } from '../../src/mapping/values/cell.ts';

const ROW = {
  table: { file: 0, headers: [], firstSlots: new Set<number>(), digest: '' },
  seq: 0,
  line: 2,
  cells: [],
  misaligned: undefined,
  chars: 0,
};

const CONTEXT: TransformContext = {
  complain: (path, message) => expect.fail(`${path.join('.')}: ${message}`),
  argument: (_path, text) => text,
  template: (_path, text) => (_row, _n, value) => text.replace('{value}', value),
  lookupTable: () => lookupTable(['id', 'name'], [['17', 'Teal']], 'id'),
  note: () => undefined,
  quote: (text) => text,
  patternLength: 1000,
};

/** What the steps of an example make of its cell, and the kind that they declare for it. */
function through({ cell, steps }: TransformExample): { readonly value: Cell; readonly kind: Kind } {
  let kind: Kind = 'text';
  let value: Cell = cell === '' ? undefined : cell;
  for (const written of z.array(transformSchema).parse(parse(`[${steps}]`))) {
    const step = compileTransform(written, CONTEXT);
    kind = step.gives(kind);
    value = value === undefined ? step.blank?.() : step.run(value, ROW, 0);
  }
  return { value, kind };
}

/** The kind that a value has. */
function kindOf(value: Exclude<Cell, undefined>): string {
  if (isList(value)) return `${value[0] === undefined ? 'text' : kindOf(value[0])}[]`;
  if (value instanceof Moment) return 'date';
  return typeof value === 'string' ? 'text' : typeof value;
}

describe.each(TRANSFORMS)('the transform $name', ({ name, word, map, examples }) => {
  it('has a form, and examples that use it', () => {
    expect(word ?? map).toBeDefined();
    expect(examples.length).toBeGreaterThan(0);
    for (const { steps } of examples) expect(steps).toContain(name);
  });

  it.each(examples)('makes of $cell by $steps what its example says', (example) => {
    const { gives } = example;
    if (typeof gives === 'object' && 'rejects' in gives) {
      expect(() => through(example)).toThrow(expect.objectContaining({ code: gives.rejects }));
      return;
    }
    const { value, kind } = through(example);
    const shown =
      value instanceof Moment ? { moment: new Date(value.at).toISOString().replace('.000Z', 'Z') } : value;
    expect(shown).toEqual(gives);
    if (value !== undefined) expect(kindOf(value)).toBe(kind);
  });
});
