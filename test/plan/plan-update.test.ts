import { describe, expect, it } from 'vitest';
import type { ConflictRules } from '../../src/model/observation.ts';
import {
  AS_ACKNOWLEDGED,
  type Observation,
  observationText,
  parseObservation,
} from '../../src/model/observation.ts';
import { bodyOfPart, type VariantStock } from '../../src/model/operation.ts';
import { planUpdate } from '../../src/plan/changes/plan-update.ts';

const BEFORE = {
  url: 'mug',
  title: 'Mug',
  description: 'Blue',
  options: [{ name: 'Size', values: ['S'] }],
  variants: [{ options: ['S'], price: 10 }],
};
const CHEAPER = { ...BEFORE, variants: [{ options: ['S'], price: 9 }] };
const MARK = { fingerprint: 'print', id: 7, job: 'nightly' };

interface Given {
  readonly source?: object;
  readonly stock?: VariantStock;
  readonly edited?: Observation['edited'];
  readonly doubted?: readonly string[] | null;
  readonly idProof?: 'once' | 'changed';
  readonly conflicts?: ConflictRules;
  readonly partById?: boolean;
  readonly partByKey?: boolean;
  readonly isUndo?: boolean;
  readonly isDecided?: boolean;
}

function plan({
  source = CHEAPER,
  stock,
  edited = {},
  doubted = [],
  idProof,
  conflicts,
  partById = false,
  partByKey = true,
  isUndo = false,
  isDecided = false,
}: Given) {
  return planUpdate(
    {
      mark: idProof === undefined ? MARK : { ...MARK, idProof },
      acknowledged: JSON.stringify(BEFORE),
      body: JSON.stringify(source),
      observation: { ...AS_ACKNOWLEDGED, edited },
      stock,
      doubted,
    },
    { partByKey, partById, conflicts, isUndo, isDecided },
  );
}

const edit = (value: unknown) => ({ value, since: 1 });

