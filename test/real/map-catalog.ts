import { readFile } from 'node:fs/promises';
import { type MappedSource, mapBytes } from '../mapping/formats/map-text.ts';
import { DATA_FOLDER } from './catalog-rows.ts';

/**
 * Runs a real file through its shipped mapping. Keys met more than once are rejected, every copy, as the default
 * `duplicates: reject` of a job has it.
 */
export async function mapCatalog(file: string, mapping: string): Promise<MappedSource> {
  const mapped = await mapBytes(mapping, await readFile(new URL(file, DATA_FOLDER)));
  const times = Map.groupBy(mapped.products, ({ key }) => key);
  const copies = mapped.products.filter(({ key }) => (times.get(key)?.length ?? 0) > 1);
  return {
    ...mapped,
    products: mapped.products.filter((product) => !copies.includes(product)),
    rejected: [
      ...mapped.rejected,
      ...copies.map(({ key, rows, spans }) => ({
        kind: 'rejected' as const,
        key,
        rows,
        spans,
        reason: { code: 'repeated-key', message: 'the key comes more than once' },
      })),
    ],
  };
}
