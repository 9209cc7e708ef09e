import { z } from 'zod';
import { ACTION_NAMES, ACTIONS, type ActionName, actionOf } from './action.ts';
import { parsedJson } from './json-object.ts';

/** The name of an action that is recorded. */
type AuditedName = {
  [Name in ActionName]: (typeof ACTIONS)[Name] extends { readonly audit: string } ? Name : never;
}[ActionName];

const AUDITED_NAMES = ACTION_NAMES.filter((name): name is AuditedName => actionOf(name).audit !== undefined);

/** A stored entry. */
const auditEntrySchema = z.object({
  /** Milliseconds since the epoch. */
  at: z.number(),
  /** A user of a machine (`deploy@shop1`), or a person or token of the dashboard with the address of the browser. */
  who: z.string(),
  by: z.enum(['command', 'dashboard']),
  action: z.enum(AUDITED_NAMES),
  job: z.string().nullable(),
  /** The run that the action began, or that it is about. */
  run: z.string().nullable(),
  /** The earlier run that was approved or retried. */
  of: z.string().nullable(),
  outcome: z.enum(['done', 'refused']),
  /** The person or the token that the action changed. */
  about: z.string().optional(),
});

/**
 * An action of a user. It has no values of records, no names of uploaded files and no secrets. `done` says that the action began or
 * was carried out; how a run ended is in the run.
 */
export type AuditEntry = Readonly<z.infer<typeof auditEntrySchema>>;

/** The action in words; a refused action by its name. */
export function auditWords({ action, outcome, about }: AuditEntry): string {
  const words = outcome === 'refused' ? `${action}: refused` : ACTIONS[action].audit;
  return about === undefined ? words : `${words}: ${about}`;
}

/** Who did what, on all machines that share the state. Entries are never changed, and each has the hash of the one before. */
export interface AuditLog {
  append(entry: AuditEntry): Promise<void>;
  /** Newest first. Entries that cannot be read are left out. */
  newest(offset: number, count: number): Promise<readonly AuditEntry[]>;
  /** All entries as stored, in JSON, oldest first. */
  stored(): Promise<readonly string[]>;
}

/** Entries that were stored as JSON, without those that cannot be read. */
export function storedAuditEntries(stored: readonly string[]): readonly AuditEntry[] {
  return stored.flatMap((json) => {
    const { data } = auditEntrySchema.safeParse(parsedJson(json));
    return data === undefined ? [] : [data];
  });
}

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
  for (let offset = 0; ; offset += AUDIT_CHUNK) {
    const entries = await audit.newest(offset, AUDIT_CHUNK);
    const fitting = entries.filter(
      (entry) =>
        (job === undefined || entry.job === job) &&
        (run === undefined || entry.run === run || entry.of === run),
    );
    found.push(...fitting.slice(0, limit - found.length));
    if (entries.length === 0 || found.length >= limit) return found;
  }
}

/** What an entry says besides who, when and where; what it does not name is null. */
export type AuditedAction = Pick<AuditEntry, 'action'> &
  Partial<Pick<AuditEntry, 'job' | 'run' | 'of' | 'outcome' | 'about'>>;

/** Adds an action to the audit log; `done` unless it says otherwise. */
export async function recordAction(
  audit: Pick<AuditLog, 'append'>,
  by: Pick<AuditEntry, 'at' | 'who' | 'by'>,
  { action, job = null, run = null, of = null, outcome = 'done', about }: AuditedAction,
): Promise<void> {
  await audit.append({ ...by, action, job, run, of, outcome, ...(about !== undefined && { about }) });
}
