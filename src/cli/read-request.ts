import type { Workspace } from '../config/workspace.ts';
import { sentFields } from '../config/workspace.ts';
import { headersOfMappings } from '../mapping/compile-mapping.ts';
import { type RunAction, sampleFlags } from '../model/action.ts';
import { withoutUndefined } from '../model/json-object.ts';
import { storeIdentity } from '../model/remote-address.ts';
import type { RunPart, Sample } from '../model/run.ts';
import { UsageError } from '../model/storeferry-error.ts';
import type { RejectsEdits } from '../rejects/judge-cell.ts';
import type { RunTask } from '../run/execute-run.ts';
import { openImport, openMapping } from '../run/inputs/open-mapping.ts';
import { type ImportRequest, isExportRequest, type RunRequest } from '../run/run-context.ts';
import { findRun, knownRun, type OpenContext, refuseUnknownRun } from './open-context.ts';

/** The input of an import job, read from the workspace; UsageError for an unknown job or an export. */
export async function readImportRequest(
  workspace: Workspace,
  name: string,
  resend: boolean,
): Promise<ImportRequest> {
  const written = workspace.job(name);
  if (written.kind !== 'import')
    throw new UsageError(`The job ${name} is an export: it sends nothing.`, {
      hint: `Run it with: storeferry run ${name}`,
    });
  const { job, store, mapping } = await openImport(workspace, written);
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
      ? await openMapping(workspace.mapping(adopt.mapping), { ...job, source: adopt }, workspace.fileAccess())
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

/** What only commands choose of a task. */
interface TaskOptions {
  /** How many records a verification (default: 50) or a comparison (default: all, as with null) takes. */
  readonly records?: number | null;
  readonly onEdits?: (edits: RejectsEdits) => void;
}

/** The task of an action, with its input from the workspace. UsageError for an unknown job or run, a job of the wrong kind, or a restore without a comparison. */
export async function readTask(
  { workspace, context }: Pick<OpenContext, 'workspace' | 'context'>,
  action: RunAction,
  { records, onEdits = () => {} }: TaskOptions = {},
): Promise<RunTask> {
  switch (action.does) {
    case 'run': {
      const request = await readRequest(workspace, action.job, action.resend ?? false, action.sample);
      return isExportRequest(request) ? { kind: 'export', request } : { kind: 'run', request };
    }
    case 'plan': {
      const read = await readImportRequest(workspace, action.job, action.resend ?? false);
      return { kind: 'plan', request: { ...read, sample: action.sample } };
    }
    case 'approve': {
      const planned = await knownRun(context, action.run);
      return {
        kind: 'approve',
        request: await readImportRequest(workspace, planned.job, planned.resend),
        planned,
      };
    }
    case 'retry': {
      const rejected = await knownRun(context, action.run);
      const request = await readImportRequest(workspace, rejected.job, false);
      return { kind: 'retry', request, rejected, onEdits };
    }
    case 'release': {
      const { id: of, job } = await knownRun(context, action.run);
      const { only, conflicts } = action;
      const request = await readImportRequest(workspace, job, false);
      return { kind: 'release', request, release: withoutUndefined<RunPart>({ of, only, conflicts }) };
    }
    case 'undo': {
      const { findRunLedger } = await import('../run/records/run-records.ts');
      const kept = await findRun(context, action.run);
      // The history remembers runs that are no longer kept.
      const { id: of, job } =
        kept ?? (await findRunLedger(context, workspace, kept, action.run)) ?? refuseUnknownRun(action.run);
      const { only } = action;
      const request = await readImportRequest(workspace, job, false);
      return { kind: 'undo', request, undo: withoutUndefined<RunPart>({ of, only }) };
    }
    case 'verify': {
      const { job, store } = await readImportRequest(workspace, action.job, false);
      return {
        kind: 'verify',
        request: { job, store, sample: records ?? 50, random: Math.random },
      };
    }
    case 'drift': {
      const { restore = false, accept = false } = action;
      if (restore && accept)
        throw new UsageError('--accept and --restore are opposites.', { hint: 'Give one of them.' });
      const request = await readImportRequest(workspace, action.job, restore);
      const { job, store } = request;
      if (!restore) {
        return {
          kind: 'drift',
          request: { job, store, sample: records ?? null, random: Math.random, accept },
        };
      }
      const { runs } = context.state;
      const comparisons = await runs.list({ job: job.name, kinds: ['drift'], statuses: ['done'] });
      const compared = comparisons.find(({ storeId }) => storeId === storeIdentity(store));
      if (compared === undefined) {
        throw new UsageError(`The store was not compared with ${job.name} yet.`, {
          hint: `Compare it first: storeferry drift ${job.name}`,
        });
      }
      return { kind: 'restore', request, restore: { of: compared.id } };
    }
    default:
      throw new Error(`Unknown action: ${action satisfies never}`);
  }
}
