import type { Operation } from '../model/operation.ts';
import type { Outcome } from '../model/outcome.ts';
import type { SendOptions } from '../storefront/send.ts';
import type { Storefront } from '../storefront/storefront.ts';

/** The request of an operation. */
export function sendOperation(
  storefront: Pick<Storefront, 'upsertProduct' | 'updateContact' | 'deleteProduct'>,
  operation: Operation,
  options: SendOptions,
): Promise<Outcome> {
  switch (operation.kind) {
    case 'upsert-product':
      return storefront.upsertProduct({ url: operation.key, body: operation.body }, options);
    case 'update-contact':
      return storefront.updateContact(operation.key, operation.body, options);
    case 'delete-product':
      return storefront.deleteProduct(operation.id, options);
    default:
      throw new Error(`Unknown operation: ${operation satisfies never}`);
  }
}
