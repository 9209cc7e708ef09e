import type { DeleteProduct, Operation } from '../model/operation.ts';
import type { Outcome } from '../model/outcome.ts';
import type { SendOptions, Storefront } from '../storefront/storefront.ts';

/** The part of a storefront that writes. */
export type WritingStorefront = Pick<Storefront, 'upsertProduct' | 'updateContact' | 'deleteProduct'>;

/** Sends the request of an operation; for a delete that must confirm its id first, both requests. */
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
      return await storefront.deleteProduct(id, options);
    }
    default:
      throw new Error(`Unknown operation: ${operation satisfies never}`);
  }
}

type Learning = DeleteProduct & { readonly learn: string };

/** Once the body that confirms the id has been sent, the store holds something else than was acknowledged. */
async function learnAndDelete(
  storefront: WritingStorefront,
  { key, id, learn }: Learning,
  { onNotApplied: _, ...options }: SendOptions,
): Promise<Outcome> {
  const learned = await storefront.upsertProduct({ url: key, body: learn }, options);
  if (learned.kind !== 'applied') return learned;
  // For exactly the url that was sent the store may answer another id, as after a restore; for another spelling of it, that
  // may be another job's product.
  const isProven = learned.id === id || learned.answeredUrl === undefined;
  if (learned.id === null || !isProven) {
    const message = `not deleted: the store answers ${learned.id === null ? 'no id' : `another id (${learned.id}) than before (${id})`}; delete it in the store by hand`;
    return { kind: 'rejected', reason: { code: 'unknown-id', message }, inDoubt: true };
  }
  const outcome = await storefront.deleteProduct(learned.id, options);
  return outcome.kind === 'rejected' || outcome.kind === 'unsent' ? { ...outcome, inDoubt: true } : outcome;
}
