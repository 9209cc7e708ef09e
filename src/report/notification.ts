import type { Run } from '../model/run.ts';
import { formatDuration, printable, shortened } from './printable.ts';
import { runDocument } from './run-document.ts';
import type { RunFacts, View } from './run-facts.ts';
import { type RunSummary, runSummary } from './run-summary.ts';
import { type Paragraph, plainWords, type Section, shownIn } from './section.ts';
import { PROGRAM } from './sections/next-section.ts';

/** An outcome of a run for which a job may request a notification. */
export type NotifiedEnd = 'failed' | 'stopped' | 'rejects' | 'done';

/**
 * The body of a webhook request. Slack, Mattermost and Rocket.Chat show `text`, Discord shows `content`; each ignores
 * unknown fields.
 */
export interface Notification {
  readonly text: string;
  readonly content: string;
  /** For Discord: text of a store must not mention anybody. */
  readonly allowed_mentions: { readonly parse: readonly [] };
  /** Identifies the end of a run: equal for repeated deliveries, different for each end, also of a continued run. */
  readonly id: string;
  readonly end: NotifiedEnd;
  /** The object that `--json` prints; null if no run could begin. */
  readonly summary: RunSummary | null;
}

/**
 * The outcome of a run for notifications. Null for plans and verifications, and for a run that another run continues
 * (interrupted, superseded).
 */
export function notifiedEnd({ kind, status }: Pick<Run, 'kind' | 'status'>): NotifiedEnd | null {
  return kind === 'plan' || kind === 'verify' ? null : ENDS[status];
}

const ENDS: Readonly<Record<Run['status'], NotifiedEnd | null>> = {
  failed: 'failed',
  stopped: 'stopped',
  done: 'done',
  'done-with-rejects': 'rejects',
  running: null,
  planned: null,
  interrupted: null,
  superseded: null,
};

/** Discord accepts 2,000 characters. A chat message should have only a few lines. */
const LONGEST_ERROR = 600;

/** States how a run ended, and what to do. */
export function endNotification(end: NotifiedEnd, facts: RunFacts, { now, version }: Moment): Notification {
  const { run } = facts;
  const { head, sections } = runDocument(facts, { now, version, program: PROGRAM });
  const figures = head.totals === '' ? '' : `. ${head.totals}`;
  const lines = [
    `${head.job}: ${head.outcome} after ${formatDuration(head.lastedMs)}${figures} (store ${head.store}, run ${head.run})`,
    ...paragraphsOf(sections),
    // A successful run needs no action.
    ...(end === 'done' ? [] : commandsOf(sections).slice(0, 1)),
  ];
  const id = `${run.id}-${run.status}-${run.finishedAt ?? now}`;
  return { ...message(lines), id, end, summary: runSummary(facts, now) };
}

/** The time of the notification, and the version of Storeferry that made it. */
type Moment = Pick<View, 'now' | 'version'>;

/**
 * The parts of a document for which a message has room: the cause, the most frequent reason of rejection, and where
 * to find all of them.
 */
function paragraphsOf(sections: readonly Section[]): string[] {
  const ofRole = (wanted: (paragraph: Paragraph) => boolean) =>
    sections
      .flatMap(({ blocks }) => shownIn(blocks, 'message'))
      .filter((block) => block.kind === 'paragraph')
      .filter(wanted)
      .flatMap(({ sentences }) => sentences.map((words) => plainWords(words, 'message')));
  return [
    ...ofRole(({ role }) => role === 'problem'),
    ...ofRole(({ only, role }) => only === 'message' && role !== 'problem'),
    ...ofRole(({ role }) => role === 'file'),
  ];
}

function commandsOf(sections: readonly Section[]): string[] {
  return sections
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => (block.kind === 'command' ? [`${block.what} ${block.command}`] : []));
}

/** States that a job could not start. Nobody watches a scheduled run. */
export function beginNotification(job: string, problem: string, id: string): Notification {
  const lines = [`${job}: could not start`, problem, 'To see all problems: storeferry check'];
  return { ...message(lines), id, end: 'failed', summary: null };
}

function message(lines: readonly string[]): Pick<Notification, 'text' | 'content' | 'allowed_mentions'> {
  const text = lines.map((line) => shortened(harmless(line), LONGEST_ERROR)).join('\n');
  return { text, content: text, allowed_mentions: { parse: [] } };
}

/**
 * In a chat, `<!channel>`, `@here` and `<https://…|label>` have effects. Text of a source or a store must not have
 * these effects.
 */
function harmless(line: string): string {
  return printable(line)
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll(/@(?=(all|channel|everyone|here)\b)/gi, '@\u2060');
}
