import type { HistoryPoint } from '../../../model/list-history.ts';
import { changeOf, changeTone, MEASURES, shownFigure, shownListName } from '../../list-measures.ts';
import { plotFigure } from '../../plots/plot-figure.ts';
import { trendPlot } from '../../plots/trend-plot.ts';
import { counted } from '../../wording/words.ts';
import { dataTable } from '../data-table.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';

const LISTS_SHOWN = 100;
const PLOTS_SHOWN = 6;

/** Each list as it is now and as it has changed since the reading before; null without a history. */
export async function listsSection({ history = null }: ReportFacts): Promise<Markup | null> {
  const points = (history?.points ?? []).toSorted((a, b) => a.readAt - b.readAt);
  const last = points.at(-1)?.readAt;
  if (last === undefined) return null;
  const lists = [...Map.groupBy(points, ({ id }) => id).values()].filter(
    (list) => list.at(-1)?.readAt === last,
  );
  const left = lists.length - LISTS_SHOWN;
  const table = dataTable({
    caption: 'Each list now, and how it has changed since the reading before',
    captionHidden: true,
    columns: [
      { header: 'List' },
      ...MEASURES.flatMap(({ name }) => [
        { header: name.charAt(0).toUpperCase() + name.slice(1), numeric: true },
        { header: 'Change', numeric: true },
      ]),
    ],
    rows: lists.slice(0, LISTS_SHOWN).map((list) => [html`<bdi>${nameOf(list)}</bdi>`, ...cellsOf(list)]),
  });
  return section(
    'lists',
    'The lists now',
    html`${table}${left > 0 && html`<p class="more">And ${counted(left, 'more list')}.</p>`}${await subscriberPlots(lists)}`,
  );
}

/** A plot for each of the largest lists, since lists differ too much in size for one scale. */
async function subscriberPlots(lists: readonly (readonly HistoryPoint[])[]): Promise<Markup | null> {
  const largest = lists
    .filter((list) => list.length > 1)
    .toSorted((a, b) => (b.at(-1)?.subscribers ?? 0) - (a.at(-1)?.subscribers ?? 0))
    .slice(0, PLOTS_SHOWN);
  if (largest.length === 0) return null;
  const plots = await Promise.all(
    largest.map(async (list) => {
      const points = list.flatMap(({ readAt, subscribers }) =>
        subscribers === null ? [] : [{ at: readAt, value: subscribers }],
      );
      return plotFigure(`Subscribers of ${nameOf(list)}`, await trendPlot([{ name: nameOf(list), points }]));
    }),
  );
  return html`<div class="plots">${plots}</div>`;
}

function nameOf(list: readonly HistoryPoint[]): string {
  const latest = list.at(-1);
  return latest === undefined ? '' : shownListName(latest);
}

function cellsOf(list: readonly HistoryPoint[]): (Markup | string)[] {
  const [latest, before] = [list.at(-1), list.at(-2)];
  if (latest === undefined) return [];
  return MEASURES.flatMap((measure) => [
    shownFigure(measure, latest),
    html`<span class="tone-${changeTone(measure, before, latest)}">${changeOf(measure, before, latest) || '–'}</span>`,
  ]);
}
