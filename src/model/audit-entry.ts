import { z } from 'zod';

/** The actions of people that are recorded, each with its words for people. */
export const AUDITED_ACTIONS = {
  'sign-in': 'signed in',
  'sign-out': 'signed out',
  'new-tokens': 'made new tokens',
  'start-dashboard': 'started the dashboard',
  run: 'started a run',
  plan: 'made a plan',
  approve: 'approved a plan',
  undo: 'planned to undo a run',
  release: 'released held records',
  retry: 'sent corrected rejects',
  verify: 'started a verification',
  enqueue: 'enqueued a run',
  cancel: 'cancelled a run',
  upload: 'uploaded corrected rejects',
  correct: 'corrected rejects in the dashboard',
  'download-rejects': 'downloaded rejects',
  'download-export': 'downloaded an export',
  'download-report': 'downloaded a report',
  'make-job': 'made a job',
  edit: 'edited a job',
  'replace-source': 'replaced the source file of a job',
} as const;

/** One of them. */
export type AuditedAction = keyof typeof AUDITED_ACTIONS;

const ACTION_NAMES = Object.keys(AUDITED_ACTIONS).filter(
  (name): name is AuditedAction => name in AUDITED_ACTIONS,
);

/**
 * What somebody did. It has no values of records, no names of uploaded files and no secrets. `done` says that the action began or
 * was carried out; how a run ended is in the run.
 */
export interface AuditEntry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** A user of a machine (`deploy@shop1`), or the token of the dashboard with the address of its browser. */
  readonly who: string;
  readonly by: 'command' | 'dashboard';
  readonly action: AuditedAction;
  readonly job: string | null;
  /** The run that the action began, or that it is about. */
  readonly run: string | null;
  /** The earlier run that was approved or retried. */
  readonly of: string | null;
  readonly outcome: 'done' | 'refused';
}

/** A stored entry. */
export const auditEntrySchema: z.ZodType<AuditEntry> = z.object({
  at: z.number(),
  who: z.string(),
  by: z.enum(['command', 'dashboard']),
  action: z.enum(ACTION_NAMES),
  job: z.string().nullable(),
  run: z.string().nullable(),
  of: z.string().nullable(),
  outcome: z.enum(['done', 'refused']),
} satisfies Record<keyof AuditEntry, z.ZodType>);

/** Whether an entry is about a run. */
export function isAbout({ run, of }: AuditEntry, id: string): boolean {
  return run === id || of === id;
}
