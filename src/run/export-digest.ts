import { digestOf } from './digest.ts';
import type { ExportRequest } from './export-request.ts';

/** Of what decides where readings go: an unfinished run of the same digest wrote to the same place. */
export function exportDigest({ job, store }: ExportRequest): string {
  return digestOf([job.export, store.baseUrl, job.destination]);
}

/** Whether what a run has read is worth keeping when it could not be written: only a history cannot be read again. */
export function keepsReading({ job }: ExportRequest): boolean {
  return job.export === 'subscriber-lists' && job.destination.mode === 'append';
}
