import { z } from 'zod';
import { shellWord } from '../text/printable.ts';
import { namesOf, parsedJson, withoutUndefined } from './json-object.ts';
import { CONFLICT_SIDES, type ConflictSide } from './observation.ts';
import { jobFileName, type Run, type RunCopy, type Sample } from './run.ts';

/** What is known about something that a person can do, whoever offers, carries out or records it. */
interface ActionDefinition {
  /** What it is done to; absent: the workspace, or what its own page names. */
  readonly to?: 'job' | 'run';
  /** The name of its command; absent: only the dashboard does it. */
  readonly command?: string;
  /** The least role that may do it; absent: `edit`. */
  readonly role?: ApiScope;
  /** The API offers it to tokens with that role as their scope. */
  readonly api?: true;
  /** The last part of the address of its page, `/runs/RUN/PAGE`; absent: its name. */
  readonly page?: string;
  /** The button that leads to its page; absent: the dashboard shows the command. */
  readonly button?: ActionButton;
  /** The button of its page that confirms it; absent: the page has buttons of its own, or none. */
  readonly confirm?: ActionButton;
  /** What somebody did, for the audit log; absent: it is not recorded. */
  readonly audit?: string;
}

/** What an API token may do; each scope includes those before it. */
export const API_SCOPES = ['view', 'operate', 'approve'] as const;
/** One of them. */
export type ApiScope = (typeof API_SCOPES)[number];
/** What a person may do; each role includes those before it. */
export const ROLES = [...API_SCOPES, 'edit'] as const;
/** One of them. */
export type Role = (typeof ROLES)[number];

/** What each role adds, in words. */
export const ROLE_WORDS: Readonly<Record<Role, string>> = {
  view: 'read runs and records of products, without personal data',
  operate: 'also plan and run jobs, interrupt runs, read records of contacts, rejects and exports',
  approve: 'also approve plans, release held records, send corrected rejects',
  edit: 'also change jobs, stores, people and tokens',
};

/** Whether a role includes another one. */
export function includesRole(own: Role, needed: Role): boolean {
  return ROLES.indexOf(own) >= ROLES.indexOf(needed);
}

/** Whether a role may do an action. */
export function mayDo(own: Role, name: ActionName): boolean {
  return includesRole(own, actionOf(name).role ?? 'edit');
}

/** The text of a button, and how it is emphasised. */
export interface ActionButton {
  readonly label: string;
  readonly weight?: 'primary' | 'danger';
}

/**
 * What people do with jobs and runs, and what else the audit log records. Next steps, commands, buttons, pages,
 * permissions, confirmations and the audit log derive from this. Stored entries have the names: they never change.
 */
