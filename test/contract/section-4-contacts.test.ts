import { afterAll, describe, expect, it } from 'vitest';
import { expectRefusal } from './expect-refusal.ts';
import { contact } from './shapes.ts';
import { openTarget } from './target.ts';

const target = await openTarget();
afterAll(() => target[Symbol.asyncDispose]());

describe.skipIf(target.contactId === undefined)('4.2 Update a contact', () => {
  const path = `/api/site/contacts/${target.contactId}`;
  const update = (body: unknown) => target.send('PUT', path, { body });

  it('4.2 answers 2xx and the contact, with all contact fields of section 2', async () => {
    const { status, contentType, json } = await update({});
    expect(Math.floor(status / 100)).toBe(2);
    expect(contentType).toMatch(/^application\/json\b/);
    expect(String(contact.parse(json).id)).toBe(target.contactId);
  });

  it('4.2 sets the fields of the body and leaves the others', async () => {
    const before = contact.parse((await update({})).json);
    const after = contact.parse((await update({ note: 'Set by a contract test' })).json);
    expect(after).toEqual({ ...before, note: 'Set by a contract test' });
    if (before.note !== '') await update({ note: before.note });
  });

  it('4.2 does not overwrite stored values by empty fields', async () => {
    const before = contact.parse((await update({ note: 'Set by a contract test' })).json);
    const empty = {
      email: '',
      name: '',
      phone: '',
      note: '',
      address: '',
      city: '',
      state: '',
      zip: '',
      country: '',
    };
    const lists = { companyName: '', properties: [], tags: [], subscriberLists: [] };
    expect(contact.parse((await update({ ...empty, ...lists })).json)).toEqual(before);
  });

  it.skipIf(target.live)('4.2 sets false, which is not empty, and lists with the id 0', async () => {
    const after = contact.parse(
      (await update({ subscribed: false, subscriberLists: [0], tags: ['a', 'b'] })).json,
    );
    expect(after).toMatchObject({ subscribed: false, subscriberLists: [0], tags: ['a', 'b'] });
  });
});

describe.skipIf(!target.mayWrite)('4.2 Update a contact that does not exist', () => {
  it('4.2, 7.3 answers 4xx and an error body that says the resource was not found', async () => {
    const answer = await target.send('PUT', '/api/site/contacts/999999999', { body: { note: 'Nobody' } });
    expect(expectRefusal(answer)).toMatch(/not found/i);
  });
});
