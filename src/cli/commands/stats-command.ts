import { readWorkspace } from '../../config/workspace.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import type { ListHistory } from '../../model/mapped-record.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { Page, type PageOptions } from '../../report/document-text.ts';
import {
  changeOf,
  changeTone,
  type ListTrend,
  listTrends,
  MEASURES,
  shownFigure,
  shownListName,
} from '../../report/run-document.ts';
import { exportHistory } from '../../run/export/export-run.ts';
import { counted, DAY, listed, printable } from '../../text/printable.ts';
import { defineCommand, requiredArgument } from '../define-command.ts';

/** The input for the statistics of a job. */
interface StatsFacts {
  readonly job: string;
  /** Path of the history. */
  readonly location: string;
  readonly history: ListHistory;
}

/** Where the text is shown. `program` is the beginning of the next commands. */
type StatsTextOptions = PageOptions & { readonly program: string };

/** The parts of a line besides the plot: name, figure, both changes, and the space between them. */
const BESIDE_PLOT = 66;
const PLOT = { narrowest: 8, widest: 50 };

/** A text with the history of subscriber lists: each list with its changes since the previous and the first reading. */
export function statsText({ job, location, history }: StatsFacts, options: StatsTextOptions): string {
  const page = new Page(options);
  const again = `${options.program} run ${job}`;
  const { lists, moments } = listTrends(history);
  const [first, last] = [moments[0], moments.at(-1)];
  if (first === undefined || last === undefined) {
    page.say(`${job}: no readings in ${location} yet.`, { tone: 'strong' });
    sayUnreadable(page, history);
    page.say('To take the first reading:', { indent: 2 });
    page.command(again);
    return page.toString();
  }
  const precise = last - first < 2 * DAY;
  const period =
    moments.length === 1 ? `on ${day(last, true)}` : `from ${day(first, precise)} to ${day(last, precise)}`;
  page.say(`${job}: ${counted(lists.length, 'list')}, ${counted(moments.length, 'reading')} ${period} UTC`, {
    tone: 'strong',
  });
  page.say(location, { indent: 2, tone: 'quiet' });
  for (const list of lists) sayList(page, list, { moments, precise, width: options.width });
  sayUnreadable(page, history);
  if (moments.length === 1) {
    page.heading('Next');
    page.say('One reading shows no change yet. Take another, or give the job a schedule:', { indent: 2 });
    page.command(again);
  }
  return page.toString();
}

interface Period {
  /** The times of the readings, in ascending order. */
  readonly moments: readonly number[];
  /** Whether dates need the time of day. */
  readonly precise: boolean;
  readonly width: number;
}

function sayList(page: Page, list: ListTrend, { moments, precise, width }: Period) {
  const { id, points, first, latest, before, formerNames } = list;
  page.heading(`${shownListName(latest)} (id ${printable(id)})`);
  if (formerNames.length > 0) page.say(`formerly ${listed(formerNames)}`, { indent: 2, tone: 'quiet' });
  const gone = moments.find((moment) => moment > latest.readAt);
  if (gone !== undefined)
    page.say(`gone since ${day(gone, precise)}: the store no longer has this list`, {
      indent: 2,
      tone: 'warning',
    });
  const plotWidth = Math.min(PLOT.widest, Math.max(PLOT.narrowest, width - BESIDE_PLOT));
  const since = before === undefined ? '' : `since ${day(before.readAt, precise)}`;
  const whole = points.length < 3 ? '' : `since ${day(first.readAt, precise)}`;
  page.table(
    ['', points.length < 2 ? '' : 'over time', gone === undefined ? 'now' : 'last', since, whole],
    MEASURES.map((measure) => ({
      cells: [
        `  ${measure.name}`,
        points.length < 2
          ? ''
          : sparkline(
              points.map((point) => ({ at: point.readAt, value: measure.of(point) })),
              plotWidth,
            ),
        shownFigure(measure, latest),
        changeOf(measure, before, latest),
        points.length < 3 ? '' : changeOf(measure, first, latest),
      ],
      tone: changeTone(measure, before, latest),
    })),
  );
}

function sayUnreadable(page: Page, { unreadable }: ListHistory) {
  if (unreadable === 0) return;
  page.say(
    `${counted(unreadable, 'line')} of the file ${unreadable === 1 ? 'is not a reading and is' : 'are not readings and are'} left out.`,
    {
      tone: 'warning',
    },
  );
}

/** A date in UTC, with the time of day if dates alone are not distinct. */
function day(moment: number, precise: boolean) {
  const [date = '', time = ''] = new Date(moment).toISOString().split('T');
  return precise ? `${date} ${time.slice(0, 5)}` : date;
}

const LEVELS = '▁▂▃▄▅▆▇█';
const FLAT = '▄';
const GAP = ' ';

/** A value at a moment; null if unknown. */
interface Sample {
  readonly at: number;
  readonly value: number | null;
}

/**
 * A sparkline from the lowest to the highest value: one bar per sample if there is room, otherwise one bar per equal
 * stretch of time, as high as its last sample.
 */
export function sparkline(samples: readonly Sample[], width: number): string {
  const shown = samples.length <= width ? samples.map(({ value }) => value) : stretches(samples, width);
  const known = withoutAbsent(shown);
  const lowest = Math.min(...known);
  const span = Math.max(...known) - lowest;
  return shown
    .map((value) => {
      if (value === null) return GAP;
      if (span === 0) return FLAT;
      return LEVELS.charAt(Math.round(((value - lowest) / span) * (LEVELS.length - 1)));
    })
    .join('');
}

/** The last value in each of this many equal stretches of time. A stretch without a sample keeps the previous value. */
function stretches(samples: readonly Sample[], count: number) {
  const from = samples[0]?.at ?? 0;
  const lasted = Math.max(1, (samples.at(-1)?.at ?? 0) - from);
  const values = new Array<number | null>(count).fill(null);
  const sampled = new Set<number>();
  for (const { at, value } of samples) {
    const stretch = Math.min(count - 1, Math.floor(((at - from) / lasted) * count));
    values[stretch] = value;
    sampled.add(stretch);
  }
  for (let stretch = 1; stretch < count; stretch++) {
    if (!sampled.has(stretch)) values[stretch] = values[stretch - 1] ?? null;
  }
  return values;
}

/** `storeferry stats`: draws the history that an export job has collected. */
export const statsCommand = defineCommand({
  arguments: { job: requiredArgument('a job that collects list statistics (`mode: append`)') },
  options: {},
  examples: ['stats list-statistics'],
  async run({ terminal, directory, program, interruptSignal }, { job: name }) {
    const workspace = readWorkspace(directory, process.env);
    const job = workspace.job(name);
    if (job.kind !== 'export')
      throw new UsageError(
        `The job ${name} is an import: only an export of subscriber lists has statistics.`,
        {
          hint: 'Name a job with `export: subscriber-lists` and `mode: append`.',
        },
      );
    const signal = interruptSignal();
    const facts = await exportHistory(workspace.fileAccess(), job, signal);
    terminal.out(statsText({ job: name, ...facts }, { ...terminal, program }));
    return 0;
  },
});
