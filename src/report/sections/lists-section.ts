import { withoutAbsent } from '../../model/json-object.ts';
import type { HistoryPoint, ListHistory } from '../../model/mapped-record.ts';
import { capitalise, formatAgo, grouped, listed, printable, truncate } from '../../text/printable.ts';
import type { RunFacts, View } from '../run-facts.ts';
import {
  type Block,
  foreign,
  type NamedColumn,
  type Plot,
  paragraph,
  type Section,
  styled,
  type Table,
  table,
  type Words,
} from '../section.ts';

const LISTS_SHOWN = 100;
const PLOTS_SHOWN = 6;

/** Each list and its change since the previous reading; null without a history. */
export function listsSection({ history = null }: RunFacts, { timezone }: View): Section | null {
  const present = history === null ? [] : listTrends(history).lists.filter(({ gone }) => !gone);
  if (present.length === 0) return null;
  // One plot per list, because the sizes of lists differ too much for one scale.
  const plotted = present.filter(({ points }) => points.length > 1).slice(0, PLOTS_SHOWN);
  const plots = plotted.map((list) => subscribersPlot(list, `Subscribers of ${shownListName(list.latest)}`));
  return {
    id: 'lists',
    title: 'The lists now',
    only: 'page',
    blocks: [latestFigures(present), ...plotsBlock(plots, timezone)],
  };
}

/** A list with its changes since its reading at a time; without changes where it has none of then. */
export function comparedWith(list: ListTrend, since: number): ListTrend {
  return { ...list, before: list.points.find(({ readAt }) => readAt === since) };
}

/**
 * The latest figures of each list and their changes: since the reading before, or since the first of these readings. With `now` also its id and the
 * time of its last reading.
 */
export function latestFigures(
  lists: readonly ListTrend[],
  { now, since }: { readonly now?: number; readonly since?: number | undefined } = {},
): Table {
  const detailed = now !== undefined;
  const compared = since === undefined ? lists : lists.map((list) => comparedWith(list, since));
  return table(
    `Each list now, and how it has changed since the ${since === undefined ? 'reading before' : 'first of these readings'}`,
    [
      'List',
      ...MEASURES.flatMap(({ name }): NamedColumn[] => [
        [capitalise(name), 'numeric'],
        detailed ? ['Change', 'numeric', 'bare'] : ['Change', 'numeric'],
      ]),
      detailed && ['Read', 'short'],
    ],
    compared.map((list) =>
      withoutAbsent<Words>([
        [foreign(shownListName(list.latest)), detailed && idAndState(list)],
        ...figuresOf(list),
        detailed && formatAgo(now - list.latest.readAt),
      ]),
    ),
    {
      ...(!detailed && { shown: { page: LISTS_SHOWN, text: LISTS_SHOWN } }),
      more: 'list',
    },
  );
}

/** One list over all its readings, for a page; null if there are too few readings to draw. */
export function listSection(
  { id, ...list }: ListTrend,
  { now, timezone }: Pick<View, 'now' | 'timezone'>,
): Section | null {
  const { first, latest, formerNames, gone, points } = list;
  if (points.length < 2) return null;
  const [subscribers] = MEASURES;
  const change = subscribers === undefined || points.length < 3 ? '' : changeOf(subscribers, first, latest);
  const over = change === '' ? '' : `: ${change} over ${points.length} readings`;
  const percent = (share: number | null) => (share === null ? null : share * 100);
  const rates = [
    seriesOf('opens', list, ({ opens }) => percent(opens)),
    seriesOf('clicks', list, ({ clicks }) => percent(clicks)),
  ];
  const hasRates = rates.some(({ points: known }) => known.length > 0);
  const left = `The store no longer has this list; it was last read ${formatAgo(now - latest.readAt)}.`;
  return {
    id: `list-${encodeURIComponent(id)}`,
    title: [foreign(shownListName(latest)), ' ', quiet(['id ', foreign(id)])],
    blocks: withoutAbsent([
      formerNames.length > 0 && paragraph([['Formerly ', foreign(listed(formerNames))]], { role: 'hint' }),
      gone && paragraph([left], { role: 'explanation' }),
      ...plotsBlock(
        withoutAbsent([
          subscribersPlot(list, `Subscribers${over}`),
          hasRates && { title: 'Open and click rate, %', series: rates },
        ]),
        timezone,
      ),
    ]),
  };
}

function figuresOf({ before, latest }: ListTrend): Words[] {
  return MEASURES.flatMap((measure): Words[] => [
    shownFigure(measure, latest),
    styled(`tone-${changeTone(measure, before, latest)}`, changeOf(measure, before, latest) || '–'),
  ]);
}

