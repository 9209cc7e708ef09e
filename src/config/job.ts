import { z } from 'zod';
import { type ExportJob, exportJobSchema } from './export-job.ts';
import { type ImportJob, importJobSchema } from './import-job.ts';

/** What a file in `jobs/` says: what to move, when, within which safety limits. */
export type Job = ImportJob | ExportJob;

/** Either kind of job, for editors; a file is read with the schema of its own kind, since that explains better. */
export const jobSchema = z.union([importJobSchema, exportJobSchema]);
