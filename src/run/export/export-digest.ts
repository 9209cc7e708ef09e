import { digestOf } from '../digest.ts';
import type { ExportRequest } from './export-request.ts';

/** Of what decides where readings go: an unfinished run of the same digest wrote to the same place. */
export function exportDigest({ job, store }: ExportRequest): string {
  const { remote, ...rest } = job.destination;
  // A new password leads to the same place: what could not be written with the old one must not be lost for that.
  const place = remote === undefined ? null : [remote.location, remote.endpoint ?? null];
  return digestOf([job.export, store.baseUrl, { ...rest, place }]);
}

/** Whether what a run has read is worth keeping when it could not be written: only a history cannot be read again. */
export function keepsReading({ job }: ExportRequest): boolean {
  return job.export === 'subscriber-lists' && job.destination.mode === 'append';
}
