import type { Run } from '../model/run.ts';
import type { LedgerTarget } from './state.ts';

/** The ledger an import run writes to. An export has none: a TypeError, since asking for it is a bug. */
export function importTarget({ id, storeId, resource }: Run): LedgerTarget {
  switch (resource) {
    case 'products':
    case 'contacts':
      return { storeId, resource };
    case 'subscriber-lists':
    case 'orders':
      throw new TypeError(`run ${id} exports ${resource}: it has no ledger`);
    default:
      return resource satisfies never;
  }
}
