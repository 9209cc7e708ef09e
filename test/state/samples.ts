import type { Operation, Outcome, UpdateContact, UpsertProduct } from '../../src/model/operation.ts';
import type { Run } from '../../src/model/run.ts';
import type { LedgerTarget, OperationResult } from '../../src/state/state.ts';

export const TARGET: LedgerTarget = { storeId: '//shop.example', resource: 'products' };

/** A run of the job `nightly` on TARGET, unless given otherwise. */
export function sampleRun(changes: Partial<Run> = {}): Run {
  return {
    id: 'run-1',
    sequence: 1,
    job: 'nightly',
    kind: 'run',
    store: 'main',
    baseUrl: 'https://shop.example',
    ...TARGET,
    status: 'running',
    step: 'apply',
    digest: 'digest',
    keyDigest: null,
    startedAt: 1_000,
    stagedAt: null,
    finishedAt: null,
    totals: null,
    error: null,
    retryOf: null,
    resend: false,
    approved: false,
    ...changes,
  };
}

/** An upsert of a product; its body holds the fingerprint, so that a mismatch shows. */
export function upsert(index: number, key: string, changes: Partial<UpsertProduct> = {}): UpsertProduct {
  const fingerprint = changes.fingerprint ?? `print-of-${key}`;
  return {
    kind: 'upsert-product',
    index,
    key,
    rows: 1,
    spans: [{ file: 0, from: index + 2, to: index + 2 }],
    body: bodyOf(key, fingerprint),
    fingerprint,
    knownId: null,
    ...changes,
  };
}

/** The body of `upsert`. */
export function bodyOf(key: string, fingerprint: string): string {
  return JSON.stringify({ type: 'physical', title: `Title of ${key}`, url: key, sku: fingerprint });
}

export function updateContact(index: number, key: string, fingerprint = `print-of-${key}`): UpdateContact {
  return {
    kind: 'update-contact',
    index,
    key,
    rows: 1,
    spans: [],
    body: bodyOf(key, fingerprint),
    fingerprint,
  };
}

export function deletion(index: number, key: string, id: number): Operation {
  return { kind: 'delete-product', index, key, rows: 0, spans: [], id };
}

export function applied(operation: Operation, id: number | null = operation.index + 100): OperationResult {
  return { operation, outcome: { kind: 'applied', id } };
}

export function rejected(operation: Operation, message = 'Title is too long.'): OperationResult {
  return { operation, outcome: { kind: 'rejected', reason: { code: 'store-422', message } } };
}

export function unsent(operation: Operation, message = 'The store answered 503.'): OperationResult {
  const outcome: Outcome = { kind: 'unsent', reason: { code: 'store-503', message } };
  return { operation, outcome };
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
