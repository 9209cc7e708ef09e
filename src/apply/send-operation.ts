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
      const id = operation.learn === undefined ? operation.id : await learnId(storefront, operation, options);
      if (typeof id === 'number') return await storefront.deleteProduct(id, options);
      return id ?? unknownId('the store never answered an id for it');
    }
    default:
      throw new Error(`Unknown operation: ${operation satisfies never}`);
  }
}

/** The id that the store answers for the product now, or why nothing is deleted. */
async function learnId(
  storefront: WritingStorefront,
  { key, id, learn = '' }: DeleteProduct,
  options: SendOptions,
): Promise<number | Outcome> {
  const outcome = await storefront.upsertProduct({ url: key, body: learn }, options);
  if (outcome.kind !== 'applied') return outcome;
  if (outcome.id === null) return unknownId('the store answers no id for it');
  if (id !== null && outcome.id !== id)
    return unknownId(`the store answers the id ${outcome.id}, before it was ${id}`);
  return outcome.id;
}

function unknownId(why: string): Outcome {
  const message = `not deleted: ${why}; delete it in the store by hand`;
  return { kind: 'rejected', reason: { code: 'unknown-id', message }, inDoubt: true };
}
