import { describe, expect, it } from 'vitest';
import { sendOperation, type WritingStorefront } from '../../src/apply/apply-operations.ts';
import type { DeleteProduct, Outcome } from '../../src/model/operation.ts';
import { parseShardLine, shardLine } from '../../src/plan/shard-writer.ts';
import { contact, deletion, product } from './setup.ts';

const OPTIONS = { signal: new AbortController().signal };
const DONE: Outcome = { kind: 'applied', id: null };

/** A store that answers upserts so, and notes what it was sent. */
function storefront(
  upserted: Outcome = { kind: 'applied', id: 7 },
  updated: Outcome = upserted,
  answer: unknown = undefined,
) {
  const sent: string[] = [];
  const writing: WritingStorefront = {
    async upsertProduct({ url, body }) {
      sent.push(`upsert ${url} ${body}`);
      return upserted;
    },
    async updateProduct(id, { body }, { onAnswer }) {
      sent.push(`update ${id} ${body}`);
      onAnswer?.(answer);
      return updated;
    },
    async updateContact(id) {
      sent.push(`contact ${id}`);
      return { kind: 'applied', id: 3 };
    },
    async upsertContact(key) {
      sent.push(`new contact ${key}`);
      return { kind: 'applied', id: 4 };
    },
    async deleteProduct(id) {
      sent.push(`delete ${id}`);
      return DONE;
    },
  };
  return { sent, writing };
}

const lookedUpDeletion = (): DeleteProduct => ({
  ...deletion(7),
  key: 'mug',
  id: 7,
  idLookupBody: '{"url":"mug"}',
});

