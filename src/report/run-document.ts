import { commandText } from '../model/action.ts';
import { withoutAbsent } from '../model/json-object.ts';
import type { ListHistory } from '../model/mapped-record.ts';
import {
  COMPLETED,
  hasDrifted,
  lastedMs,
  type NotifiedCondition,
  type Run,
  type RunKind,
  refusedIn,
} from '../model/run.ts';
import { counted, DAY, formatDuration, PROGRAM, printable, truncate } from '../text/printable.ts';
import type { RunFacts, View } from './run-facts.ts';
import { type RunSummary, runSummary } from './run-summary.ts';
import { type Paragraph, plainWords, type Section, shownIn } from './section.ts';
import { aboutSection, exportedSection } from './sections/about-section.ts';
import { driftSection, verificationSection } from './sections/drift-section.ts';
import { fieldsSection, pricesSection, stockSection } from './sections/fields-section.ts';
import { editedFacts, editedSection, heldSection, wavesSection } from './sections/held-section.ts';
import { imagesSection } from './sections/images-section.ts';
import { leadSection } from './sections/lead-section.ts';
import {
  changeOf,
  comparedWith,
  listsSection,
  listTrends,
  MEASURES,
  shownFigure,
  shownListName,
} from './sections/lists-section.ts';
import { nextSection, type StepFacts, stepsAfter } from './sections/next-section.ts';
import { notesSection } from './sections/notes-section.ts';
import { recordsSection } from './sections/records-section.ts';
import { rejectedSection, skippedSection, unsentSection } from './sections/rejected-section.ts';
import { adoptedSection, renamedSection } from './sections/renamed-section.ts';
import { safetySection } from './sections/safety-section.ts';
import { sourceSection } from './sections/source-section.ts';
import { trafficSection } from './sections/traffic-section.ts';
import { undoSection } from './sections/undo-section.ts';
import { figuresWords, kindOf, statusWords } from './status-words.ts';

// Parts of a document that pages and commands show by themselves.
export {
  changeOf,
  changeTone,
  type ListTrend,
  latestFigures,
  listSection,
  listTrends,
  MEASURES,
  shownFigure,
  shownListName,
} from './sections/lists-section.ts';
export { planWarnings, requestsWaitText, stateLossText } from './sections/notes-section.ts';

/**
 * In the order of a page. A section without content returns null. To add a section, add a file to `sections/` and an
 * entry here.
 */
const SECTIONS: readonly ((facts: RunFacts, view: View) => Section | null)[] = [
  leadSection,
  nextSection,
  exportedSection,
  listsSection,
  recordsSection,
  undoSection,
  verificationSection,
  driftSection,
  wavesSection,
  safetySection,
  adoptedSection,
  renamedSection,
  heldSection,
  editedSection,
  pricesSection,
  stockSection,
  fieldsSection,
  rejectedSection,
  unsentSection,
  skippedSection,
  imagesSection,
  notesSection,
  trafficSection,
  sourceSection,
  aboutSection,
];

/** The document of a run. */
export function runDocument(facts: RunFacts, view: View) {
  const { run } = facts;
  const { id, job, store, status } = run;
  return {
    head: {
      /** The words before the name of the job, such as `Plan of`. */
      what: subjectOf(run),
      job,
      store,
      run: id,
      kind: run.kind,
      status,
      /** How it ended, as the beginning of a sentence that continues with a duration. */
      outcome: statusWords(status, facts.totals),
      /** When the run ended; for a running run, when the document was made. */
      at: run.finishedAt ?? view.now,
      timezone: view.timezone,
      lastedMs: lastedMs(run, view.now),
      /** Its figures in a few words; empty if nothing is known. */
      totals: figuresWords(run),
      /** The version of Storeferry. */
      version: view.version,
    },
    /** The most important section first. */
    sections: withoutAbsent(SECTIONS.map((section) => section(facts, view))),
  };
}

