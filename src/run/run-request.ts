import type { ExportRequest } from './export/export-request.ts';
import type { ImportRequest } from './import/import-request.ts';

/** What any job needs to be run. */
export type RunRequest = ImportRequest | ExportRequest;

/** Whether it is an export's. */
export function isExportRequest(request: RunRequest): request is ExportRequest {
  return request.job.kind === 'export';
}
