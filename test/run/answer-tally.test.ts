import { describe, expect, it } from 'vitest';
import { answeredDifferences } from '../../src/model/operation.ts';
import { answerTally, mergeAnswers } from '../../src/run/answer-tally.ts';

const altered = (sent: object, answer: unknown) => answeredDifferences(JSON.stringify(sent), answer).altered;

const MUG = { title: 'Mug', url: 'mug', options: [], variants: [{ options: [], price: 12.5, sku: 'M-1' }] };

describe('the fields in which an answer differs from what was sent', () => {
  it('are none where the store adds fields, answers numbers as text, or repeats only a part', () => {
    const variants = [{ options: [], price: '12.50', sku: 'M-1', id: 9 }];
    expect(altered(MUG, { id: 7, type: 'physical', ...MUG, variants })).toEqual([]);
    expect(altered(MUG, { id: 7, url: 'mug' })).toEqual([]);
    expect(altered(MUG, null)).toEqual([]);
  });

  it('are each named once', () => {
    const variants = [{ ...MUG.variants[0], price: 11 }];
    expect(altered(MUG, { ...MUG, title: 'MUG!', variants })).toEqual(['title', 'variants.price']);
    expect(altered(MUG, { ...MUG, variants: [] })).toEqual(['variants']);
  });

  it('leave out the order of tags and lists, and properties of a contact that were not sent', () => {
    const stage = { name: 'Stage', value: 'lead' };
    const sent = { tags: ['b', 'a'], subscriberLists: [3, 0], properties: [stage] };
    const more = { name: 'Shoe size', value: '43' };
    const answer = { id: 5, tags: ['a', 'b'], subscriberLists: [0, 3], properties: [more, stage] };
    expect(altered(sent, answer)).toEqual([]);
    expect(altered(sent, { ...answer, tags: ['a', 'c'] })).toEqual(['tags']);
    expect(altered(sent, { ...answer, tags: ['a', 'b', 'c'] })).toEqual(['tags']);
    expect(altered(sent, { ...answer, properties: [more] })).toEqual(['properties']);
    expect(altered(sent, { ...answer, properties: [{ ...stage, value: 'customer' }] })).toEqual([
      'properties',
    ]);
  });
});

describe('another spelling of the url', () => {
  const tea = { ...MUG, url: 'Grüner-Tee' };
  const asked = (answer: object) => answeredDifferences(JSON.stringify(tea), { id: 7, ...tea, ...answer });

  it('is reported, and does not count as altered', () => {
    expect(asked({ url: 'gruner-tee' })).toMatchObject({ altered: [], respelled: ['url'] });
    expect(asked({})).toMatchObject({ altered: [], respelled: [] });
    expect(asked({ url: 'mug' })).toMatchObject({ altered: ['url'], respelled: [] });
    const contact = JSON.stringify({ email: 'ada@mail.example' });
    expect(answeredDifferences(contact, { email: 'ada@mail.example', url: '/contacts/7' }).respelled).toEqual(
      [],
    );
    const tally = answerTally();
    tally.add('Grüner-Tee', JSON.stringify(tea), { ...tea, url: 'gruner-tee' }, { keepValues: true });
    const samples = [{ key: 'Grüner-Tee', sent: 'Grüner-Tee', answered: 'gruner-tee' }];
    const fields = [{ field: 'url', altered: 0, dropped: 0, respelled: 1, samples }];
    const found = { answered: 1, compared: 1, altered: 0, fields };
    expect(tally.summary()).toEqual(found);
    expect(mergeAnswers([found, found]).fields).toMatchObject([{ respelled: 2 }]);
  });
});

describe('the fields that answers leave out', () => {
  it('are those that are not empty, where an answer repeats half of what was sent', () => {
    const dropped = (answer: unknown) => answeredDifferences(JSON.stringify(MUG), answer).dropped;
    expect(dropped({ id: 7, title: 'Mug', url: 'mug' })).toEqual(['variants']);
    expect(dropped({ id: 7, url: 'mug' })).toEqual([]);
  });
});

describe('the differences of all answers', () => {
  it('are counted by field, with a few values of products and none of contacts', () => {
    const tally = answerTally();
    const body = JSON.stringify(MUG);
    for (const name of ['a', 'b', 'c', 'd'])
      tally.add(name, body, { ...MUG, title: 'MUG!' }, { keepValues: true });
    tally.add('e', body, MUG, { keepValues: true });
    tally.add('f', body, { id: 7 }, { keepValues: true });
    const sample = { sent: 'Mug', answered: 'MUG!' };
    const samples = ['a', 'b', 'c'].map((key) => ({ key, ...sample }));
    const found = {
      answered: 6,
      compared: 5,
      altered: 4,
      fields: [{ field: 'title', altered: 4, dropped: 0, samples }],
    };
    expect(tally.summary()).toEqual(found);
    expect(mergeAnswers([found, found]).fields[0]?.altered).toBe(8);
    const ofContacts = answerTally();
    ofContacts.add('7', '{"name":"Zed"}', { id: 7, name: 'Zoe' }, { keepValues: false });
    expect(JSON.stringify(ofContacts.summary())).not.toMatch(/Zed|Zoe/);
  });
});
