import { type AuditEntry, isAbout } from '../model/audit-entry.ts';
import { type AuditLog, MOST_AUDITED } from '../state/state.ts';

/** Selects entries of the audit log; an omitted field selects all. */
interface AuditFilter {
  readonly job?: string | undefined;
  /** Of this run, or about it. */
  readonly run?: string | undefined;
  readonly limit: number;
}

const AUDIT_CHUNK = 1_000;

/** Entries of the audit log, newest first. */
export async function findAudited(
  audit: AuditLog,
  { job, run, limit }: AuditFilter,
): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = [];
  for (let offset = 0; offset < MOST_AUDITED; offset += AUDIT_CHUNK) {
    const entries = await audit.newest(offset, AUDIT_CHUNK);
    const fitting = entries.filter(
      (entry) => (job === undefined || entry.job === job) && (run === undefined || isAbout(entry, run)),
    );
    found.push(...fitting.slice(0, limit - found.length));
    if (entries.length === 0 || found.length >= limit) break;
  }
  return found;
}
