import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contactAnswer, fillContact } from '../../src/sandbox/contact-routes.ts';
import { setup } from './setup.ts';

const texts = ['email', 'name', 'phone', 'note', 'address', 'city', 'state', 'zip', 'country', 'companyName'];
const lists = ['properties', 'tags', 'subscriberLists'];

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

describe('contacts', () => {
  it('sets what is sent and keeps the rest', async () => {
    await using store = await setup();
    const { body: before } = await store.send('PUT', '/api/site/contacts/1001', {});
    const sent = {
      name: 'Ida Example',
      note: '',
      tags: ['vip'],
      properties: [{ name: 'Size', value: '' }],
      subscribed: false,
      subscriberLists: [0],
    };
    const { status, body } = await store.send('PUT', '/api/site/contacts/1001', sent);
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, ...sent, note: before.note });
    expect((await store.list('/_sandbox/contacts'))[0]).toEqual(body);
  });

  it('does not let empty fields overwrite, whatever is sent', () => {
    const empty = fc.constantFrom('', null, undefined);
    const property = fc.record({ name: fc.string(), value: fc.string() });
    const body = fc.record({
      ...Object.fromEntries(texts.map((name) => [name, fc.oneof(fc.string(), empty)])),
      properties: fc.option(fc.array(property), { nil: null }),
      tags: fc.option(fc.array(fc.string()), { nil: null }),
      subscribed: fc.constantFrom(true, false, null, undefined),
      subscriberLists: fc.option(fc.array(fc.nat()), { nil: null }),
    });
    const stored = body.map((values) =>
      contactAnswer.parse({
        id: 7,
        createdOn: 1,
        memberId: 9,
        ...Object.fromEntries(texts.map((name) => [name, new Map(Object.entries(values)).get(name) ?? ''])),
        ...Object.fromEntries(
          lists.map((name) => [name, new Map<string, unknown>(Object.entries(values)).get(name) ?? []]),
        ),
        subscribed: values.subscribed ?? false,
      }),
    );
    fc.assert(
      fc.property(stored, body, (before, sent) => {
        const after: Record<string, unknown> = fillContact(before, sent);
        for (const [name, value] of Object.entries(before)) {
          const wanted = new Map<string, unknown>(Object.entries(sent)).get(name);
          expect(after[name]).toEqual(isEmpty(wanted) ? value : wanted);
        }
        expect(Object.keys(after)).toEqual(Object.keys(before));
      }),
    );
  });

  it('ignores what only answers carry', async () => {
    await using store = await setup();
    const { body } = await store.send('PUT', '/api/site/contacts/1002', { id: 5, createdOn: 5, memberId: 5 });
    expect(body.id).toBe(1002);
    expect(body.createdOn).not.toBe(5);
    expect(body.memberId).not.toBe(5);
  });

  it.each(['999999', '0', 'abc', '1001x', '9'.repeat(40)])('has no contact %s', async (id) => {
    await using store = await setup();
    const { status, body } = await store.send('PUT', `/api/site/contacts/${id}`, { name: 'A' });
    expect(status).toBe(404);
    expect(body).toEqual({ success: false, message: expect.stringMatching(/resource not found/i) });
  });

  it.each([
    ['a number for a text', { phone: 5 }, 'phone: expected string'],
    ['a text for a list', { tags: 'a,b' }, 'tags: expected array'],
    ['a list id in quotes', { subscriberLists: ['1'] }, 'subscriberLists[0]: expected number'],
    ['a property without a value', { properties: [{ name: 'a' }] }, 'properties[0].value: expected string'],
    ['a word for a boolean', { subscribed: 'yes' }, 'subscribed: expected boolean'],
    ['an unknown field', { e_mail: 'x' }, 'Unrecognized key: "e_mail"'],
  ])('refuses %s and changes nothing', async (_name, sent, message) => {
    await using store = await setup();
    const { body: before } = await store.send('PUT', '/api/site/contacts/1001', {});
    const refused = await store.send('PUT', '/api/site/contacts/1001', { ...sent, name: 'Never set' });
    expect([refused.status, refused.body.success]).toEqual([422, false]);
    expect(refused.body.message).toContain(message);
    expect((await store.send('PUT', '/api/site/contacts/1001', {})).body).toEqual(before);
  });

  it('counts the subscribers of a list from the contacts', async () => {
    await using store = await setup();
    const subscribers = async (id: number) => {
      const body = await store.list('/api/site/subscriber-lists');
      return Number(body.find((list) => list.id === id)?.subscribers);
    };
    await store.send('PUT', '/api/site/contacts/1001', { subscribed: true, subscriberLists: [2] });
    const before = await subscribers(2);
    await store.send('PUT', '/api/site/contacts/1001', { subscribed: false });
    expect(await subscribers(2)).toBe(before - 1);
    await store.send('PUT', '/api/site/contacts/1001', { subscribed: true, subscriberLists: [2, 2, 77] });
    expect(await subscribers(2)).toBe(before);
  });
});
