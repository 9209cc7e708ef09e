import type { FieldChanges, KeyExample, Plan } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import { nextSteps, sayNextSteps } from './next-steps.ts';
import { type Pace, paceWords } from './pace-words.ts';
import { sayReasons } from './reason-lines.ts';
import { rejectsLines } from './rejects-lines.ts';
import { sayReportFile } from './report-file-line.ts';
import { saySource } from './source-lines.ts';
import { unusualMoves } from './unusual-moves.ts';
import { planWarnings, stateWarnings } from './warning-lines.ts';
import { formatChange } from './wording/changes.ts';
import { formatNumber, moveFieldWords } from './wording/move-words.ts';
import { Page, type PageOptions } from './wording/page.ts';
import { printable, shortened } from './wording/printable.ts';
import { counted, grouped, newWord } from './wording/words.ts';

/** What a plan's text needs to know besides the plan. */
export interface PlanTextOptions extends PageOptions {
  readonly run: Pick<Run, 'id' | 'job' | 'kind' | 'status' | 'store' | 'retryOf' | 'stateLoss'>;
  /** Null when nobody knows. */
  readonly pace: Pace | null;
  /** The page that shows the same; null or left out when there is none. */
  readonly reportFile?: string | null;
  /** Where the refused rows are; null or left out when there are none. */
  readonly rejectsFile?: string | null;
}

const FIELDS_SHOWN = 12;
const SAMPLES_SHOWN = 3;
const VALUE_LENGTH = 40;

/** A plan for people: what would happen, why, how long it takes, and what to type next. */
export function planText(plan: Plan, options: PlanTextOptions): string {
  const page = new Page(options);
  const { run, pace } = options;
  page.heading(`Plan of ${run.job} for the store ${run.store} (run ${run.id})`);
  saySource(page, plan.source, plan.counts.rows);
  sayReportFile(page, options.reportFile ?? null);
  sayCounts(page, plan);
  sayUnusual(page, plan);
  sayChanges(page, plan.fieldsChanged);
  const files = plan.source.files.map(({ name }) => name);
  if (plan.rejections.length > 0) page.heading('Rejected, and why');
  sayReasons(page, plan.rejections, files);
  for (const line of rejectsLines(options.rejectsFile ?? null, plan.rejections)) {
    page.say(line, { indent: 2, tone: 'strong' });
  }
  if (plan.skips.length > 0) page.heading('Skipped, and why');
  sayReasons(page, plan.skips, files);
  sayNotices(page, plan, run);
  sayRequests(page, plan, pace);
  saySafety(page, plan);
  sayNextSteps(page, nextSteps(run, plan, options.program));
  return page.toString();
}

function sayCounts(page: Page, { counts, resource, examples, mode }: Plan): void {
  page.heading(counted(counts.records, resource === 'products' ? 'product' : 'contact'));
  const resent: [string, string, string][] =
    counts.resent.records > 0
      ? [['resent', grouped(counts.resent.records), 'unchanged, sent all the same']]
      : [];
  const removed: [string, string, string][] =
    mode === 'mirror' ? [['removed', grouped(counts.removed), firstOf(examples.removed)]] : [];
  page.figures([
    [newWord(resource), grouped(counts.new.records), firstOf(examples.new)],
    ['changed', grouped(counts.changed.records), firstOf(examples.changed)],
    ...resent,
    ['unchanged', grouped(counts.unchanged.records), ''],
    ['rejected', grouped(counts.rejected.records), rowsNote(counts.rejected)],
    ['skipped', grouped(counts.skipped.records), rowsNote(counts.skipped)],
    ...removed,
  ]);
}

function rowsNote({ records, rows }: { readonly records: number; readonly rows: number }): string {
  return records === rows ? '' : `in ${counted(rows, 'row')}`;
}

function firstOf(examples: readonly KeyExample[]): string {
  const named = examples.map(
    ({ key, line }) => `${shortened(printable(key), VALUE_LENGTH)}${line === null ? '' : ` (line ${line})`}`,
  );
  return named.length === 0 ? '' : `first: ${named.join(', ')}`;
}

/** A slip of a price may be far down the samples of what changes. */
function sayUnusual(page: Page, plan: Plan): void {
  const { shown, more } = unusualMoves(plan);
  if (shown.length === 0) return;
  page.heading('Look at this first: prices that change more than usual');
  for (const move of shown) {
    const { key, what, old, new: now } = move;
    const name = [key, ...(what === null ? [] : [`(${what})`])]
      .map((text) => shortened(printable(text), VALUE_LENGTH))
      .join(' ');
    const numbers = `${formatNumber(move, old)} → ${formatNumber(move, now)} (${formatChange(old, now)})`;
    page.say(`${name}: ${moveFieldWords(move)} ${numbers}`, { indent: 2, tone: 'warning' });
  }
  if (more > 0) page.say(`and ${counted(more, 'more product')}`, { indent: 2, tone: 'warning' });
}

function sayChanges(page: Page, fields: readonly FieldChanges[]): void {
  if (fields.length === 0) return;
  page.heading('What changes');
  page.figures(
    fields.slice(0, FIELDS_SHOWN).map(({ field, records, samples }) => {
      const values = samples
        .slice(0, SAMPLES_SHOWN)
        .map(
          ({ key, ...values }) =>
            `${shortened(printable(key), VALUE_LENGTH)}: ${shownValue(values.old)} → ${shownValue(values.new)}`,
        );
      return [shortened(printable(field), VALUE_LENGTH), grouped(records), values.join('; ')];
    }),
  );
  if (fields.length > FIELDS_SHOWN) {
    page.say(`and ${counted(fields.length - FIELDS_SHOWN, 'more field')}`, { indent: 2, tone: 'quiet' });
  }
}

/** A value of a sample, harmless and not too long; absent and empty ones by these words. */
export function shownValue(value: string | null): string {
  if (value === null) return '(none)';
  return value === '' ? '(empty)' : shortened(printable(value), VALUE_LENGTH * 2);
}

function sayNotices(page: Page, plan: Plan, run: Pick<Run, 'stateLoss'>): void {
  const warnings = [...stateWarnings(run), ...planWarnings(plan)];
  if (warnings.length + plan.notices.length === 0) return;
  page.heading('Worth knowing');
  for (const { message, records } of plan.notices) {
    page.say(`${counted(records, 'record')}: ${printable(message)}`, { indent: 2 });
  }
  for (const warning of warnings) page.say(warning, { indent: 2, tone: 'warning' });
}

function sayRequests(page: Page, { counts }: Plan, pace: PlanTextOptions['pace']): void {
  const upserts = counts.new.records + counts.changed.records + counts.resent.records;
  const requests = upserts + counts.deletes;
  page.heading(requests === 0 ? 'Nothing to send' : counted(requests, 'request'));
  if (requests === 0) return;
  if (counts.deletes > 0)
    page.say(`${grouped(upserts)} to write, ${grouped(counts.deletes)} to delete`, { indent: 2 });
  const estimate = paceWords(requests, pace);
  if (estimate !== null) page.say(estimate, { indent: 2 });
}

function saySafety(page: Page, { safety }: Plan): void {
  if (safety.length === 0) return;
  const stops = safety.some(({ exceeded }) => exceeded);
  page.heading(stops ? 'Safety limits: stopped' : 'Safety limits: all within');
  for (const { message, exceeded } of safety) {
    page.say(printable(message), { indent: 2, tone: exceeded ? 'bad' : 'quiet' });
  }
}