/** Everything that is shown about a run. Terminal, report file, dashboard and notifications render this document. */
export type RunDocument = ReturnType<typeof runDocument>;

/** The subject of a document, for its title. */
export type DocumentHead = RunDocument['head'];

function subjectOf(run: Run) {
  const { restore, copy } = run;
  if (copy !== undefined) return `Copy from the store ${copy.store} by`;
  return restore === undefined ? SUBJECTS[kindOf(run)] : 'Restore of records of';
}

/** The words before the name of the job. */
const SUBJECTS: Readonly<Record<RunKind, string>> = {
  plan: 'Plan of',
  run: 'Run of',
  retry: 'Retry of',
  export: 'Export by',
  verify: 'Verification of',
  drift: 'Comparison of the store with',
  undo: 'Undo of a run of',
  release: 'Release of held records of',
  copy: 'Copy from another store by',
};

/** The commands that a person may type after a run, most useful first; empty if there is nothing to do. */
export function nextSteps(facts: StepFacts, program = PROGRAM) {
  return stepsAfter(facts).map(({ what, action }) => ({
    what,
    command: `${program} ${commandText(action)}`,
  }));
}

/** What a message is about: a condition, or that none holds any more. */
export type MessageKind = NotifiedCondition | 'recovered';

/** Those that the end of a run decides about; the others: a comparison with the store, a tick, a week. */
type EndCondition = Exclude<NotifiedCondition, 'drift' | 'missed' | 'weekly'>;

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
  readonly end: MessageKind | 'test';
  /** The object that `--json` prints; null if no run could begin. */
  readonly summary: RunSummary | null;
}

/** Whether somebody may be notified of a run: not of plans and verifications, nor of one that another run continues. */
export function isNotified({ kind, status }: Run): boolean {
  const isOver = status === 'failed' || status === 'stopped' || COMPLETED.includes(status);
  return isOver && kind !== 'plan' && kind !== 'verify';
}

/** Whether each condition holds that the end of a run decides about; undefined where nobody is notified. */
export function conditionsOf(
  facts: Pick<RunFacts, 'run' | 'plan' | 'totals'>,
): Partial<Record<NotifiedCondition, boolean>> | undefined {
  const { kind, status, drift } = facts.run;
  const isFailed = status === 'failed';
  if (kind === 'drift') return isFailed || drift == null ? undefined : { drift: hasDrifted(drift) };
  if (!isNotified(facts.run)) return undefined;
  return {
    failed: isFailed,
    stopped: status === 'stopped',
    rejects: refusedIn(facts.totals) > 0,
    held: facts.totals.held > 0,
    edited: editedFacts(facts) !== null,
    done: status === 'done',
  } satisfies Record<EndCondition, boolean>;
}

/** Discord accepts 2,000 characters. A chat message should have only a few lines. */
const MAX_ERROR_LENGTH = 600;

/** States how a run ended, and what to do. */
export function endNotification(end: MessageKind, facts: RunFacts, { now, version }: Moment): Notification {
  const { head, sections } = runDocument(facts, { now, version, program: PROGRAM });
  const figures = head.totals === '' ? '' : `. ${head.totals}`;
  const lines = [
    `${head.job}: ${end === 'recovered' ? 'recovered, ' : ''}${head.outcome} after ${formatDuration(head.lastedMs)}${figures} (store ${head.store}, run ${head.run})`,
    ...paragraphsOf(sections),
    // A successful run needs no action.
    ...(end === 'done' || end === 'recovered' ? [] : commandsOf(sections).slice(0, 1)),
  ];
  return message(lines, endId(facts.run), end, runSummary(facts, now));
}

/** Identifies the end of a run: another one for each end, also of a continued run. */
export function endId({ id, status, finishedAt }: Run): string {
  return `${id}-${status}-${finishedAt ?? 0}`;
}

/** The time of a notification, and the version of Storeferry that made it. */
type Moment = Pick<View, 'now' | 'version'>;

