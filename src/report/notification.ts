import type { ReasonGroup } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import { nextSteps } from './next-steps.ts';
import { reasonAmount } from './reason-lines.ts';
import { type RunSummary, runSummary, type SummarisedRun } from './run-summary.ts';
import { formatDuration } from './wording/durations.ts';
import { printable, shortened } from './wording/printable.ts';
import { statusWords } from './wording/status-words.ts';
import { totalsWords } from './wording/totals-words.ts';

/** An end of a run that somebody may want to be told of. */
export type NotifiedEnd = 'failed' | 'stopped' | 'rejects' | 'done';

/**
 * What is sent to a webhook. `text` is what Slack, Mattermost and Rocket.Chat show, `content` is what Discord does;
 * each ignores what it does not know.
 */
export interface Notification {
  readonly text: string;
  readonly content: string;
  /** Discord: nobody is called by what a store's message happens to contain. */
  readonly allowed_mentions: { readonly parse: readonly [] };
  /** The same however often it arrives, and another one for every end, also of a run that was continued. */
  readonly id: string;
  readonly end: NotifiedEnd;
  /** As `--json` prints it; null when no run could begin. */
  readonly summary: RunSummary | null;
}

/** The end a run has come to. Null while it goes on elsewhere (interrupted, superseded), and for plans and verifications. */
export function notifiedEnd({ kind, status }: Pick<Run, 'kind' | 'status'>): NotifiedEnd | null {
  if (kind === 'plan' || kind === 'verify') return null;
  switch (status) {
    case 'failed':
    case 'stopped':
    case 'done':
      return status;
    case 'done-with-rejects':
      return 'rejects';
    case 'running':
    case 'planned':
    case 'interrupted':
    case 'superseded':
      return null;
    default:
      return status satisfies never;
  }
}

/** Discord takes 2,000 letters; a chat is no place for more than a few lines. */
const LONGEST_ERROR = 600;

/** A run that has ended, and why records of it were rejected. */
export interface NotifiedRun extends SummarisedRun {
  readonly reasons: readonly ReasonGroup[];
}

/** Tells how a run ended. */
export function endNotification(end: NotifiedEnd, ended: NotifiedRun, now: number): Notification {
  const { run } = ended;
  const summary = runSummary(ended, now);
  // Its error has a line of its own.
  const figures = run.error !== null && run.totals?.records === 0 ? '' : totalsWords({ ...run, error: null });
  const [next] = nextSteps({ ...run, rejectsFile: ended.rejectsFile }, null);
  const lines = [
    `${run.job}: ${statusWords(run.status)} after ${formatDuration(summary.durationMs)}${figures === '' ? '' : `. ${figures}`} (store ${run.store}, run ${run.id})`,
    ...(run.error === null ? [] : [run.error]),
    ...rejectsWords(ended),
    ...(next === undefined ? [] : [`${next.what} ${next.command}`]),
  ];
  return { ...message(lines), id: `${run.id}-${run.status}-${run.finishedAt ?? now}`, end, summary };
}

/** The reason of most rejections, and where all of them are. */
function rejectsWords({ reasons, rejectsFile }: NotifiedRun): string[] {
  const [top] = reasons.toSorted((a, b) => b.rows - a.rows);
  return [
    ...(top === undefined
      ? []
      : [`${reasons.length > 1 ? 'Mostly: ' : ''}${reasonAmount(top)}: ${top.message}`]),
    ...(rejectsFile === null ? [] : [`Rejects file: ${rejectsFile}`]),
  ];
}

/** Tells that a job could not even begin, which nobody sees when it was the clock that began it. */
export function beginNotification(job: string, problem: string, id: string): Notification {
  const lines = [`${job}: could not begin`, problem, 'To see all that is wrong: storeferry check'];
  return { ...message(lines), id, end: 'failed', summary: null };
}

function message(lines: readonly string[]): Pick<Notification, 'text' | 'content' | 'allowed_mentions'> {
  const text = lines.map((line) => shortened(harmless(line), LONGEST_ERROR)).join('\n');
  return { text, content: text, allowed_mentions: { parse: [] } };
}

/** In a chat `<!channel>`, `@here` and `<https://…|label>` act: what a source or a store says must not. */
function harmless(line: string): string {
  return printable(line)
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll(/@(?=(all|channel|everyone|here)\b)/gi, '@\u2060');
}
