import type { ChangedId, IdProof, OperationResult } from './state.ts';

/** The id the ledger is to know after an applied upsert; an answer without one does not make it forget. */
export function acknowledgedId({ operation, outcome }: OperationResult): {
  readonly id: number | null;
  readonly idProof: IdProof;
} {
  if (outcome.kind !== 'applied') return { id: null, idProof: 'proven' };
  const knownId = operation.kind === 'upsert-product' ? operation.knownId : null;
  if (outcome.id === null || outcome.id === knownId) return { id: knownId, idProof: 'proven' };
  if (knownId !== null) return { id: outcome.id, idProof: 'changed' };
  return { id: outcome.id, idProof: outcome.answeredUrl === undefined ? 'proven' : 'once' };
}

/** Set when the store answered another id for a url than it did before. */
export function changedId({ operation, outcome }: OperationResult): ChangedId | undefined {
  if (operation.kind !== 'upsert-product' || outcome.kind !== 'applied') return undefined;
  const { key, knownId } = operation;
  if (knownId === null || outcome.id === null || outcome.id === knownId) return undefined;
  return { key, knownId, answeredId: outcome.id };
}
