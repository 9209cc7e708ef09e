import type { ImportMode, Resource } from '../model/mapped-record.ts';
import { isNewContactKey, type ProductPart } from '../model/operation.ts';
import type { OwnedKey } from '../state/state.ts';
import type { RenameMethod } from './predecessors.ts';
import type { ComparedRecord } from './record-comparer.ts';
import type { UnplacedOperation } from './shard-writer.ts';

/** A product of this job that gets a new url. */
export interface RenamedProduct extends OwnedKey {
  readonly to: string;
}

interface OperationOptions {
  readonly resource: Resource;
  readonly mode: ImportMode;
  /** How products get a new url. */
  readonly method: RenameMethod | undefined;
  /** Left out: the whole body is sent. */
  readonly part?: ProductPart | undefined;
}

/** The operation that sends a record. */
export function makeOperation(
  { record, mark, predecessor }: Pick<ComparedRecord, 'record' | 'mark' | 'predecessor'>,
  { resource, mode, method, part }: OperationOptions,
): UnplacedOperation {
  const { key, rows, spans, body, fingerprint, memo } = record;
  const upsert = { key, rows, spans, body, fingerprint, memo };
  switch (resource) {
    case 'products': {
      const renamed = predecessor?.renamed;
      const putId = method === 'put' ? (renamed?.id ?? undefined) : undefined;
      return {
        kind: 'upsert-product',
        ...upsert,
        knownId: putId ?? mark?.id ?? null,
        part,
        owner: record.owner ?? (mode === 'update' ? mark?.job : undefined),
        ...(renamed !== undefined && { renames: renamed.key }),
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
