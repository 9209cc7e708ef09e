import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { lookupTable } from '../../src/mapping/lookup-table.ts';
import { newScope, Problems } from '../../src/mapping/scope.ts';
import { mappingSchema } from '../../src/mapping/spec/mapping-spec.ts';
import { type TransformExample, textStep } from '../../src/mapping/transforms/define-transform.ts';
import { TRANSFORMS, transformSchema } from '../../src/mapping/transforms/transforms.ts';
import { type Cell, isList, type Kind, Moment } from '../../src/mapping/values/cell.ts';
import { applySteps, compileSteps } from '../../src/mapping/values/compile-steps.ts';

const ROW = {
  table: { file: 0, headers: [], firstSlots: new Set<number>(), digest: '' },
  seq: 0,
  line: 2,
  cells: [],
  misaligned: undefined,
  chars: 0,
};

const SPEC = mappingSchema.parse({ import: 'contacts', columns: {}, contact: {} });

const RATES = [
  ['USD', 'EUR', '0.9221'],
  ['USD', 'JPY', '153.01'],
];
const LOOKUPS = new Map([
  ['colours', lookupTable(['id', 'name'], [['17', 'Teal']], 'id')],
  ['rates', lookupTable(['From', 'To', 'Rate'], RATES, 'from')],
]);

/** What the steps of an example make of its cell, and the kind that they declare for it. */
function through({ cell, steps }: TransformExample): { readonly value: Cell; readonly kind: Kind } {
  const problems = new Problems();
  const scope = newScope(SPEC, {
    problems,
    params: new Map(),
    lookups: LOOKUPS,
    custom: () => (text) => `our ${text}`,
  });
  const written = z.array(transformSchema).parse(parse(`[${steps}]`));
  const compiled = compileSteps(
    scope,
    'text',
    written.map((transform, index) => ({ path: [index], transform })),
  );
  expect(problems.found).toEqual([]);
  const value = applySteps(compiled.steps, cell === '' ? undefined : cell, ROW, 0);
  return { value, kind: compiled.kind };
}

/** The kind that a value has. */
function kindOf(value: Exclude<Cell, undefined>): string {
  if (isList(value)) return `${value[0] === undefined ? 'text' : kindOf(value[0])}[]`;
  if (value instanceof Moment) return 'date';
  return typeof value === 'string' ? 'text' : typeof value;
}

it('the transforms that share the name of an option share its schema: a step is one map of all options', () => {
  const schemas = new Map<string, Set<string>>();
  for (const { map } of TRANSFORMS) {
    for (const [option, schema] of Object.entries(map?.shape ?? {})) {
      const written = JSON.stringify(
        z.toJSONSchema(z.strictObject({ [option]: schema }), { unrepresentable: 'any' }),
      );
      schemas.set(option, (schemas.get(option) ?? new Set()).add(written));
    }
  }
  expect(schemas.size).toBeGreaterThan(20);
  expect([...schemas].filter(([, all]) => all.size > 1).map(([option]) => option)).toEqual([]);
});

it('a step that reads texts gives a blank instead of an empty text, which would clear the field', () => {
  const initials = textStep((text) => text.replaceAll(/[^A-Z]/g, ''));
  expect([applySteps([initials], 'Ann Lee', ROW, 0), applySteps([initials], '123', ROW, 0)]).toEqual([
    'AL',
    undefined,
  ]);
});

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
