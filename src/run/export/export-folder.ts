import type { Readable } from 'node:stream';
import type { ExportJob } from '../../config/job/job.ts';
import { readItems } from '../../export/reading/read-items.ts';
import {
  openExportFile,
  openNewest,
  type Reconciliation,
  reconcileFiles,
} from '../../export/writing/export-file.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import type { ListHistory } from '../../model/subscriber-list.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { pathFrom } from '../../text/printable.ts';
import type { ExportRequest, RunContext } from '../run-context.ts';

/** The history of a job and its path. */
interface ExportHistory {
  readonly location: string;
  readonly history: ListHistory;
}

/** Reads the history that a job has collected. UsageError for a job without history, and before its first run. */
export async function exportHistory(
  access: FileAccess,
  job: ExportJob,
  signal: AbortSignal,
): Promise<ExportHistory> {
  const { mode } = job.destination;
  if (job.export !== 'subscriber-lists') {
    throw new UsageError(
      `The job ${job.name} exports ${job.export}; only subscriber lists have statistics.`,
      {
        hint: 'Name a job with `export: subscriber-lists` and `mode: append`.',
      },
    );
  }
  if (mode === 'replace') {
    throw new UsageError(`The job ${job.name} replaces its file each time, so there is no history to draw.`, {
      hint: `Set \`mode: append\` under destination in jobs/${job.name}.yaml. Each run then adds one line per list.`,
    });
  }
  if (job.destination.table !== undefined) {
    throw new UsageError(`The job ${job.name} writes into a table, whose history is not drawn here.`, {
      hint: 'Query the table, or export to a file with `mode: append` as well.',
    });
  }
  // A history has one name.
  const file = await openExportFile(access, job, '');
  const location = pathFrom(access.workspaceDir, file.location);
  const history = await file.history(signal);
  if (history !== undefined) return { location, history };
  throw new UsageError(`There is no history yet: ${location} does not exist.`, {
    hint: `Take the first reading with: storeferry run ${job.name}`,
  });
}

/** The folder with the position and the copies of a job with `mode: new`. */
export function exportFolder({ artifacts }: RunContext, { name }: ExportJob): RunFolder {
  return artifacts.run(`export-${name}`);
}

/**
 * The file of an export job as it is now, the newest one of a job with `mode: new`. UsageError before its first run; the caller reads
 * or destroys the content.
 */
export async function openExport(
  access: RunContext,
  job: ExportJob,
  signal: AbortSignal,
): Promise<{ readonly location: string; readonly content: Readable }> {
  if (job.destination.mode === 'new') {
    const newest = await openNewest(exportFolder(access, job));
    if (newest !== undefined) return newest;
    throw new UsageError('There is no file yet.', { hint: `Write it with: storeferry run ${job.name}` });
  }
  const [newest] = await access.state.runs.list({
    job: job.name,
    kinds: ['export'],
    statuses: ['done'],
    limit: 1,
  });
  const { location, read } = await openExportFile(access, job, new Date(newest?.stagedAt ?? 0).toISOString());
  const found = await read(signal);
  if (found !== undefined) return { location, content: found.content };
  throw new UsageError(`There is no file yet: ${pathFrom(access.workspaceDir, location)} does not exist.`, {
    hint: `Write it with: storeferry run ${job.name}`,
  });
}

/** Compares the files of a job with `mode: new` with their manifests, and with the orders of the store. */
export async function reconcileExport(
  context: RunContext,
  { job, store }: ExportRequest,
): Promise<Reconciliation> {
  const { signal } = context;
  const storefront = await context.openStorefront(store);
  return await reconcileFiles({
    job,
    access: context,
    kept: exportFolder(context, job),
    store: storeIdentity(store),
    signal,
    reading: async function* () {
      const items = readItems(job.export, storefront, {
        signal,
        concurrency: store.limits.concurrency,
        onProgress: () => {},
        onNotes: () => {},
      });
      for await (const batch of items) yield batch.map(({ text }) => text);
    },
  });
}
