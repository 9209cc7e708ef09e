import type { Readable } from 'node:stream';
import type { ExportJob } from '../../config/job/job.ts';
import { openCopy, readPosition } from '../../export/order-changes.ts';
import { openExportFile } from '../../export/writing/export-file.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import type { ListHistory } from '../../model/subscriber-list.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { readCsv } from '../../tables/csv/read-csv.ts';
import { pathFrom } from '../../text/printable.ts';
import type { RunContext } from '../run-context.ts';

/** The history of a job and its path. */
export interface ExportHistory {
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
  const file = await openExportFile(access, job);
  const location = pathFrom(access.workspaceDir, file.location);
  const history = await file.history(readCsv, signal);
  if (history !== undefined) return { location, history };
  throw new UsageError(`There is no history yet: ${location} does not exist.`, {
    hint: `Take the first reading with: storeferry run ${job.name}`,
  });
}

/** The folder with the position and the copies of a job with `mode: new`. */
export function exportFolder({ artifacts }: Pick<RunContext, 'artifacts'>, { name }: ExportJob): RunFolder {
  return artifacts.run(`export-${name}`);
}

/**
 * The file of an export job as it is now, the newest one of a job with `mode: new`. UsageError before its first run; the caller reads
 * or destroys the content.
 */
export async function openExport(
  access: FileAccess & Pick<RunContext, 'artifacts'>,
  job: ExportJob,
  signal: AbortSignal,
): Promise<{ readonly location: string; readonly content: Readable }> {
  const { location, read } =
    job.destination.mode === 'new'
      ? await openNewest(exportFolder(access, job))
      : await openExportFile(access, job);
  const found = await read(signal);
  if (found !== undefined) return { location, content: found.content };
  throw new UsageError(`There is no file yet: ${pathFrom(access.workspaceDir, location)} does not exist.`, {
    hint: `Write it with: storeferry run ${job.name}`,
  });
}

async function openNewest(folder: RunFolder) {
  const newest = (await readPosition(folder, '')).files.at(-1);
  return {
    location: newest?.file ?? 'a file',
    read: async () => {
      const content = newest === undefined ? undefined : await openCopy(folder, newest);
      return content === undefined ? undefined : { content };
    },
  };
}
