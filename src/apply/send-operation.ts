import type { DeleteProduct, Operation } from '../model/operation.ts';
import type { Outcome } from '../model/outcome.ts';
import type { SendOptions } from '../storefront/send.ts';
import type { Storefront } from '../storefront/storefront.ts';

/** The part of a storefront that writes. */
export type WritingStorefront = Pick<Storefront, 'upsertProduct' | 'updateContact' | 'deleteProduct'>;

/** The request of an operation; of a delete that must learn its id first, both requests. */
export async function sendOperation(
  storefront: WritingStorefront,
  operation: Operation,
  options: SendOptions,
): Promise<Outcome> {
  switch (operation.kind) {
    case 'upsert-product':
      return await storefront.upsertProduct({ url: operation.key, body: operation.body }, options);
    case 'update-contact':
      return await storefront.updateContact(operation.key, operation.body, options);
    case 'delete-product': {
      const { learn, id } = operation;
      if (learn !== undefined) return await learnAndDelete(storefront, { ...operation, learn }, options);
      if (id !== null) return await storefront.deleteProduct(id, options);
      return unknownId('the store never answered an id for it');
    }
    default:
      throw new Error(`Unknown operation: ${operation satisfies never}`);
  }
}

type Learning = DeleteProduct & { readonly learn: string };

/** Once the body to learn the id by has been sent, the store holds something else than was acknowledged. */
async function learnAndDelete(
  storefront: WritingStorefront,
  operation: Learning,
  { onNotDone: _, ...options }: SendOptions,
): Promise<Outcome> {
  const id = await learnId(storefront, operation, options);
  if (typeof id !== 'number') return id;
  const outcome = await storefront.deleteProduct(id, options);
  return outcome.kind === 'rejected' || outcome.kind === 'unsent' ? { ...outcome, inDoubt: true } : outcome;
}

/** The id that the store answers for the product now, or why nothing is deleted. */
async function learnId(
  storefront: WritingStorefront,
  { key, id, learn }: Learning,
  options: SendOptions,
): Promise<number | Outcome> {
  const ask = () => storefront.upsertProduct({ url: key, body: learn }, options);
  const first = await ask();
  if (first.kind !== 'applied') return first;
  if (first.id === null) return unknownId('the store answers no id for it');
  const isProven = id === null ? first.answeredUrl === undefined : first.id === id;
  if (isProven) return first.id;
  // Another id than before, or another spelling: answered twice, it is the product that stands there now.
  const second = await ask();
  if (second.kind === 'rejected' || second.kind === 'unsent') return { ...second, inDoubt: true };
  if (second.kind !== 'applied') return second;
  return second.id === first.id ? first.id : unknownId('the store answers another id each time');
}

function unknownId(why: string): Outcome {
  const message = `not deleted: ${why}; delete it in the store by hand`;
  return { kind: 'rejected', reason: { code: 'unknown-id', message }, inDoubt: true };
}
