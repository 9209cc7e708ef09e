import type { ImportJob } from '../../config/job/import-job.ts';
import type { StoreConfig } from '../../config/stores.ts';
import type { MappingSource } from '../inputs/open-mapping.ts';

/** What an import needs to know of the workspace: read and validated at the edge. */
export interface ImportRequest {
  readonly job: ImportJob;
  readonly store: StoreConfig;
  readonly mapping: MappingSource;
  /** Ignore fingerprints: send every record, whatever the ledger says. */
  readonly resend: boolean;
}
