import type { HistoryPoint } from '../../model/subscriber-list.ts';
import type { Plot, Section, Words } from '../document.ts';
import { changeOf, changeTone, MEASURES, shownFigure, shownListName } from '../list-measures.ts';
import type { RunFacts } from '../run-facts.ts';
import { counted, sentence } from '../wording/words.ts';

const LISTS_SHOWN = 100;
const PLOTS_SHOWN = 6;

/** Each list as it is now and as it has changed since the reading before; null without a history. */
export function listsSection({ history = null }: RunFacts): Section | null {
  const points = (history?.points ?? []).toSorted((a, b) => a.readAt - b.readAt);
  const last = points.at(-1)?.readAt;
  if (last === undefined) return null;
  const present = [...Map.groupBy(points, ({ id }) => id).values()].filter(
    (list) => list.at(-1)?.readAt === last,
  );
  const plot = subscriberPlots(present);
  return {
    id: 'lists',
    title: 'The lists now',
    only: 'page',
    blocks: [
      {
        kind: 'table',
        caption: 'Each list now, and how it has changed since the reading before',
        captionHidden: true,
        columns: [
          { header: 'List' },
          ...MEASURES.flatMap(({ name }) => [
            { header: sentence(name), numeric: true },
            { header: 'Change', numeric: true },
          ]),
        ],
        rows: present.map((list) => ({
          cells: [{ as: 'foreign' as const, words: nameOf(list) }, ...cellsOf(list)],
        })),
        shown: { page: LISTS_SHOWN, text: LISTS_SHOWN },
        more: (left) => `and ${counted(left, 'more list')}`,
      },
      ...(plot === null ? [] : [plot]),
    ],
  };
}

/** A plot for each of the largest lists, since lists differ too much in size for one scale. */
function subscriberPlots(present: readonly (readonly HistoryPoint[])[]): Plot | null {
  const largest = present
    .filter((list) => list.length > 1)
    .toSorted((a, b) => (b.at(-1)?.subscribers ?? 0) - (a.at(-1)?.subscribers ?? 0))
    .slice(0, PLOTS_SHOWN);
  if (largest.length === 0) return null;
  const trends = largest.map((list) => ({
    title: `Subscribers of ${nameOf(list)}`,
    name: nameOf(list),
    points: list.flatMap(({ readAt, subscribers }) =>
      subscribers === null ? [] : [{ at: readAt, value: subscribers }],
    ),
  }));
  return { kind: 'plot', of: { figure: 'trends', trends } };
}

function nameOf(list: readonly HistoryPoint[]): string {
  const latest = list.at(-1);
  return latest === undefined ? '' : shownListName(latest);
}

function cellsOf(list: readonly HistoryPoint[]): Words[] {
  const [latest, before] = [list.at(-1), list.at(-2)];
  if (latest === undefined) return [];
  return MEASURES.flatMap((measure): Words[] => [
    shownFigure(measure, latest),
    {
      as: `tone-${changeTone(measure, before, latest)}`,
      words: changeOf(measure, before, latest) || '–',
    },
  ]);
}
