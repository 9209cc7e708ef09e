import type { StoreList } from '../../mapping/lookup-table.ts';
import type { Run } from '../../model/run.ts';
import { storeIdentity } from '../../model/store-identity.ts';
import { digestOf } from '../digest.ts';
import type { ImportRequest } from './import-request.ts';

/** Of all that decides a run's plan: the bytes of its source, mapping, job, store and version. */
export function runDigest(
  version: string,
  { job, mapping, store }: ImportRequest,
  run: Run,
  sourceSha256: string,
  lists: readonly StoreList[] | null,
): string {
  const { schedule: _when, notify: _whom, source, ...rest } = job;
  const { remote, ...reading } = source;
  return digestOf({
    source: sourceSha256,
    mapping: mapping.digest,
    lists,
    // A new password is no new job; and what is derived from a secret is not kept either.
    job: { ...rest, source: remote === undefined ? reading : { ...reading, remote: remote.location } },
    store: [storeIdentity(store), store.weightUnit],
    version,
    kind: run.kind === 'retry' ? run.retryOf : null,
    resend: run.resend,
  });
}