export const ACTIONS = {
  'sign-in': { audit: 'signed in' },
  'sign-out': { role: 'view', audit: 'signed out' },
  'end-session': { role: 'view', audit: 'ended a session' },
  'new-tokens': { command: 'dashboard', audit: 'made new tokens' },
  'make-token': { command: 'tokens', audit: 'made an API token' },
  'revoke-token': { command: 'tokens', audit: 'revoked an API token' },
  'add-person': { command: 'people', audit: 'added a person' },
  'change-person': { command: 'people', audit: 'changed the role of a person' },
  'set-password': { command: 'people', role: 'view', audit: 'set a password' },
  'remove-person': { command: 'people', audit: 'removed a person' },
  'start-dashboard': { command: 'dashboard', audit: 'started the dashboard' },
  run: {
    to: 'job',
    command: 'run',
    role: 'operate',
    api: true,
    button: { label: 'Run' },
    confirm: { label: 'Run now', weight: 'primary' },
    audit: 'started a run',
  },
  plan: {
    to: 'job',
    command: 'plan',
    role: 'operate',
    api: true,
    button: { label: 'Plan' },
    confirm: { label: 'Plan now', weight: 'primary' },
    audit: 'made a plan',
  },
  approve: {
    to: 'run',
    command: 'approve',
    role: 'approve',
    api: true,
    button: { label: 'Approve', weight: 'primary' },
    confirm: { label: 'Send this plan', weight: 'primary' },
    audit: 'approved a plan',
  },
  discard: {
    to: 'run',
    command: 'discard',
    role: 'operate',
    api: true,
    button: { label: 'Discard' },
    confirm: { label: 'Discard the plan', weight: 'danger' },
    audit: 'discarded a plan',
  },
  undo: {
    to: 'run',
    command: 'undo',
    role: 'operate',
    api: true,
    button: { label: 'Undo' },
    confirm: { label: 'Plan the undo', weight: 'primary' },
    audit: 'planned to undo a run',
  },
  promote: { to: 'run', command: 'promote', audit: 'planned to promote a run to another store' },
  clone: { command: 'clone', audit: 'planned to clone the catalog of a store' },
  release: {
    to: 'run',
    command: 'release',
    role: 'approve',
    api: true,
    button: { label: 'Release held records', weight: 'primary' },
    audit: 'released held records',
  },
  retry: {
    to: 'run',
    command: 'retry',
    role: 'approve',
    api: true,
    button: { label: 'Upload the corrected file' },
    confirm: { label: 'Send the corrected rows', weight: 'primary' },
    audit: 'sent corrected rejects',
  },
  verify: {
    to: 'job',
    command: 'verify',
    role: 'operate',
    api: true,
    button: { label: 'Verify' },
    confirm: { label: 'Verify now', weight: 'primary' },
    audit: 'started a verification',
  },
  drift: {
    to: 'job',
    command: 'drift',
    role: 'operate',
    api: true,
    button: { label: 'Compare with the store' },
    confirm: { label: 'Compare now', weight: 'primary' },
    audit: 'compared the store with what it last answered',
  },
  enqueue: { to: 'job', command: 'enqueue', role: 'operate', audit: 'enqueued a run' },
  stats: { to: 'job', command: 'stats', role: 'view', button: { label: 'See the trends' } },
  see: { to: 'run', command: 'runs', role: 'view', page: '', button: { label: 'See run' } },
  forget: {
    command: 'forget',
    confirm: { label: 'Forget this contact', weight: 'danger' },
    audit: 'forgot a contact',
  },
  cancel: {
    to: 'run',
    command: 'cancel',
    role: 'operate',
    api: true,
    page: 'interrupt',
    button: { label: 'Interrupt', weight: 'danger' },
    confirm: { label: 'Interrupt the run', weight: 'danger' },
    audit: 'cancelled a run',
  },
  upload: { to: 'run', role: 'operate', page: 'retry/upload', audit: 'uploaded corrected rejects' },
  correct: {
    to: 'run',
    role: 'operate',
    page: 'rejects',
    button: { label: 'Correct the rows here', weight: 'primary' },
    audit: 'corrected rejects in the dashboard',
  },
  'download-rejects': {
    to: 'run',
    command: 'runs',
    role: 'operate',
    page: 'rejects.csv',
    button: { label: 'Download the rejects' },
    audit: 'downloaded rejects',
  },
  'download-records': {
    to: 'run',
    role: 'view',
    page: 'records',
    audit: 'downloaded the records of a run',
  },
  'download-export': { to: 'job', role: 'operate', page: 'export', audit: 'downloaded an export' },
  'download-report': { to: 'run', role: 'view', page: 'report.html', audit: 'downloaded a report' },
  probe: { command: 'probe', audit: 'probed a store' },
  'scan-contacts': { command: 'contacts', audit: 'searched the ids of contacts' },
  'make-job': { audit: 'made a job' },
  'edit-store': { audit: 'added or changed a store' },
  adopt: {
    to: 'job',
    button: { label: 'Pairs with the store' },
    audit: 'decided about pairs with products of a store',
  },
  'leave-out': {
    to: 'job',
    button: { label: 'Leave it out' },
    confirm: { label: 'Leave it out', weight: 'primary' },
    audit: 'left a record out of a job, or took that back',
  },
  edit: { to: 'job', audit: 'edited a job' },
  duplicate: { to: 'job', button: { label: 'Duplicate' }, audit: 'duplicated a job' },
  rename: { to: 'job', button: { label: 'Rename' }, audit: 'renamed a job' },
  remove: {
    to: 'job',
    button: { label: 'Delete' },
    confirm: { label: 'Delete the job', weight: 'danger' },
    audit: 'deleted a job',
  },
  'replace-source': { to: 'job', page: 'upload', audit: 'replaced the source file of a job' },
  'replace-table': { to: 'job', page: 'upload', audit: 'replaced a crosswalk or a lookup table of a job' },
} as const satisfies Readonly<Record<string, ActionDefinition>>;

/** The name of an action. */
export type ActionName = keyof typeof ACTIONS;

/** The names of all actions. */
export const ACTION_NAMES: readonly ActionName[] = namesOf(ACTIONS);