describe('sending an operation', () => {
  it('is one request for an upsert, a contact and a delete by a proven id', async () => {
    const { sent, writing } = storefront();
    const mug = product(1, { key: 'mug', body: '{}' });
    expect(await sendOperation(writing, mug, OPTIONS)).toEqual({ kind: 'applied', id: 7 });
    expect(await sendOperation(writing, contact(3), OPTIONS)).toEqual({ kind: 'applied', id: 3 });
    expect(await sendOperation(writing, deletion(9), OPTIONS)).toEqual(DONE);
    expect(sent).toEqual(['upsert mug {}', 'contact 3', 'delete 9']);
  });

  it('sends the stock that the plan has read, in a part and in the whole body', async () => {
    const variants = [{ sku: 'A', quantity: 5 }, { sku: 'B' }];
    const body = JSON.stringify({ url: 'mug', title: 'Mug', variants });
    const read = {
      body,
      stock: [
        [0, 0],
        [1, 2],
      ] as const,
    };
    const { sent, writing } = storefront();
    const sold = '"variants":[{"sku":"A","quantity":0},{"sku":"B","quantity":2}]}';
    await sendOperation(writing, product(1, { key: 'mug', ...read }), OPTIONS);
    const part = { fields: ['variants'], byId: true as const };
    await sendOperation(writing, product(1, { key: 'mug', ...read, knownId: 7, part }), OPTIONS);
    expect(sent).toEqual([`upsert mug {"url":"mug","title":"Mug",${sold}`, `update 7 {${sold}`]);
    const planned = product(1, { key: 'mug', ...read });
    expect(parseShardLine(shardLine(planned).trimEnd(), planned.index)).toMatchObject(read);

    const same = product(1, { key: 'mug', body: '{"url":"mug","title":"Mug"}', stock: [] });
    await sendOperation(writing, same, OPTIONS);
    expect(sent.at(-1), 'without variants').toBe(`upsert mug ${same.body}`);
  });

  it('sends a part by url or by id, and the whole body where the store no longer has the product', async () => {
    const whole = '{"url":"mug","title":"Mug","description":"Blue"}';
    const part = { fields: ['description'] };
    const mug = product(1, { key: 'mug', body: whole, knownId: 7, part });
    const known = storefront();
    expect(await sendOperation(known.writing, mug, OPTIONS)).toEqual({
      kind: 'applied',
      id: 7,
      part: ['description', 'title'],
    });
    const byId = { ...mug, part: { ...part, byId: true as const } };
    expect(await sendOperation(known.writing, byId, OPTIONS)).toEqual({
      kind: 'applied',
      id: 7,
      part: ['description'],
    });
    expect(known.sent).toEqual([`upsert mug ${whole}`, 'update 7 {"description":"Blue"}']);

    const recreated = storefront({ kind: 'applied', id: 8 });
    expect(await sendOperation(recreated.writing, mug, OPTIONS)).toEqual({ kind: 'applied', id: 8 });
    expect(recreated.sent).toEqual([`upsert mug ${whole}`, `upsert mug ${whole}`]);
    const gone: Outcome = { kind: 'rejected', reason: { code: 'store-404', message: 'gone' }, absent: true };
    const absent = storefront({ kind: 'applied', id: 8 }, gone);
    expect(await sendOperation(absent.writing, byId, OPTIONS)).toEqual({ kind: 'applied', id: 8 });
  });

  it.each([
    ['emptied with its title', { title: '', images: [], description: '' }, true],
    ['emptied except its title', { title: 'Mug', images: [], description: '' }, true],
    ['edited by hand in one field', { title: 'Mug', images: ['a.png'], description: '' }, false],
    ['answered in part', {}, false],
  ])('sends the whole body at once of a product that is %s by a part', async (_, left, isSent) => {
    const fields = { title: 'Mug', images: ['a.png'], description: 'Blue', variants: [{ price: 3 }] };
    const whole = JSON.stringify({ type: 'physical', url: 'mug', ...fields });
    const part = { fields: ['variants'], byId: true as const };
    const mug = product(1, { key: 'mug', body: whole, knownId: 7, part });
    const answer = { id: 7, url: 'mug', type: 'physical', variants: fields.variants, ...left };
    const { sent, writing } = storefront(undefined, undefined, answer);
    const outcome = await sendOperation(writing, mug, OPTIONS);
    expect(outcome).toEqual({ kind: 'applied', id: 7, ...(!isSent && { part: ['variants'] }) });
    expect(sent.slice(1)).toEqual(isSent ? [`update 7 ${whole}`] : []);
  });

  it('sends the whole body by the same id where parts are no longer allowed, and by url only what is gone', async () => {
    const whole = '{"url":"mug","title":"Mug","description":"Blue"}';
    const part = { fields: ['description'], byId: true as const };
    const mug = product(1, { key: 'mug', body: whole, knownId: 7, part });
    const parts = { allow: () => false, onSeen: async () => {} };
    const known = storefront();
    expect(await sendOperation(known.writing, mug, OPTIONS, parts)).toEqual({ kind: 'applied', id: 7 });
    expect(known.sent).toEqual([`update 7 ${whole}`]);
    const gone: Outcome = { kind: 'rejected', reason: { code: 'store-404', message: 'gone' }, absent: true };
    const absent = storefront({ kind: 'applied', id: 8 }, gone);
    expect(await sendOperation(absent.writing, mug, OPTIONS, parts)).toEqual({ kind: 'applied', id: 8 });
    expect(absent.sent).toEqual([`update 7 ${whole}`, `upsert mug ${whole}`]);
  });

  it('deletes by an id that was answered once only when it is answered again', async () => {
    const { sent, writing } = storefront();
    expect(await sendOperation(writing, lookedUpDeletion(), OPTIONS)).toEqual(DONE);
    expect(sent).toEqual(['upsert mug {"url":"mug"}', 'delete 7']);
  });

  it('deletes by the id that the store answers now for exactly this url, as after a restore', async () => {
    const { sent, writing } = storefront({ kind: 'applied', id: 8 });
    expect(await sendOperation(writing, lookedUpDeletion(), OPTIONS)).toEqual(DONE);
    expect(sent).toEqual(['upsert mug {"url":"mug"}', 'delete 8']);
  });

  it.each<[string, Outcome]>([
    ['the store answers no id', { kind: 'applied', id: null }],
    [
      'the store answers another id for another spelling: it may be another job’s product',
      { kind: 'applied', id: 8, answeredUrl: 'Mug' },
    ],
  ])('deletes nothing, and says so, when %s', async (_, answer) => {
    const { sent, writing } = storefront(answer);
    const outcome = await sendOperation(writing, lookedUpDeletion(), OPTIONS);
    expect(outcome).toMatchObject({ kind: 'rejected', reason: { code: 'unknown-id' }, inDoubt: true });
    expect(sent).toEqual(['upsert mug {"url":"mug"}']);
  });

  it.each<Outcome>([
    { kind: 'rejected', reason: { code: 'store-422', message: 'no' } },
    { kind: 'unsent', reason: { code: 'timeout', message: 'no answer' }, inDoubt: true, atWork: true },
  ])('deletes nothing when the lookup of the id has failed (%j)', async (answer) => {
    const { sent, writing } = storefront(answer);
    expect(await sendOperation(writing, lookedUpDeletion(), OPTIONS)).toEqual(answer);
    expect(sent).toHaveLength(1);
  });
});