describe('the update of a product', () => {
  it('has the changed fields, options and variants together, with url and title where it goes by url', () => {
    const { part, body } = plan({});
    expect(part).toEqual({ fields: ['variants', 'options'] });
    expect(Object.keys(JSON.parse(bodyOfPart(body, part ?? { fields: [] })))).toEqual([
      'url',
      'title',
      'options',
      'variants',
    ]);
    const byId = plan({ partById: true, source: { ...BEFORE, description: 'Red' } });
    expect(bodyOfPart(byId.body, byId.part ?? { fields: [] })).toBe('{"description":"Red"}');
  });

  it('under another url in the store goes by its certain id, else it is held', () => {
    const edited = { url: edit('another') };
    const byId = plan({ partById: true, edited });
    expect([byId.hits, byId.kept]).toEqual([[], ['url']]);
    expect(JSON.parse(bodyOfPart(byId.body, byId.part ?? { fields: [] }))).not.toHaveProperty('url');
    const hit = { field: 'url', what: null, old: 'another', new: 'mug', edited: true };
    expect(plan({ edited }).hits).toEqual([hit]);
    expect(plan({ edited, conflicts: 'store' }).hits).toEqual([hit]);
    expect(plan({ edited, partById: true, idProof: 'once' }).hits).toEqual([hit]);
  });

  it('also has what is in doubt, and is whole where anything may be', () => {
    expect(plan({ source: BEFORE, doubted: ['description', 'title'] }).part?.fields).toEqual([
      'description',
      'title',
    ]);
    expect(plan({ doubted: null }).part).toBeUndefined();
    expect(plan({ partByKey: false }).part).toBeUndefined();
  });

  it('goes by url where the id is not certain, and is whole where it may be of another product', () => {
    expect(plan({ partById: true, idProof: 'once' }).part).toEqual({ fields: ['variants', 'options'] });
    expect(plan({ partById: true, partByKey: false, idProof: 'once' }).part).toBeUndefined();
    expect(plan({ partById: true, idProof: 'changed' }).part).toBeUndefined();
  });

  it('leaves edited fields that the source does not change, and repeats an edited title', () => {
    const { part, kept, hits } = plan({ edited: { title: edit('Cup'), description: edit('Red') } });
    expect(part).toMatchObject({ title: 'Cup' });
    expect(kept).toEqual(['title', 'description']);
    expect(hits).toEqual([]);
  });

  it('names what a whole body overwrites', () => {
    expect(plan({ partByKey: false, edited: { description: edit('Red') } }).overwritten).toEqual([
      'description',
    ]);
  });

  it('holds what both sides changed, sends it or leaves it, by field', () => {
    const edited = { variants: edit([{ options: ['S'], price: 12, quantity: 1 }]) };
    expect(plan({ edited }).hits).toEqual([
      { field: 'variants.price', what: null, old: 12, new: 9, edited: true },
    ]);
    expect(plan({ edited, conflicts: 'source' })).toMatchObject({
      hits: [],
      part: { fields: ['variants', 'options'] },
    });
    const left = plan({ edited, conflicts: { default: 'source', variants: 'store' } });
    expect(left).toMatchObject({ hits: [], part: { fields: [] }, kept: ['variants'] });
    expect(JSON.parse(left.body)).toEqual(BEFORE);
  });

  it('holds what is to stay in the store where only whole bodies can be sent, but for an undo', () => {
    const edited = { title: edit('Cup'), description: edit('Azure') };
    const source = { ...CHEAPER, title: 'Beaker' };
    const whole = { source, edited, conflicts: 'store', partByKey: false } as const;
    expect(plan(whole)).toMatchObject({
      hits: [{ field: 'title', old: 'Cup', new: 'Beaker', edited: true }],
    });
    const undo = plan({ ...whole, isUndo: true });
    expect(undo).toMatchObject({ hits: [], part: undefined, overwritten: ['title', 'description'] });
    expect(JSON.parse(undo.body)).toEqual(source);
  });

  it('leaves what somebody has decided to keep, until the source or the store has another value', () => {
    const edited = { description: edit('Red') };
    const source = { ...CHEAPER, description: 'Green' };
    expect(plan({ edited, source, conflicts: 'store' }).decided).toBeUndefined();
    const { decided, part, hits } = plan({ edited, source, conflicts: 'store', isDecided: true });
    expect(hits).toEqual([]);
    expect(part?.fields).not.toContain('description');
    const known = parseObservation(observationText(decided ?? AS_ACKNOWLEDGED));
    const later = { edited: known?.edited ?? {}, source };
    expect(plan(later)).toMatchObject({ hits: [], kept: ['description'] });
    expect(plan({ ...later, conflicts: 'source' }).part?.fields).toContain('description');
    expect(plan({ ...later, source: { ...source, description: 'Grey' } }).hits).toHaveLength(1);
    expect(plan({ ...later, partByKey: false }).hits).toHaveLength(1);
  });

  it('has the stock of the store, unless a request for the variants is in doubt', () => {
    const stock = [[0, 3]] as const;
    expect(plan({ stock })).toMatchObject({ stock, hits: [], kept: [], body: JSON.stringify(CHEAPER) });
    expect(plan({ stock, partByKey: false })).toMatchObject({ stock, part: undefined });
    // What is not sent as a part may be sent as a whole after all.
    expect(plan({ stock, source: { ...BEFORE, title: 'Cup' } })).toMatchObject({ stock });
    for (const doubted of [null, ['variants'], ['options', 'title']])
      expect(plan({ stock, doubted }).stock).toBeUndefined();
    expect(plan({ stock, doubted: ['title'] })).toMatchObject({ stock });
    const counted = { ...CHEAPER, variants: [{ options: ['S'], price: 10, quantity: 4 }] };
    expect(plan({ stock, source: counted }).stock, 'was read').toEqual([]);
    expect(plan({ source: counted }).stock).toBeUndefined();
  });

  it('is no conflict where both sides made the same change', () => {
    expect(plan({ edited: { variants: edit([{ options: ['S'], price: '9', id: 3 }]) } }).hits).toEqual([]);
  });
});
