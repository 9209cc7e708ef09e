import type { ContactRequest, ProductRequest } from './contract.ts';

export type StoredProduct = ProductRequest & { readonly id: number; readonly type: string };
export type StoredContact = ContactRequest & { readonly id: number; readonly createdOn: number };
export interface StoredList {
  readonly id: number;
  readonly name: string;
  readonly created: number;
  readonly subscribers: number;
  readonly opens: number;
  readonly clicks: number;
}

/** What the store keeps. Nothing in it is guarded against two requests at once: that is the point. */
export interface Shop {
  readonly products: Map<number, StoredProduct>;
  readonly contacts: Map<number, StoredContact>;
  readonly lists: StoredList[];
  /** So many lists are given at once, bare, unless `limit` says otherwise; null: all, and no query is looked at. */
  listPage: number | null;
  /** Newest last; change it between pages to see what a reader makes of that. */
  readonly orders: Record<string, unknown>[];
  /** The first product with this url, or undefined. */
  byUrl(url: string): StoredProduct | undefined;
  insert(body: ProductRequest): StoredProduct;
  update(id: number, body: ProductRequest): StoredProduct;
  remove(id: number): boolean;
  addContact(id: number, fields?: ContactRequest): void;
  /** Sets the fields that are not empty (section 4.2); undefined when there is no such contact. */
  updateContact(id: number, body: ContactRequest): StoredContact | undefined;
}

const EMPTY: readonly unknown[] = ['', null, undefined];

/** An empty shop whose product ids start at 1 000. */
export function emptyShop(): Shop {
  const products = new Map<number, StoredProduct>();
  const contacts = new Map<number, StoredContact>();
  const idsByUrl = new Map<string, number[]>();
  let lastId = 1_000;

  const keep = (id: number, body: ProductRequest): StoredProduct => {
    const product = { ...body, type: body.type ?? 'physical', id };
    products.set(id, product);
    return product;
  };

  return {
    products,
    contacts,
    lists: [],
    listPage: null,
    orders: [],
    byUrl(url) {
      const id = idsByUrl.get(url)?.[0];
      return id === undefined ? undefined : products.get(id);
    },
    insert(body) {
      const id = ++lastId;
      const url = body.url ?? `product-${id}`;
      idsByUrl.set(url, [...(idsByUrl.get(url) ?? []), id]);
      return keep(id, { ...body, url });
    },
    update(id, body) {
      return keep(id, { ...products.get(id), ...body });
    },
    remove(id) {
      const url = products.get(id)?.url;
      if (url !== undefined) {
        const left = (idsByUrl.get(url) ?? []).filter((other) => other !== id);
        if (left.length === 0) idsByUrl.delete(url);
        else idsByUrl.set(url, left);
      }
      return products.delete(id);
    },
    addContact(id, fields = {}) {
      contacts.set(id, { ...fields, id, createdOn: 1_700_000_000 });
    },
    updateContact(id, body) {
      const contact = contacts.get(id);
      if (contact === undefined) return undefined;
      const set = Object.fromEntries(
        Object.entries(body).filter(
          ([, value]) => !EMPTY.includes(value) && !(Array.isArray(value) && value.length === 0),
        ),
      );
      const updated = { ...contact, ...set };
      contacts.set(id, updated);
      return updated;
    },
  };
}
