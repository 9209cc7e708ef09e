import { hash } from 'node:crypto';
import type { Storefront } from '../../../src/storefront/storefront.ts';
import { TARGET } from '../../state/samples.ts';
import type { FaultyProcess } from './process.ts';
import type { SimulatedStore, StoreProfile } from './simulated-store.ts';

/** Of the store of all jobs (`STORE`): a digest of its identity. */
export const PROBE_FILE = `${hash('sha256', TARGET.storeId).slice(0, 16)}.json`;

/** The result of a probe that has found the store like this, as the artifacts keep it. */
export function probeOf({ keepsByUrl, keepsById, reads, unaltered }: StoreProfile) {
  const unknown = {
    ...{
      readsContacts: null,
      readsCategories: null,
      readsOrdersSince: null,
      searchesContactsByEmail: null,
      upsertsContactsByEmail: null,
    },
    ...{
      advancedKeepsVariantPrices: null,
      plainKeepsVariantPrices: null,
      nullQuantity: null,
      categoryForm: null,
    },
    ...{ emptyListClears: null, emptyContactPutAnswersWhole: null },
    ...{ idSurvivesRecreation: null, unknownDeleteStatus: null, listPageLimit: null, retryAfterOn503: null },
  };
  const properties = {
    ...unknown,
    readsProducts: reads,
    updatesProductById: keepsById,
    absentFieldsStay: keepsByUrl,
    partialProductAnswersWhole: keepsByUrl,
    htmlAltered: !unaltered,
    pricesAltered: !unaltered,
  };
  return { at: 0, requests: 0, left: [], properties, evidence: {} };
}

/** Whether answers are compared with what was sent. */
export function observes({ keepsByUrl, keepsById, reads }: StoreProfile): boolean {
  return keepsByUrl || keepsById || reads;
}

/** Reads the products of the store. */
export function readingStorefront(
  store: SimulatedStore,
  process: FaultyProcess,
  writing: Partial<Storefront> = {},
): Storefront {
  const none = () => Promise.reject(new Error('a plan only reads products'));
  return {
    async product(id) {
      process.refuseDead();
      return store.read(id);
    },
    async products({ limit, skip }) {
      process.refuseDead();
      const all = store.readAll();
      const items = all.slice(skip, skip + limit).map((item) => ({ ...item }));
      return { items, texts: () => items.map((item) => JSON.stringify(item)), limit, totalCount: all.length };
    },
    categories: none,
    expectPages: () => {},
    upsertProduct: none,
    updateProduct: none,
    updateContact: none,
    upsertContact: none,
    deleteProduct: none,
    subscriberLists: none,
    orders: none,
    contacts: none,
    contactsByEmail: none,
    stats: () => {
      throw new Error('a plan only reads products');
    },
    close: async () => {},
    ...writing,
    [Symbol.asyncDispose]: async () => {},
  };
}
