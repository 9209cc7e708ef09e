import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedFields } from '../../src/model/operation.ts';
import {
  expectContact,
  expectContactByEmail,
  expectDeleted,
  expectProduct,
} from '../../src/storefront/proof.ts';
import { measureProperty } from '../support/measure-property.ts';

const MUG = {
  type: 'physical',
  url: 'Café Müg',
  title: 'Mug',
  hidden: false,
  images: [],
  description: '<p>Blue</p>',
};

function prove(answer: unknown, sent: Record<string, unknown> = MUG) {
  return expectProduct(String(sent['url']), JSON.stringify(sent)).prove(answer);
}

describe('the proof that a contact was written by its e-mail address', () => {
  it.each([
    ['as it was sent', 'Rene\u0301@mail.example'],
    ['in lower case', 'rene\u0301@mail.example'],
    ['in the composed form of Unicode', 'ren\u00e9@mail.example'],
  ])('is the address %s, with an id', (_, email) => {
    const { prove } = expectContactByEmail(JSON.stringify({ email: 'Rene\u0301@mail.example' }));
    expect(prove({ id: 7, email })).toEqual({ id: 7 });
    expect(prove({ email })).toContain('with an integer id');
  });
});

describe('the proof that a product was written', () => {
  it.each([
    ['the whole product', { ...MUG, id: 7 }, { id: 7 }],
    ['the id as text', { ...MUG, id: '7' }, { id: 7 }],
    ['a changed description', { ...MUG, id: 7, description: 'Blue' }, { id: 7 }],
    ['a changed title, and another field as it was sent', { ...MUG, id: 7, title: 'MUG' }, { id: 7 }],
    ['id and url alone', { id: 7, url: MUG.url }, { id: 7 }],
    ['a url in plain letters', { ...MUG, id: 7, url: 'cafe-mug' }, { id: 7, answeredUrl: 'cafe-mug' }],
    ['a German url', { ...MUG, id: 7, url: 'cafe-mueg' }, { id: 7, answeredUrl: 'cafe-mueg' }],
    [
      'a url with a number after it',
      { ...MUG, id: 7, url: 'cafe-mug-12' },
      { id: 7, answeredUrl: 'cafe-mug-12' },
    ],
    [
      'a url in another unicode form',
      { ...MUG, id: 7, url: MUG.url.normalize('NFD') },
      { id: 7, answeredUrl: MUG.url.normalize('NFD') },
    ],
    [
      'a url with percent signs',
      { ...MUG, id: 7, url: 'Caf%C3%A9%20M%C3%BCg' },
      { id: 7, answeredUrl: 'Caf%C3%A9%20M%C3%BCg' },
    ],
    [
      'null for what is empty',
      { ...MUG, id: 7, url: 'cafe-mug', images: null },
      { id: 7, answeredUrl: 'cafe-mug' },
    ],
  ])('is %s', (_, answer, proof) => {
    expect(prove(answer)).toEqual(proof);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a list', [{ ...MUG, id: 7 }]],
    ['text', 'saved'],
    ['no id', { ...MUG }],
    ['an id that is no integer', { ...MUG, id: 7.5 }],
    ['an id too large to keep', { ...MUG, id: 2 ** 60 }],
    ['an id in words', { ...MUG, id: 'seven' }],
    ['no url', { id: 7, title: MUG.title }],
    ['another url', { ...MUG, id: 7, url: 'hand-made' }],
    ['a shorter url', { ...MUG, id: 7, url: 'cafe' }],
    ['a url with a word after it', { ...MUG, id: 7, url: 'cafe-mug-blue' }],
    ['the url, and another title', { id: 7, url: MUG.url, title: 'cached answer' }],
    [
      'the url, and what many products share',
      { id: 7, url: MUG.url, title: 'cached', type: 'physical', hidden: false, images: [] },
    ],
    ['a normalised url alone', { id: 7, url: 'cafe-mug' }],
    ['a normalised url with another title', { ...MUG, id: 7, url: 'cafe-mug', title: 'MUG' }],
    [
      'a normalised url with one other field changed',
      { ...MUG, id: 7, url: 'cafe-mug', description: 'Blue' },
    ],
  ])('is not %s', (_, answer) => {
    expect(prove(answer)).toEqual(expect.any(String));
  });

  it('says which fields came back changed', () => {
    expect(prove({ ...MUG, id: 7, url: 'cafe-mug', title: 'X', description: 'Y' })).toBe(
      'the product that was sent (different: title, description)',
    );
    const sent = { variants: [{ price: 5, sku: '01', options: ['S'] }], images: ['a', 'b'] };
    expect(
      changedFields(sent, { variants: [{ price: '5.00', sku: '01', id: 3 }], images: ['a', 'b'] }),
    ).toEqual([]);
    expect(changedFields(sent, { variants: [{ price: 5, sku: '1' }], images: ['b', 'a'] })).toEqual([
      'variants',
      'images',
    ]);
    expect(changedFields(sent, { variants: [{}], images: ['a'] })).toEqual(['variants', 'images']);
  });

  it('does not treat a url without letters and digits as equal to another', () => {
    expect(prove({ id: 7, url: '-', title: 'Mug' }, { url: '!!', title: 'Mug' })).toEqual(expect.any(String));
  });

  it('accepts what a store makes of a product, and never the answer for another', async (context) => {
    await measureProperty(
      context,
      { invariant: 10, tried: 'answers made of products', wrong: 'answers misjudged' },
      fc.asyncProperty(product, product, answering, async (sent, other, as) => {
        fc.pre(sent.title !== other.title && sent.description !== other.description);
        const own = prove(answerTo(sent, as), sent);
        expect(own).toMatchObject({ id: as.id });
        expect(typeof own === 'object' && 'answeredUrl' in own).toBe(answerTo(sent, as)['url'] !== sent.url);
        for (const url of [other.url, `${sent.url}-1`]) {
          fc.pre(url !== sent.url);
          expect(prove(answerTo({ ...other, url }, as), sent)).toEqual(expect.any(String));
        }
        const { title, id = as.id } = { ...other, id: as.id };
        expect(prove({ id, url: sent.url, title }, sent)).toEqual(expect.any(String));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('an answer that repeats the sent body', () => {
  const body = JSON.stringify(MUG);
  const members = body.slice(1, -1);

  it.each([
    `{${members},"id":7}`,
    `{"id":7,${members}}`,
    `{ "id": "7", "createdOn": {"by": [1]},${members},"rating":null }`,
  ])('proves the product without being parsed: %s', (text) => {
    expect(expectProduct(MUG.url, body).proveRepeated?.(text)).toEqual({ id: 7 });
    expect(expectContact('7', body).proveRepeated?.(text)).toEqual({ id: 7 });
  });

  it.each([
    ['another body', `{"id":7,"type":"digital"${members.slice(18)}}`],
    ['no id', `{${members}}`],
    ['a failure', `{"success":false,${members},"id":7}`],
    ['the body within another object', `{"id":7,"product":{${members}}}`],
    ['the body in a list', `[{${members},"id":7}]`],
    ['a field twice', `{${members},"id":7,"url":"other"}`],
    ['half an object', `{"id":7,${members}`],
    ['words after it', `{"id":7,${members}} Done.`],
  ])('is parsed when it has %s', (_, text) => {
    expect(expectProduct(MUG.url, body).proveRepeated?.(text)).toBeUndefined();
    expect(expectContact('7', body).proveRepeated?.(text)).toBeUndefined();
  });

  it('is parsed when the body is not of the url, or its last number goes on', () => {
    expect(expectProduct('other', body).proveRepeated?.(`{"id":7,${members}}`)).toBeUndefined();
    for (const rest of ['5}', '.5}', 'e5}', 'e0,"id":7}']) {
      const text = `{"id":7,"url":"mug","price":1${rest}`;
      expect(expectProduct('mug', '{"url":"mug","price":1}').proveRepeated?.(text)).toBeUndefined();
    }
  });

  it('proves nothing that the parsed answer would not prove', () => {
    const part = fc.constantFrom(
      ...['{', '}', ',', '"id":7', '"a":', '[', ']', '"', ':', '1', '"url":"x"', members, body],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 9 }), (parts) => {
        const text = parts.join('');
        const expected = expectProduct(MUG.url, body);
        const proof = expected.proveRepeated?.(text);
        if (proof === undefined) return;
        const answer: object = JSON.parse(text);
        expect(expected.prove(answer)).toEqual(proof);
        expect(answer).toMatchObject(MUG);
      }),
      { numRuns: 20_000 },
    );
  });
});

describe('the proof that a contact was updated', () => {
  it.each([[7], ['7'], ['007']])('is the id that was sent: %j', (id) => {
    expect(expectContact('7', '{}').prove({ id })).toEqual({ id: 7 });
  });

  it.each([{ id: 8 }, { id: null }, {}, [], null, undefined, 7])('is not %j', (answer) => {
    expect(expectContact('7', '{}').prove(answer)).toEqual(expect.any(String));
  });
});

describe('the proof that a product was deleted', () => {
  it.each([undefined, {}, { success: true, message: '' }, { id: '7' }])('is %j', (answer) => {
    expect(expectDeleted(7).prove(answer)).toEqual({ id: null });
  });

  it.each([{ id: 8 }, [], null, 'deleted'])('is not %j', (answer) => {
    expect(expectDeleted(7).prove(answer)).toEqual(expect.any(String));
  });
});

const word = fc.stringMatching(/^[A-Za-z0-9éöñß]{1,8}( [a-z]{1,6})?$/);

const product = fc.record({
  url: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('_')),
  title: fc.string({ minLength: 1 }).filter((text) => text.trim() === text && text !== ''),
  description: fc.string({ minLength: 1 }).filter((text) => text.trim() === text && text !== ''),
  type: fc.constantFrom('physical', 'digital'),
  hidden: fc.boolean(),
  images: fc.array(fc.webUrl(), { maxLength: 2 }),
  variants: fc.array(
    fc.record({
      options: fc.array(word, { maxLength: 2 }),
      price: fc.integer({ max: 100_000 }).map((cents) => cents / 100),
      sku: word,
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

/** What a store does with what it was sent. */
const answering = fc.record({
  id: fc.integer({ min: 1 }),
  reversed: fc.boolean(),
  numbersAsText: fc.boolean(),
  normalisesUrl: fc.boolean(),
  suffix: fc.constantFrom('', '-1', '-27'),
});

type Sent = typeof product extends fc.Arbitrary<infer Value> ? Value : never;
type Answering = typeof answering extends fc.Arbitrary<infer Value> ? Value : never;

function answerTo(sent: Sent, as: Answering): Record<string, unknown> {
  const handle = sent.url
    .replaceAll('ß', 'ss')
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll(/[ _]/g, '-');
  const variants = sent.variants.map((variant, index) => ({
    ...variant,
    price: as.numbersAsText ? variant.price.toFixed(2) : variant.price,
    id: index,
  }));
  const url = as.normalisesUrl ? handle + as.suffix : sent.url;
  const answer = {
    ...sent,
    url,
    variants,
    id: as.numbersAsText ? String(as.id) : as.id,
    createdOn: 1,
    rating: null,
  };
  return as.reversed ? Object.fromEntries(Object.entries(answer).reverse()) : answer;
}
