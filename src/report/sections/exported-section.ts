import type { HistoryPoint } from '../../model/subscriber-list.ts';
import {
  type Block,
  foreign,
  type Plot,
  paragraph,
  type Section,
  type Table,
  type Words,
} from '../document.ts';
import {
  changeOf,
  changeTone,
  type ListTrend,
  listTrends,
  MEASURES,
  shownFigure,
  shownListName,
} from '../list-trends.ts';
import { counted, formatAgo, formatBytes, grouped, listed, sentence } from '../printable.ts';
import type { RunFacts } from '../run-facts.ts';

/** What an export read and what it wrote; null for imports, and until it is written. */
export function exportedSection({ run, totals, exported: file }: RunFacts): Section | null {
  if (file === null) return null;
  const { location, mode, begun, format, items, lines, bytes, readAt } = file;
  const thing = run.resource === 'orders' ? 'order' : 'list';
  const at = `${readAt.replace('T', ' ').slice(0, 'yyyy-mm-dd hh:mm:ss'.length)} UTC`;
  const how =
    mode !== 'append'
      ? 'in a new file'
      : begun === true
        ? 'in a new file: it was not there, or empty'
        : 'added to the file';
  return {
    id: 'export',
    title: 'What was written',
    blocks: [
      {
        kind: 'terms',
        terms: [
          ['File', { as: 'code', words: foreign(location, 300) }],
          ['Read', `${counted(items, thing)}, at ${at}`],
          ['Written', `${counted(lines, 'line')}, ${how}`],
          ['Format', `${format}, ${formatBytes(bytes)} in all`],
          ['Requests', grouped(totals.requests)],
        ],
      },
    ],
  };
}

const LISTS_SHOWN = 100;
const PLOTS_SHOWN = 6;

/** Each list now and its change since the reading before; null without a history. */
export function listsSection({ history = null }: RunFacts): Section | null {
  const present = history === null ? [] : listTrends(history).lists.filter(({ gone }) => !gone);
  if (present.length === 0) return null;
  // A plot each, since lists differ too much in size for one scale.
  const plotted = present.filter(({ points }) => points.length > 1).slice(0, PLOTS_SHOWN);
  const plots = plotted.map((list) => subscribersPlot(list, `Subscribers of ${shownListName(list.latest)}`));
  return {
    id: 'lists',
    title: 'The lists now',
    only: 'page',
    blocks: [latestFigures(present), ...plotsBlock(plots)],
  };
}

/** The latest figures of each list and their changes; with `now` also its id, and when it was read. */
export function latestFigures(lists: readonly ListTrend[], now?: number): Table {
  const detailed = now !== undefined;
  return {
    kind: 'table',
    caption: 'Each list now, and how it has changed since the reading before',
    captionHidden: true,
    columns: [
      { header: 'List' },
      ...MEASURES.flatMap(({ name }) => [
        { header: sentence(name), numeric: true },
        { header: 'Change', numeric: true, bare: detailed },
      ]),
      ...(detailed ? [{ header: 'Read', short: true }] : []),
    ],
    rows: lists.map((list) => ({
      cells: [
        [foreign(shownListName(list.latest)), detailed && idAndState(list)],
        ...figuresOf(list),
        ...(detailed ? [formatAgo(now - list.latest.readAt)] : []),
      ],
    })),
    ...(detailed ? {} : { shown: { page: LISTS_SHOWN, text: LISTS_SHOWN } }),
    more: (left) => `and ${counted(left, 'more list')}`,
  };
}

/** One list over all its readings, on a page; null while there are too few to draw. */
export function listSection({ id, ...list }: ListTrend, now: number): Section | null {
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
    blocks: [
      ...(formerNames.length > 0
        ? [paragraph([['Formerly ', foreign(listed(formerNames))]], { role: 'hint' })]
        : []),
      ...(gone ? [paragraph([left], { role: 'explanation' })] : []),
      ...plotsBlock([
        subscribersPlot(list, `Subscribers${over}`),
        ...(hasRates ? [{ title: 'Open and click rate, %', series: rates }] : []),
      ]),
    ],
  };
}

function figuresOf({ before, latest }: ListTrend): Words[] {
  return MEASURES.flatMap((measure): Words[] => [
    shownFigure(measure, latest),
    {
      as: `tone-${changeTone(measure, before, latest)}`,
      words: changeOf(measure, before, latest) || '–',
    },
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
  return { as: 'tone-quiet', words };
}

type Trend = Extract<Plot['of'], { readonly figure: 'trends' }>['trends'][number];

function plotsBlock(trends: readonly Trend[]): Block[] {
  return trends.length === 0 ? [] : [{ kind: 'plot', of: { figure: 'trends', trends } }];
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
