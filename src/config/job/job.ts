import { z } from 'zod';
import type { FilePlace } from '../place/file-place.ts';
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
  const { path: _path, url: _url, s3: _s3, sftp: _sftp, ...reading } = source;
  return { kind: 'import', name, ...fields, source: { ...reading, ...place }, ...notification(notify) };
}

/** An export job by the name of its file, writing to this place. */
export function toExportJob(
  name: string,
  { notify, destination, ...fields }: z.infer<typeof exportJobSchema>,
  place: FilePlace,
): ExportJob {
  const { path: _path, url: _url, s3: _s3, sftp: _sftp, ...writing } = destination;
  return { kind: 'export', name, ...fields, destination: { ...writing, ...place }, ...notification(notify) };
}