/** All that is known about an action. */
export function actionOf(name: ActionName): ActionDefinition {
  return ACTIONS[name];
}

/** An action that a command can do, with its options. */
export type Action =
  | {
      readonly does: 'run' | 'plan';
      readonly job: string;
      readonly resend?: boolean;
      readonly sample?: Sample | undefined;
      /** Of an export: writes its files from this run or time on again. */
      readonly since?: string | undefined;
    }
  | { readonly does: 'verify'; readonly job: string }
  | { readonly does: 'stats'; readonly job: string }
  | { readonly does: 'drift'; readonly job: string; readonly restore?: boolean; readonly accept?: boolean }
  | { readonly does: 'undo'; readonly run: string; readonly only?: readonly string[] | undefined }
  | {
      readonly does: 'release';
      readonly run: string;
      readonly only?: readonly string[] | undefined;
      /** Whose value a field gets that was changed in the store and in the source. */
      readonly conflicts?: ConflictSide | undefined;
    }
  | { readonly does: 'promote'; readonly run: string; readonly store: string }
  | { readonly does: 'clone'; readonly from: string; readonly at: number; readonly store: string }
  | { readonly does: 'approve'; readonly run: string }
  /** `file`: the SHA-256 of a corrected file that came with the request. */
  | { readonly does: 'retry'; readonly run: string; readonly file?: string | undefined }
  | { readonly does: 'discard' | 'see' | 'download-rejects' | 'cancel'; readonly run: string };

/** An action that begins a run of a job, as workers and the dashboard do it. */
export type RunAction = Extract<
  Action,
  { readonly does: 'run' | 'plan' | 'approve' | 'retry' | 'undo' | 'release' | 'verify' | 'drift' }
>;

/** The same with its job, which has one at a time. `by`: the names of who asks for it; absent: nobody, but a schedule, a file or an event. */
export type JobAction = RunAction & { readonly job: string; readonly by?: readonly string[] | undefined };

/** The sample that these choices ask for; undefined if they ask for none. */
export function sampleOf({
  only,
  limit,
}: {
  readonly only?: readonly string[] | undefined;
  readonly limit?: number | undefined;
}): Sample | undefined {
  if (only === undefined && limit === undefined) return undefined;
  return withoutUndefined<Sample>({ only, limit });
}

/** The command line of an action: the name of the command, what it is about, and its options. */
interface CommandLine {
  readonly name: string;
  readonly words: readonly string[];
  readonly options: readonly string[];
}

/** The job or the run that an action is about; of a clone, the store that it would change. */
export function subjectOf(action: Action): string {
  if (action.does === 'clone') return action.store;
  return 'run' in action ? action.run : action.job;
}

/** What plans again what a run sends from another store. */
export function copyAction({ of, store: from, at }: RunCopy, store: string): Action {
  return of === null ? { does: 'clone', from, at: at ?? 0, store } : { does: 'promote', run: of, store };
}

/** What does again what a run did, or plans its rest. */
export function againAction({
  kind,
  job,
  store,
  retryOf,
  resend,
  sample,
  undo,
  release,
  restore,
  copy,
  since,
}: Run): Action {
  if (copy !== undefined) return copyAction(copy, store);
  if (restore !== undefined) return { does: 'drift', job, restore: true };
  if (undo !== undefined) return { does: 'undo', run: undo.of, only: undo.only };
  if (release !== undefined)
    return { does: 'release', run: release.of, only: release.only, conflicts: release.conflicts };
  if (retryOf !== null && kind === 'retry') return { does: 'retry', run: retryOf };
  if (kind === 'verify' || kind === 'drift') return { does: kind, job };
  // With its options: otherwise another run would begin, which sends less, instead of continuing this one.
  return kind === 'plan' || kind === 'run'
    ? { does: kind, job, resend, sample }
    : { does: 'run', job, since };
}

