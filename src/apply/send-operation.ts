import type { DeleteProduct, Operation, Outcome } from '../model/operation.ts';
import type { SendOptions, Storefront } from '../storefront/storefront.ts';

/** The part of a storefront that writes. */
export type WritingStorefront = Pick<Storefront, 'upsertProduct' | 'updateContact' | 'deleteProduct'>;

/** Sends the request of an operation; for a delete whose id must be looked up first, both requests. */
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
      const { id, idLookupBody } = operation;
      if (idLookupBody === undefined) return await storefront.deleteProduct(id, options);
      return await lookUpAndDelete(storefront, { ...operation, idLookupBody }, options);
    }
    default:
      throw new Error(`Unknown operation: ${operation satisfies never}`);
  }
}

type LookedUpDelete = DeleteProduct & { readonly idLookupBody: string };

/** Once `idLookupBody` has been sent, the store holds something else than was acknowledged. */
async function lookUpAndDelete(
  storefront: WritingStorefront,
  { key, id, idLookupBody }: LookedUpDelete,
  { onNotApplied: _, ...options }: SendOptions,
): Promise<Outcome> {
  const lookedUp = await storefront.upsertProduct({ url: key, body: idLookupBody }, options);
  if (lookedUp.kind !== 'applied') return lookedUp;
  // For exactly the url that was sent the store may answer another id, as after a restore; for another spelling of it, that
  // may be another job's product.
  const isProven = lookedUp.id === id || lookedUp.answeredUrl === undefined;
  if (lookedUp.id === null || !isProven) {
    const message = `not deleted: the store answers ${lookedUp.id === null ? 'no id' : `another id (${lookedUp.id}) than before (${id})`}; delete it in the store by hand`;
    return { kind: 'rejected', reason: { code: 'unknown-id', message }, inDoubt: true };
  }
  const outcome = await storefront.deleteProduct(lookedUp.id, options);
  return outcome.kind === 'rejected' || outcome.kind === 'unsent' ? { ...outcome, inDoubt: true } : outcome;
}
