import type { Exported } from '../model/exported.ts';
import type { Plan, ReasonGroup } from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import { lastedMs, type Run, type RunTotals } from '../model/run.ts';
import type { Verification } from '../model/verification.ts';
import type { ChangedId } from '../state/state.ts';
import { afterExport, sayExport } from './export-text.ts';
import { limitsWords } from './limits-words.ts';
import { nextSteps, sayNextSteps } from './next-steps.ts';
import { pendingDeletes } from './pending-deletes.ts';
import { sayReasons } from './reason-lines.ts';
import { rejectsLines } from './rejects-lines.ts';
import { sayReportFile } from './report-file-line.ts';
import { verificationFigures, verificationHeadline, verificationNotes } from './verification-words.ts';
import { changedIdWarnings, leftDeletesWarnings, planWarnings, stateWarnings } from './warning-lines.ts';
import { formatDuration } from './wording/durations.ts';
import { Page, type PageOptions } from './wording/page.ts';
import { printable } from './wording/printable.ts';
import { statusTone, statusWords } from './wording/status-words.ts';
import { unsentWord } from './wording/totals-words.ts';
import { counted, grouped, listed, newWord } from './wording/words.ts';

/** Everything that is told about a run that has ended, or is under way. */
export interface RunFacts {
  readonly run: Run;
  readonly plan: Plan | null;
  readonly totals: RunTotals;
  /** Records that the store refused, by reason. */
  readonly refusals: readonly ReasonGroup[];
  readonly unsentReasons: readonly { readonly reason: Reason; readonly count: number }[];
  /** The first of those whose id the store answered otherwise than before, and how many there are. */
  readonly changedIds: readonly ChangedId[];
  readonly changedIdCount: number;
  /** Deletes that were not sent, since the product is no longer this job's; left out: none. */
  readonly leftDeletes?: number;
  readonly rejectsFile: string | null;
  /** The page written when it ended; null or left out when there is none. */
  readonly reportFile?: string | null;
  /** What an export wrote; null or left out for imports, and until it is written. */
  readonly exported?: Exported | null;
}

/** A run in plain words: what became of everything, what needs care, and what to type next. */
export function summaryText(facts: RunFacts, options: PageOptions & { readonly now: number }): string {
  const { run, plan, totals, exported = null } = facts;
  const page = new Page(options);
  const lasted = formatDuration(lastedMs(run, options.now));
  const what = run.kind === 'verify' ? `Verification of ${run.job}` : run.job;
  page.say(
    `${what}: ${statusWords(run.status)} ${run.status === 'running' ? 'for' : 'after'} ${lasted} (run ${run.id})`,
    {
      tone: statusTone(run.status),
    },
  );
  if (run.error !== null) page.say(printable(run.error), { indent: 2, tone: 'bad' });
  if (plan !== null) page.figures(figuresOf(facts, plan));
  if (run.verification !== undefined) sayVerification(page, run.verification, run, totals);
  if (exported !== null) sayExport(page, exported, run, totals);
  if (run.unchangedSince !== undefined) sayUnchanged(page, run.unchangedSince, totals);
  if (totals.requests === 0 && run.status !== 'running' && run.kind !== 'export')
    page.say('Nothing was sent to the store.', { indent: 2 });
  const limits = limitsWords(facts);
  if (limits !== null) page.say(limits, { indent: 2 });
  sayReportFile(page, facts.reportFile ?? null);
  if (plan !== null || facts.refusals.length > 0) sayRejections(page, facts, plan);
  if (facts.unsentReasons.length > 0) page.heading('Unsent, and why');
  for (const { reason, count } of facts.unsentReasons) {
    page.say(`${counted(count, 'operation')}: ${printable(reason.message)}`, { indent: 2 });
  }
  const warnings = [
    ...stateWarnings(run),
    ...leftDeletesWarnings(facts.leftDeletes ?? 0),
    ...(run.verification === undefined ? [] : verificationNotes(run.verification, run.resource)),
    ...changedIdWarnings(facts),
    ...(plan === null ? [] : planWarnings(plan)),
    ...(exported?.notes ?? []),
  ];
  if (warnings.length > 0) page.heading('Worth knowing');
  for (const warning of warnings) page.say(printable(warning), { indent: 2, tone: 'warning' });
  const next = nextSteps(
    { ...run, rejectsFile: facts.rejectsFile },
    plan,
    options.program,
    facts.changedIdCount,
  );
  const isExported = exported !== null && run.status === 'done';
  sayNextSteps(page, isExported ? afterExport(exported, run, options.program) : next);
  return page.toString();
}

function sayUnchanged(page: Page, since: string, totals: RunTotals): void {
  page.say(`The source has not changed since run ${since} read it: nothing to do.`, { indent: 2 });
  const skipped: [string, string, string][] =
    totals.skipped > 0 ? [['skipped', grouped(totals.skipped), '']] : [];
  page.figures([
    ['records', grouped(totals.records), `in ${counted(totals.rows, 'row')}`],
    ['unchanged', grouped(totals.unchanged), ''],
    ...skipped,
  ]);
}

function figuresOf({ run, totals }: RunFacts, plan: Plan): [string, string, string][] {
  const unsent: [string, string, string][] =
    totals.unsent > 0
      ? [[run.status === 'running' ? 'to be sent' : unsentWord(run), grouped(totals.unsent), '']]
      : [];
  const deleted: [string, string, string][] =
    totals.removed > 0 ? [['deleted', grouped(totals.deleted), pendingDeletes({ run, totals }, plan)]] : [];
  return [
    ['records', grouped(totals.records), `in ${counted(totals.rows, 'row')}`],
    ['applied', grouped(totals.applied), plannedNote(plan)],
    ['unchanged', grouped(totals.unchanged), ''],
    ['rejected', grouped(totals.rejected), ''],
    ['skipped', grouped(totals.skipped), ''],
    ...unsent,
    ...deleted,
    ['requests', grouped(totals.requests), ''],
  ];
}

function plannedNote({ counts, resource }: Plan): string {
  const resent = counts.resent.records > 0 ? [`${grouped(counts.resent.records)} resent`] : [];
  const parts = [
    `${grouped(counts.new.records)} ${newWord(resource)}`,
    `${grouped(counts.changed.records)} changed`,
    ...resent,
  ];
  return `${listed(parts)} in the plan`;
}

function sayVerification(
  page: Page,
  found: Verification,
  { resource, status }: Run,
  { requests }: RunTotals,
): void {
  page.figures(verificationFigures(found, requests));
  const { sentence, explanation } = verificationHeadline(found, resource, status);
  page.say(`${sentence} ${explanation ?? ''}`.trimEnd(), { indent: 2, tone: 'strong' });
}

function sayRejections(page: Page, { refusals, rejectsFile }: RunFacts, plan: Plan | null): void {
  const rejections = plan?.rejections ?? [];
  if (rejections.length + refusals.length === 0) return;
  const files = plan?.source.files.map(({ name }) => name) ?? [];
  page.heading('Rejected, and why');
  sayReasons(page, rejections, files);
  if (refusals.length > 0) page.say('by the store:', { indent: 2 });
  sayReasons(page, refusals, files);
  for (const line of rejectsLines(rejectsFile, rejections)) {
    page.say(line, { indent: 2, tone: 'strong' });
  }
}
