import type { StoreConfig } from '../config/stores.ts';
import type { Run } from '../model/run.ts';
import { storeIdentity } from '../model/store-identity.ts';
import type { RunContext } from './context.ts';

/** What kinds of runs differ in when they begin. */
type Beginning = Pick<Run, 'job' | 'kind' | 'resource' | 'step'> &
  Partial<Pick<Run, 'digest' | 'resend' | 'retryOf'>>;

/** A run that is about to begin; nobody knows of it until it is created in the state. */
export function begunRun(context: RunContext, store: StoreConfig, beginning: Beginning): Run {
  return {
    id: context.newRunId(),
    sequence: 0,
    store: store.name,
    baseUrl: store.baseUrl,
    storeId: storeIdentity(store),
    status: 'running',
    digest: null,
    keyDigest: null,
    startedAt: context.clock(),
    stagedAt: null,
    finishedAt: null,
    totals: null,
    error: null,
    approved: false,
    resend: false,
    retryOf: null,
    ...beginning,
  };
}
