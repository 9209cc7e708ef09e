import type { ExportJob } from '../../config/job/export-job.ts';
import type { StoreConfig } from '../../config/stores.ts';

/** What an export needs to know of the workspace: read and validated at the edge. */
export interface ExportRequest {
  readonly job: ExportJob;
  readonly store: StoreConfig;
}
