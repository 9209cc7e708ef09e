import { z } from 'zod';
import { type FilePlace, withoutPlace } from '../place/file-place.ts';
import { type ExportJob, exportJobSchema } from './export-job.ts';
import { type ImportJob, importJobSchema } from './import-job.ts';
import type { Notify } from './notify.ts';

/** What a file in `jobs/` says: what to move, when, within which safety limits. */
export type Job = ImportJob | ExportJob;

/** Either kind of job, for editors; a file is read with the schema of its own kind, since that explains better. */
export const jobSchema = z.union([importJobSchema, exportJobSchema]);

function notification(notify: Notify | undefined): { notify?: Notify } {
  return notify === undefined || notify.url === '' ? {} : { notify };
}

/** An import job by the name of its file, reading from this place. */
export function toImportJob(
  name: string,
  { notify, source, ...fields }: z.infer<typeof importJobSchema>,
  place: FilePlace,
): ImportJob {
  return {
    kind: 'import',
    name,
    ...fields,
    source: { ...withoutPlace(source), ...place },
    ...notification(notify),
  };
}

/** An export job by the name of its file, writing to this place. */
export function toExportJob(
  name: string,
  { notify, destination, ...fields }: z.infer<typeof exportJobSchema>,
  place: FilePlace,
): ExportJob {
  return {
    kind: 'export',
    name,
    ...fields,
    destination: { ...withoutPlace(destination), ...place },
    ...notification(notify),
  };
}
