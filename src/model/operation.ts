import type { RowSpan } from './row.ts';

interface FromRecord {
  /** Position within its shard, from 0. */
  readonly index: number;
  readonly key: string;
  readonly rows: number;
  readonly spans: readonly RowSpan[];
}

/** `POST /api/site/products?update_existing_product_by_url=true` (storefront-api.md, section 4.1). */
export interface UpsertProduct extends FromRecord {
  readonly kind: 'upsert-product';
  /** The request body: serialised once, so that what is fingerprinted is what is sent. */
  readonly body: string;
  readonly fingerprint: string;
  /** The memo of the rows that made the body (DeferredRecord), to be remembered with it; left out where there is none. */
  readonly memo?: string | undefined;
  /** The id the store last answered for this url, if the ledger knows it. */
  readonly knownId: number | null;
}

/** `PUT /api/site/contacts/{id}` (section 4.2); the id is the key. */
export interface UpdateContact extends FromRecord {
  readonly kind: 'update-contact';
  readonly body: string;
  readonly fingerprint: string;
  readonly memo?: string | undefined;
}

/**
 * `DELETE /api/site/products/{id}` (section 4.4), of a product the source no longer has. With `idLookupBody`
 * the id must be proven once more: that body is sent first as an upsert, and the product is deleted by the id that the answer
 * has for exactly the url that was sent, or for another spelling of it if it is the same id as before.
 */
export interface DeleteProduct extends FromRecord {
  readonly kind: 'delete-product';
  readonly id: number;
  readonly idLookupBody?: string | undefined;
}

/** One planned request. */
export type Operation = UpsertProduct | UpdateContact | DeleteProduct;

/** The most operations a shard holds. */
export const SHARD_SIZE = 500;
