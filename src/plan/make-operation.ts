import { isNewContactKey, type RecordPart } from '../model/operation.ts';
import type { OwnedKey } from '../state/state.ts';
import type { ComparedRecord, CompareOptions } from './record-comparer.ts';
import type { UnplacedOperation } from './shard-writer.ts';

/** A product of this job that gets a new url. */
export interface RenamedProduct extends OwnedKey {
  readonly to: string;
}

/** The operation that sends a record; without `part` its whole body. */
export function makeOperation(
  { record, mark, predecessor }: Pick<ComparedRecord, 'record' | 'mark' | 'predecessor'>,
  { resource, mode, predecessors }: Pick<CompareOptions, 'resource' | 'mode' | 'predecessors'>,
  part?: RecordPart,
): UnplacedOperation {
  const { key, rows, spans, body, fingerprint, memo } = record;
  const upsert = { key, rows, spans, body, fingerprint, memo };
  switch (resource) {
    case 'products': {
      const renamed = predecessor?.renamed;
      const putId = predecessors?.method === 'put' ? (renamed?.id ?? undefined) : undefined;
      return {
        kind: 'upsert-product',
        ...upsert,
        knownId: putId ?? mark?.id ?? null,
        part,
        owner: record.owner ?? (mode === 'update' ? mark?.job : undefined),
        ...(renamed !== undefined && { renames: renamed.key }),
        ...(predecessor !== undefined && renamed === undefined && { adopts: true }),
        ...(putId !== undefined && { putId }),
      };
    }
    case 'contacts':
      return isNewContactKey(key)
        ? { kind: 'upsert-contact', ...upsert }
        : { kind: 'update-contact', ...upsert, part };
    default:
      return resource satisfies never;
  }
}

/** The delete of a product under its old key; with `idLookupBody`, its id must be proved again. */
export function deleteOfRenamed(
  { key, to }: RenamedProduct,
  id: number,
  idLookupBody: string | undefined,
): UnplacedOperation {
  return { kind: 'delete-product', key, id, idLookupBody, renamedTo: to, rows: 0, spans: [] };
}
