import type { StoreConfig } from '../../config/store-config.ts';
import { headerPlaces } from '../../mapping/compile-mapping.ts';
import { type MappingSpec, matchValue, updateMatch } from '../../mapping/spec/mapping-spec.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import type { SourceLook } from '../../onboarding/preview-source.ts';
import { counted, grouped } from '../../text/printable.ts';
import type { RunContext } from '../run-context.ts';

const MAX_SKUS = 1000;

/**
 * What the ledger of a store knows of the products that a file changes, as a sentence; null for a mapping that finds none by
 * SKU. `state` and `store`: null for a new store, to which no job has sent anything.
 */
export async function knownProducts(
  state: RunContext['state'] | null,
  store: StoreConfig | null,
  spec: MappingSpec,
  { header, rows }: Pick<SourceLook, 'header' | 'rows'>,
): Promise<string | null> {
  if (spec.import !== 'products' || updateMatch(spec) !== 'sku') return null;
  const column = [matchValue(spec, 'sku')].flat()[0];
  const [index = -1] = (typeof column === 'string' && headerPlaces(spec.columns, header).get(column)) || [];
  const cells = rows.map((row) => (row.cells[index] ?? '').trim()).filter((cell) => cell !== '');
  const skus = [...new Set(cells)].slice(0, MAX_SKUS);
  if (skus.length === 0) return null;
  const found =
    store === null || state === null
      ? []
      : await state.ledger({ storeId: storeIdentity(store), resource: 'products' }).keysBy('sku', skus);
  const known = found.filter((keys) => keys.length > 0).length;
  const all = counted(skus.length, 'SKU');
  if (known === 0)
    return `No job has sent products with these SKUs to this store, and a job can change only what has been sent: each row would be rejected. First import the catalog, with the names and prices of the products, by another job for this store; then plan this job again.`;
  return known === skus.length
    ? `${all}: ${known === 1 ? 'it belongs' : 'all belong'} to products that jobs have sent to this store.`
    : `${grouped(known)} of ${all} belong to products that jobs have sent to this store; rows with the others are rejected.`;
}