function idAndState({ id, gone }: ListTrend): Words {
  return [
    ' ',
    quiet(foreign(id)),
    gone && [' ', { as: 'badge', tone: 'quiet', words: 'No longer in the store' }],
  ];
}

function quiet(words: Words): Words {
  return styled('tone-quiet', words);
}

type Trend = Extract<Plot['of'], { readonly figure: 'trends' }>['trends'][number];

function plotsBlock(trends: readonly Trend[], timezone: string | undefined): Block[] {
  return trends.length === 0 ? [] : [{ kind: 'plot', of: { figure: 'trends', timezone, trends } }];
}

function subscribersPlot(list: Pick<ListTrend, 'points'>, title: string): Trend {
  return { title, series: [seriesOf('subscribers', list, ({ subscribers }) => subscribers)] };
}

function seriesOf(
  name: string,
  { points }: Pick<ListTrend, 'points'>,
  of: (point: HistoryPoint) => number | null,
): Trend['series'][number] {
  const known = points.flatMap((point) => {
    const value = of(point);
    return value === null ? [] : [{ at: point.readAt, value }];
  });
  return { name, points: known };
}

/** A measure of a subscriber list. */
export interface Measure {
  readonly name: string;
  readonly of: (point: HistoryPoint) => number | null;
  readonly figure: (value: number) => string;
  readonly change: (from: number, to: number) => string;
}

const MAX_NAME_LENGTH = 60;

/** The measures of a list, the most important first. */
export const MEASURES: readonly Measure[] = [
  {
    name: 'subscribers',
    of: ({ subscribers }) => subscribers,
    figure: grouped,
    change: (from, to) => {
      const share = from === 0 ? '' : ` (${signed(((to - from) / from) * 100, 1)}%)`;
      return `${signed(to - from, 0)}${share}`;
    },
  },
  { name: 'open rate', of: ({ opens }) => opens, figure: percent, change: points },
  { name: 'click rate', of: ({ clicks }) => clicks, figure: percent, change: points },
];

/** The text for a measure; a dash if unknown. */
export function shownFigure(measure: Measure, point: HistoryPoint): string {
  const value = measure.of(point);
  return value === null ? '–' : measure.figure(value);
}

/** The change of a measure between two readings; empty if unknown. */
export function changeOf(measure: Measure, from: HistoryPoint | undefined, to: HistoryPoint): string {
  const [before, after] = [from === undefined ? null : measure.of(from), measure.of(to)];
  return before === null || after === null ? '' : measure.change(before, after);
}

/** Whether a measure has risen (good) or fallen (bad); quiet if unchanged or unknown. */
export function changeTone(
  measure: Measure,
  from: HistoryPoint | undefined,
  to: HistoryPoint,
): 'good' | 'bad' | 'quiet' {
  const [before, after] = [from === undefined ? null : measure.of(from), measure.of(to)];
  if (before === null || after === null || before === after) return 'quiet';
  return after > before ? 'good' : 'bad';
}

/** The name of a list at a reading, safe to print and shortened. */
export function shownListName({ name }: HistoryPoint): string {
  return name === '' ? 'without a name' : truncate(printable(name), MAX_NAME_LENGTH);
}

function percent(share: number) {
  return `${(share * 100).toFixed(1)}%`;
}

/** The change of a rate in percentage points. */
function points(from: number, to: number) {
  return `${signed((to - from) * 100, 1)} points`;
}

function signed(figure: number, digits: number) {
  const rounded = Number(figure.toFixed(digits));
  if (rounded === 0) return '±0';
  const size = digits === 0 ? grouped(Math.abs(rounded)) : Math.abs(rounded).toFixed(digits);
  return `${rounded > 0 ? '+' : '−'}${size}`;
}

/** The readings of one list. */
export type ListTrend = ReturnType<typeof listTrends>['lists'][number];

/** The lists of a history and the times of its readings. Lists of the last reading come first, the largest first. */
export function listTrends({ points }: ListHistory) {
  const rising = points.toSorted((a, b) => a.readAt - b.readAt);
  const moments = [...new Set(rising.map(({ readAt }) => readAt))];
  const lists = [...Map.groupBy(rising, ({ id }) => id)].flatMap(([id, own]) => {
    const [first, latest] = [own[0], own.at(-1)];
    if (first === undefined || latest === undefined) return [];
    const name = shownListName(latest);
    const formerNames = [...new Set(own.map(shownListName))].filter((former) => former !== name);
    // Later readings do not have a list that is gone.
    const gone = latest.readAt !== moments.at(-1);
    return [{ id, points: own, first, latest, before: own.at(-2), formerNames, gone }];
  });
  const size = ({ latest }: (typeof lists)[number]) => latest.subscribers ?? -1;
  return {
    lists: lists.toSorted((a, b) => Number(a.gone) - Number(b.gone) || size(b) - size(a)),
    moments,
  };
}