/**
 * The parts of a document for which a message has room: the cause, the most frequent reason of rejection, and where
 * to find all of them.
 */
function paragraphsOf(sections: readonly Section[]) {
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

function commandsOf(sections: readonly Section[]) {
  return sections
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => (block.kind === 'command' ? [`${block.what} ${block.command}`] : []));
}

/** States that a job could not start, or that the end of its run could not be recorded. Nobody watches a scheduled run. */
export function beginNotification(
  job: string,
  problem: string,
  id: string,
  run: string | null,
): Notification {
  const what = run === null ? 'could not start' : `run ${run} ended without a record`;
  const lines = [`${job}: ${what}`, problem, 'To see all problems: storeferry check'];
  return message(lines, id, 'failed');
}

const LISTS_IN_MESSAGE = 10;
/** Readings of a week ago may have been taken a little later in the day. */
const MIN_COMPARED_MS = 6.5 * DAY;

/**
 * What the lists of a job have become in a week; `id` is that of the week, from Monday in UTC. Null where an earlier week has no reading to
 * compare with.
 */
export function weeklyNotification(job: string, history: ListHistory, now: number): Notification | null {
  const { lists, moments } = listTrends(history);
  const [first] = moments;
  const last = moments.at(-1);
  if (first === undefined || last === undefined || first >= mondayOf(now)) return null;
  const since = moments.findLast((moment) => moment <= last - MIN_COMPARED_MS) ?? first;
  const present = lists.filter(({ gone }) => !gone);
  const lines = present.slice(0, LISTS_IN_MESSAGE).map((list) => {
    const { before, latest } = comparedWith(list, since);
    const figures = MEASURES.map((measure) => {
      const change = changeOf(measure, before, latest);
      return `${measure.name} ${shownFigure(measure, latest)}${change === '' ? '' : `, ${change}`}`;
    });
    return `${shownListName(latest)}: ${figures.join('; ')}`;
  });
  const left = present.length - lines.length;
  const more = left > 0 ? [`and ${counted(left, 'more list')}`] : [];
  const title = `${job}: ${counted(present.length, 'list')} on ${dayOf(last)}, compared with ${dayOf(since)}`;
  return message([title, ...lines, ...more], `${job}-week-${weekOf(now)}`, 'weekly');
}

/** A week by the date of its Monday in UTC. */
export function weekOf(now: number): string {
  return dayOf(mondayOf(now));
}

function mondayOf(now: number) {
  const today = Math.floor(now / DAY);
  // The epoch began on a Thursday.
  return (today - ((today + 3) % 7)) * DAY;
}

function dayOf(at: number) {
  return new Date(at).toISOString().slice(0, 10);
}

/** Shows a recipient that notifications of a job arrive. */
export function testNotification(job: string, id: string): Notification {
  const lines = [`${job}: this is a test`, 'Notifications of this job arrive here. Nothing has happened.'];
  return message(lines, id, 'test');
}

/** States that a scheduled run did not start in time, or that one did again (`problem` null). */
export function missedNotification(
  end: MessageKind,
  job: string,
  problem: string | null,
  id: string,
): Notification {
  const lines =
    problem === null
      ? [`${job}: recovered, the scheduled run starts in time again`]
      : [`${job}: a scheduled run did not start in time`, problem, 'To see all runs: storeferry runs'];
  return message(lines, id, end);
}

function message(
  lines: readonly string[],
  id: string,
  end: Notification['end'],
  summary: RunSummary | null = null,
): Notification {
  const text = lines.map((line) => truncate(harmless(line), MAX_ERROR_LENGTH)).join('\n');
  return { text, content: text, allowed_mentions: { parse: [] }, id, end, summary };
}

/**
 * In a chat, `<!channel>`, `@here` and `<https://…|label>` have effects. Text of a source or a store must not have
 * these effects.
 */
function harmless(line: string) {
  return printable(line)
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll(/@(?=(all|channel|everyone|here)\b)/gi, '@\u2060');
}