/** The command that does an action. */
export function commandFor(action: Action): CommandLine {
  const { command: name } = ACTIONS[action.does];
  const words = [subjectOf(action)];
  switch (action.does) {
    case 'run':
    case 'plan': {
      const resend = action.resend === true ? ['--resend'] : [];
      const since = action.since === undefined ? [] : ['--since', action.since];
      return { name, words, options: [...resend, ...sampleOptions(action.sample ?? {}), ...since] };
    }
    case 'undo':
      return { name, words, options: action.only === undefined ? [] : sampleOptions({ only: action.only }) };
    case 'promote':
      return { name, words, options: ['--to', action.store] };
    case 'clone': {
      const asOf = ['--as-of', new Date(action.at).toISOString()];
      return { name, words: [], options: [...asOf, '--store', action.from, '--to', action.store] };
    }
    case 'release':
      return {
        name,
        words: [...words, ...(action.only ?? [])],
        options: action.conflicts === undefined ? [] : ['--conflicts', action.conflicts],
      };
    case 'drift':
      return {
        name,
        words,
        options: [
          ...(action.restore === true ? ['--restore'] : []),
          ...(action.accept === true ? ['--accept'] : []),
        ],
      };
    case 'verify':
    case 'stats':
    case 'approve':
    case 'retry':
    case 'cancel':
    case 'discard':
    case 'see':
    case 'download-rejects':
      return { name, words, options: [] };
    default:
      return action satisfies never;
  }
}

/** The options of a command that take this sample. */
export function sampleOptions({ only, limit }: Sample): string[] {
  const keys =
    only === undefined ? [] : ['--only', only.map((one) => one.replaceAll(',', String.raw`\,`)).join(',')];
  return [...keys, ...(limit === undefined ? [] : ['--limit', String(limit)])];
}

/** The options of a command that take this sample. */
export function sampleFlags(sample: Sample): string {
  return shellWords(sampleOptions(sample));
}

/** The command that does an action, as people type it after the program. */
export function commandText(action: Action): string {
  const { name, words, options } = commandFor(action);
  // A key that looks like an option must follow `--`.
  const isSafe = words.every((word) => !word.startsWith('-'));
  return shellWords(isSafe ? [name, ...words, ...options] : [name, ...options, '--', ...words]);
}

function shellWords(words: readonly string[]) {
  return words.map((word) => shellWord(word)).join(' ');
}

const key = z.string().min(1).max(2_000);
const only = z.array(key).min(1).max(1_000).exactOptional();
const sampled = {
  resend: z.boolean().exactOptional().meta({ description: 'Also send unchanged records.' }),
  sample: z
    .strictObject({ only, limit: z.int().min(1).max(1_000_000).exactOptional() })
    .exactOptional()
    .meta({ description: 'Only these records, or the first ones.' }),
};
const conflicts = z.enum(CONFLICT_SIDES).exactOptional().meta({
  description:
    'Whose value a field gets that was changed in the store and in the source: `source` if left out.',
});
const keys = { only: only.meta({ description: 'Only the records with these keys.' }) };

/** What can be chosen with each action that a worker executes. */
export const ACTION_OPTIONS = {
  run: z.strictObject(sampled),
  plan: z.strictObject(sampled),
  verify: z.strictObject({}),
  drift: z.strictObject({ restore: z.boolean().exactOptional(), accept: z.boolean().exactOptional() }),
  undo: z.strictObject(keys),
  release: z.strictObject({ ...keys, conflicts }),
  approve: z.strictObject({}),
  retry: z.strictObject({}),
} as const satisfies Readonly<Record<JobAction['does'], z.ZodObject>>;

/** Whether an action is executed by a worker; `cancel` and `discard` take effect at once. */
export function isJobAction(name: string): name is JobAction['does'] {
  return Object.hasOwn(ACTION_OPTIONS, name);
}

const ofJob = { job: z.string(), by: z.array(z.string()).optional() };
const ofRun = { ...ofJob, run: z.string() };

/** An action that waits for a worker, as it is stored. */
export const jobActionSchema: z.ZodType<JobAction> = z.discriminatedUnion('does', [
  z.strictObject({ does: z.enum(['run', 'plan']), ...ofJob, ...sampled }),
  z.strictObject({ does: z.literal('verify'), ...ofJob }),
  z.strictObject({ does: z.literal('drift'), ...ofJob, ...ACTION_OPTIONS.drift.shape }),
  z.strictObject({ does: z.literal('undo'), ...ofRun, ...keys }),
  z.strictObject({ does: z.literal('release'), ...ofRun, ...ACTION_OPTIONS.release.shape }),
  z.strictObject({ does: z.literal('approve'), ...ofRun }),
  z.strictObject({ does: z.literal('retry'), ...ofRun, file: key.exactOptional() }),
]);

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
  /** That of each of its stores as well. */
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
        (job === undefined || entry.job === job || (entry.job !== null && jobFileName(entry.job) === job)) &&
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
