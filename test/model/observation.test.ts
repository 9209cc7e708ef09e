import { describe, expect, it } from 'vitest';
import {
  AS_ACKNOWLEDGED,
  isEdited,
  type Observation,
  observationText,
  observeAnswer,
  parseObservation,
} from '../../src/model/observation.ts';
import { AS_SENT } from '../../src/model/operation.ts';

const BODY = {
  url: 'mug',
  title: 'Mug',
  description: '<p>Blue</p>',
  images: [],
  variants: [{ price: 10, quantity: 3 }],
};
const body = JSON.stringify(BODY);

function observe(
  answer: unknown,
  before: Observation | undefined,
  sent: readonly string[] | null = [],
  unaltered: readonly string[] = [],
): Observation {
  return observeAnswer({ body, sent, answer, before, unaltered, at: 7 });
}

describe('what an answer shows of a record', () => {
  it('is nothing where everything was answered as it was sent, or may have been written so', () => {
    expect(observe(AS_SENT, undefined, null)).toEqual(AS_ACKNOWLEDGED);
    expect(observe({ ...BODY, id: 7, images: null, hidden: false }, undefined, null)).toEqual(
      AS_ACKNOWLEDGED,
    );
    expect(observe({ ...BODY, variants: [{ price: '10', quantity: 3 }] }, AS_ACKNOWLEDGED)).toEqual(
      AS_ACKNOWLEDGED,
    );
  });

  it('is an edit where a field that was not sent has another value, with the time when it was seen first', () => {
    const seen = observe({ ...BODY, description: 'Red' }, AS_ACKNOWLEDGED, ['variants']);
    expect(seen).toEqual({ altered: {}, edited: { description: { value: 'Red', since: 7 } } });
    const again = observeAnswer({
      body,
      sent: [],
      answer: { ...BODY, description: 'Red' },
      before: seen,
      unaltered: [],
      at: 9,
    });
    expect(again).toEqual(seen);
    const other = observeAnswer({
      body,
      sent: [],
      answer: { ...BODY, description: 'Green' },
      before: seen,
      unaltered: [],
      at: 9,
    });
    expect(other.edited).toEqual({ description: { value: 'Green', since: 9 } });
    expect(observe(BODY, seen)).toEqual(AS_ACKNOWLEDGED);
    expect(observe({ url: 'mug' }, seen)).toEqual(seen);
    expect(observe({ ...BODY, description: 'Red' }, seen, ['description']).edited).toEqual({});
  });

  it('is no edit where the store has altered the field itself, until it has yet another value', () => {
    const altered = observe({ ...BODY, description: 'Blue' }, undefined, null);
    expect(isEdited(altered)).toBe(false);
    expect(observe({ ...BODY, description: 'Blue' }, altered)).toEqual(altered);
    expect(observe(BODY, altered)).toEqual(altered);
    expect(observe({ ...BODY, description: 'Red' }, altered).edited).toEqual({
      description: { value: 'Red', since: 7 },
    });
  });

  it('is what later answers are compared with where nothing was known, except in fields that the store does not alter', () => {
    const answer = { ...BODY, title: 'Cup', description: 'Red' };
    expect(observe(answer, undefined).edited).toEqual({});
    expect(observe(answer, undefined, [], ['title']).edited).toEqual({ title: { value: 'Cup', since: 7 } });
    const first = observe(answer, undefined);
    expect(observe({ ...answer, title: 'Jug' }, first).edited).toEqual({ title: { value: 'Jug', since: 7 } });
    expect(observe({ url: 'mug' }, undefined, null).altered).toEqual({
      title: '',
      description: '',
      variants: '',
    });
    expect(observe(answer, observe({ url: 'mug' }, undefined, null)).edited).toEqual({});
  });

  it('is no edit where only stock differs, which sales change, or fields that nobody sent', () => {
    expect(
      observe({ ...BODY, variants: [{ price: 10, quantity: 1 }], hidden: true }, AS_ACKNOWLEDGED),
    ).toEqual(AS_ACKNOWLEDGED);
    expect(
      observe({ ...BODY, variants: [{ price: 9, quantity: 3 }] }, AS_ACKNOWLEDGED).edited,
    ).toHaveProperty('variants');
  });

  it('is an edit where a field that the ledger does not have is to be sent, and somebody gave it a value', () => {
    const seen = (answer: object, before?: Observation, sent: readonly string[] = []) =>
      observeAnswer({
        body,
        sent,
        answer: { ...BODY, ...answer },
        before,
        toSend: ['title', 'hidden', 'type', 'categories', 'file', 'options', 'subscribed'],
        unaltered: [],
        at: 7,
      });
    const since = 7;
    const defaults = { hidden: false, type: 'physical', categories: [], file: null, options: [{}], id: 1 };
    for (const before of [undefined, AS_ACKNOWLEDGED])
      expect(seen({ ...defaults, subscribed: false }, before)).toEqual(AS_ACKNOWLEDGED);
    const answer = { hidden: true, type: 'service', categories: [{ id: 3, name: 'A' }], note: 'x' };
    const edited = {
      hidden: { value: true, since },
      type: { value: 'service', since },
      categories: { value: answer.categories, since },
    };
    expect(seen(answer)).toEqual({ altered: {}, edited });
    expect(seen(answer, undefined, ['hidden', 'type', 'categories']).edited).toEqual({});
    const declined = { ...AS_ACKNOWLEDGED, edited: { type: { value: 'service', since: 1, declined: 'd' } } };
    expect(seen({ type: 'service' }, declined)).toEqual(declined);
    expect(seen({ type: 'digital' }, declined).edited).toEqual({ type: { value: 'digital', since } });
    expect(observe({ url: 'mug', type: 'digital' }, declined)).toEqual(declined);
  });

  it('of a consent that nobody sent is an edit only where somebody has unsubscribed', () => {
    const seen = (subscribed: boolean, before?: Observation, toSend: readonly string[] = []) =>
      observeAnswer({
        ...{ body: '{"name":"Ann"}', answer: { name: 'Ann', subscribed }, before, toSend },
        ...{ sent: ['name'], unaltered: [], at: 7 },
      });
    const first = seen(true);
    expect(first).toEqual({ altered: { subscribed: '' }, edited: {} });
    expect(seen(true, first, ['subscribed']).edited).toEqual({});
    expect(seen(false, first, ['subscribed']).edited).toEqual({ subscribed: { value: false, since: 7 } });
    expect(seen(false, first)).toEqual(first);
    expect(seen(false, undefined, ['subscribed'])).toEqual(AS_ACKNOWLEDGED);
  });

  it('is kept as a text, which is empty where there is nothing to keep', () => {
    const seen = observe(
      { ...BODY, description: 'Red', title: 'Cup' },
      observe({ ...BODY, title: 'MUG' }, undefined, null),
    );
    expect(parseObservation(observationText(seen))).toEqual(seen);
    expect(observationText(AS_ACKNOWLEDGED)).toBe('');
    expect(parseObservation('')).toEqual(AS_ACKNOWLEDGED);
    for (const damaged of ['{', '[]x', '{"altered":[]}']) expect(parseObservation(damaged)).toBeUndefined();
  });
});
