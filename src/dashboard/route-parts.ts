import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isName } from '../config/store-config.ts';
import type { Workspace } from '../config/workspace.ts';
import { ACTIONS, type AuditedAction, recordAction } from '../model/action.ts';
import { MAX_SHEET_ROWS } from '../model/row.ts';
import { jobFile, type Run } from '../model/run.ts';
import { sentenceOf } from '../model/storeferry-error.ts';
import { countRunRecords, findRunLedger } from '../run/records/run-records.ts';
import { withLiveStatus } from '../run/report/read-stored-report.ts';
import { didYouMean, grouped } from '../text/printable.ts';
import type { Accounts } from './access/accounts.ts';
import type { Sessions, sessionCookie, Viewer } from './access/sessions.ts';
import type { Tokens } from './access/tokens.ts';
import type { Uploads } from './actions/uploads.ts';
import type { DashboardContext, OwnAddresses, QueueBoard } from './dashboard-context.ts';
import { notFoundError, PageError } from './guard/page-error.ts';
import type { Notice } from './pages/page.ts';

export { type FormFields, formFields } from './pages/page.ts';

/** Larger than any form whose route sets no limit of its own. */
const FORM_LIMIT_BYTES = 64 * 1_024;

/** What routes are made from. */
export interface RouteParts extends Accounts {
  readonly dashboard: DashboardContext;
  readonly uploads: Uploads;
  readonly sessions: Sessions;
  readonly cookie: ReturnType<typeof sessionCookie>;
  /** Of the tokens that are valid now. */
  readonly hashes: () => Tokens;
  readonly addresses: OwnAddresses;
  /** Different for each dashboard of a machine, because cookies do not depend on the port. */
  readonly cookieName: string;
  /** Null without Redis: then there are no queues. */
  readonly queueBoard: QueueBoard | null;
}

/** What a page is asked for, and by whom. */
export type PageRequest = Pick<FastifyRequest, 'subject' | 'fields' | 'viewer' | 'reading'>;

/** A page for those who may change the workspace. */
export const FOR_EDITORS = { config: { role: 'edit' } } as const;

/** Accepts only form bodies up to a size: JSON and text are refused with 415. */
export function readForms(app: FastifyInstance, bodyLimit = FORM_LIMIT_BYTES): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit },
    (_request, text, done) => {
      const fields: Record<string, string> = Object.create(null);
      for (const [name, value] of new URLSearchParams(text.toString())) fields[name] ??= value;
      done(null, fields);
    },
  );
}

/** The run with this id; PageError if there is none. */
export async function keptRun({ context }: DashboardContext, id: string): Promise<Run> {
  return (await context.state.runs.get(id)) ?? refuseRun(id);
}

function refuseRun(id: string): never {
  const advice = 'At least the latest 20 runs of each job are kept; this one may be older.';
  throw new PageError(404, `There is no run ${id}`, advice);
}

/** The same with its status as it is now. */
export async function liveRun(dashboard: DashboardContext, id: string): Promise<Run> {
  return await withLiveStatus(dashboard.context, await keptRun(dashboard, id));
}

/** The workspace as it is now; PageError if it has no such job. */
export function workspaceOf({ readWorkspace }: DashboardContext, job: string): Workspace {
  const workspace = readWorkspace();
  const names = workspace.jobNames();
  if (names.includes(job)) return workspace;
  const advice = `Jobs are the files in jobs/${didYouMean(job, names) || '.'}`;
  throw new PageError(404, `There is no job ${job}`, advice);
}

/** The same for a change of the job's file; PageError for a job whose file has others too, which would change with it. */
export function workspaceToEdit(dashboard: DashboardContext, job: string): Workspace {
  const workspace = workspaceOf(dashboard, job);
  if (isName(job)) return workspace;
  throw new PageError(
    409,
    `${job} shares its file`,
    `Change ${jobFile(job)} by hand: it is a job for several stores.`,
  );
}

/** The workspace and an import of it; PageError if it has no such job, or that is an export, with what follows from that. */
export function importOf(dashboard: DashboardContext, name: string, why: string) {
  const workspace = workspaceOf(dashboard, name);
  const job = workspace.job(name);
  if (job.kind === 'import') return { workspace, job };
  throw notFoundError(`The job ${name} is an export: ${why}.`);
}

/** A run, if it is still kept, and the ledger of its records, if it has any; PageError if neither is known. */
export async function rememberedRun({ context, readWorkspace }: DashboardContext, id: string) {
  const run = await context.state.runs.get(id);
  const ledger = await findRunLedger(context, readWorkspace(), run, id);
  const known = run ?? ledger;
  return known?.id === id ? { run, ledger, job: known.job } : refuseRun(id);
}

/** PageError where a workbook (`xlsx`) cannot hold the records of a run: an answer that has begun could only break off. */
export async function refuseLargeWorkbook(
  { context }: Pick<DashboardContext, 'context'>,
  ledger: Parameters<typeof countRunRecords>[1],
  format: string,
): Promise<void> {
  if (format !== 'xlsx' || (await countRunRecords(context, ledger)) < MAX_SHEET_ROWS) return;
  const advice = `A workbook holds ${grouped(MAX_SHEET_ROWS - 1)} records: take the CSV file.`;
  throw new PageError(422, 'Too many records for a workbook', advice);
}

/** An error as a notice on a page, without secrets. */
export function refusalOf(error: unknown, { redact }: DashboardContext): Notice {
  return { tone: 'bad', text: redact(sentenceOf(error)) };
}

/** Reading a file takes a whole core. */
const MAX_CONCURRENT = 2;

/** Reads a file for a page. PageError while others read theirs. */
export const limitConcurrentReads = limitReads(
  MAX_CONCURRENT,
  () => new PageError(503, 'Busy', 'Other visitors read files now. Load the page again in some seconds.'),
);

/** Lets so many reads be at work; refuses others. */
export function limitReads(most: number, refusal: () => PageError) {
  let reading = 0;
  return async <T>(read: () => Promise<T>) => {
    if (reading >= most) throw refusal();
    reading++;
    try {
      return await read();
    } finally {
      reading--;
    }
  };
}

/** Who did something in the dashboard. */
type Actor = Pick<FastifyRequest, 'ip'> & { readonly viewer: Pick<Viewer, 'who'> };

/** Adds what a visitor did to the log of the process and to the audit log, with the person or token and the address. */
export async function audit(
  { context, log }: DashboardContext,
  { ip, viewer }: Actor,
  done: AuditedAction,
): Promise<void> {
  const who = `${viewer.who} from ${ip}`;
  log.info({ who, ...done }, ACTIONS[done.action].audit);
  await recordAction(context.state.audit, { at: context.clock(), who, by: 'dashboard' }, done);
}
