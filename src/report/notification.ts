import type { Run } from '../model/run.ts';
import { formatDuration, printable, shortened } from './printable.ts';
import { runDocument } from './run-document.ts';
import type { RunFacts, View } from './run-facts.ts';
import { type RunSummary, runSummary } from './run-summary.ts';
import { type Paragraph, plainWords, type Section, shownIn } from './section.ts';
import { PROGRAM } from './sections/next-section.ts';
import { statusWords } from './status-words.ts';

/** An end of a run that a job may notify of. */
export type NotifiedEnd = 'failed' | 'stopped' | 'rejects' | 'done';

/**
 * What is sent to a webhook. `text` is what Slack, Mattermost and Rocket.Chat show, `content` is what Discord does;
 * each ignores what it does not know.
 */
export interface Notification {
  readonly text: string;
  readonly content: string;
  /** Discord: the message of a store mentions nobody. */
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

/** Discord takes 2,000 characters; a chat is no place for more than a few lines. */
const LONGEST_ERROR = 600;

/** Says how a run ended, and what to do. */
export function endNotification(end: NotifiedEnd, facts: RunFacts, { now, version }: Moment): Notification {
  const { run } = facts;
  const { head, sections } = runDocument(facts, { now, version, program: PROGRAM });
  const figures = head.totals === '' ? '' : `. ${head.totals}`;
  const lines = [
    `${head.job}: ${statusWords(head.status)} after ${formatDuration(head.lastedMs)}${figures} (store ${head.store}, run ${head.run})`,
    ...paragraphsOf(sections),
    // A run that is done needs no action.
    ...(end === 'done' ? [] : commandsOf(sections).slice(0, 1)),
  ];
  const id = `${run.id}-${run.status}-${run.finishedAt ?? now}`;
  return { ...message(lines), id, end, summary: runSummary(facts, now) };
}

/** When a notification is made, and by which version of Storeferry. */
type Moment = Pick<View, 'now' | 'version'>;

/** Of a document, what a message has room for: why, the reason of most rejections, and where they all are. */
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

/** Says that a job could not start: of a scheduled run nobody sees it. */
export function beginNotification(job: string, problem: string, id: string): Notification {
  const lines = [`${job}: could not start`, problem, 'To see all problems: storeferry check'];
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
