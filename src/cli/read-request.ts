import { sentFields } from '../config/check-workspace.ts';
import type { Workspace } from '../config/workspace.ts';
import { headersOfMappings } from '../mapping/compile-mapping.ts';
import { storeIdentity } from '../model/remote-address.ts';
import type { Sample } from '../model/run.ts';
import { UsageError } from '../model/storeferry-error.ts';
import { openMapping } from '../run/inputs/open-mapping.ts';
import type { ImportRequest, RunRequest } from '../run/run-context.ts';
import { sampleFlags } from '../text/printable.ts';

/** The input of an import job, read from the workspace; UsageError for an unknown job or an export. */
export async function readImportRequest(
  workspace: Workspace,
  name: string,
  resend: boolean,
): Promise<ImportRequest> {
  const written = workspace.job(name);
  if (written.kind !== 'import')
    throw new UsageError(`The job ${name} is an export: it sends nothing that could be planned or retried.`, {
      hint: `Run it with: storeferry run ${name}`,
    });
  const store = workspace.store(written.store);
  const prices = written.import === 'products' ? (written.prices ?? store.prices) : undefined;
  const job = prices === undefined ? written : { ...written, prices };
  const mapping = openMapping(workspace.mapping(job.mapping), job, workspace.fileAccess());
  const senders = sentFields(workspace).get(storeIdentity(store)) ?? [];
  const knownContactHeaders = (headers: readonly string[]) => {
    const specs = workspace
      .mappingNames()
      .flatMap((one) => workspace.inspection.mapping(one)?.value?.spec ?? []);
    return headersOfMappings(
      specs.filter((spec) => spec.import === 'contacts'),
      headers,
    );
  };
  const { adopt } = job;
  const baseline =
    typeof adopt === 'object'
      ? openMapping(workspace.mapping(adopt.mapping), { ...job, source: adopt }, workspace.fileAccess())
      : undefined;
  return { job, store, mapping, baseline, senders, knownContactHeaders, resend };
}

/**
 * The input of a job of either kind, read from the workspace; UsageError for an unknown job, or an export with
 * options of imports.
 */
export async function readRequest(
  workspace: Workspace,
  name: string,
  resend: boolean,
  sample?: Sample,
): Promise<RunRequest> {
  const job = workspace.job(name);
  if (job.kind === 'import') return { ...(await readImportRequest(workspace, name, resend)), sample };
  const store = workspace.store(job.store);
  if (!resend && sample === undefined) return { job, store };
  if (!resend && sample?.limit !== undefined && sample.only === undefined && job.destination.mode === 'new')
    return { job, store, limit: sample.limit };
  throw new UsageError(
    `${resend ? '--resend' : sampleFlags(sample ?? {})} is for imports, and the job ${name} is an export.`,
    { hint: `Leave it out: storeferry run ${name}` },
  );
}
