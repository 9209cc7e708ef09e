import { z } from 'zod';
import { type ExportJob, exportJobSchema } from './export-job.ts';
import { type ImportJob, importJobSchema } from './import-job.ts';
import type { Notify } from './notify.ts';

/** What a file in `jobs/` says: what to move, when, within which safety limits. */
export type Job = ImportJob | ExportJob;

/** Either kind of job, for editors; a file is read with the schema of its own kind, since that explains better. */
export const jobSchema = z.union([importJobSchema, exportJobSchema]);

function told(notify: Notify | undefined): { notify?: Notify } {
  return notify === undefined || notify.url === '' ? {} : { notify };
}

/** An import job by the name of its file. */
export function toImportJob(name: string, { notify, ...fields }: z.infer<typeof importJobSchema>): ImportJob {
  return { kind: 'import', name, ...fields, ...told(notify) };
}

/** An export job by the name of its file. */
export function toExportJob(name: string, { notify, ...fields }: z.infer<typeof exportJobSchema>): ExportJob {
  return { kind: 'export', name, ...fields, ...told(notify) };
}
