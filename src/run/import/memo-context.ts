import type { MappingContext } from '../../mapping/compile-mapping.ts';
import type { StoreList } from '../../mapping/lookup-table.ts';
import { mappingCode } from '../../mapping/map-tables.ts';
import { digestOf } from '../digest.ts';
import type { ImportRequest } from './import-request.ts';

/**
 * A digest of everything beside its rows that decides what becomes of a record, but for the moment of staging: rows
 * that were mapped under another one are mapped again.
 */
export function memoContext(
  version: string,
  { mapping, store, job }: ImportRequest,
  lists: readonly StoreList[] | null,
): string {
  const context: Record<Exclude<keyof MappingContext, 'now'>, unknown> = {
    // These two, the mapping itself and the files that it looks up are in the mapping's own digest.
    params: null,
    crosswalk: null,
    lookups: lists,
    weightUnit: store.weightUnit,
    limits: job.limits ?? null,
    html: job.html ?? null,
  };
  return digestOf([version, mappingCode(), mapping.digest, context]);
}
