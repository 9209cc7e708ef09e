import type { HistoryPoint, ListHistory } from '../model/subscriber-list.ts';
import { grouped, printable, shortened } from './printable.ts';

/** One thing that is measured of a subscriber list. */
export interface Measure {
  readonly name: string;
  readonly of: (point: HistoryPoint) => number | null;
  readonly figure: (value: number) => string;
  readonly change: (from: number, to: number) => string;
}

const LONGEST_NAME = 60;

/** What the store says about a list, the most important first. */
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

/** A measure of a list as it is shown; a dash where nothing is known. */
export function shownFigure(measure: Measure, point: HistoryPoint): string {
  const value = measure.of(point);
  return value === null ? '–' : measure.figure(value);
}

/** How far a measure has moved between two readings; empty where that is not known. */
export function changeOf(measure: Measure, from: HistoryPoint | undefined, to: HistoryPoint): string {
  const [before, after] = [from === undefined ? null : measure.of(from), measure.of(to)];
  return before === null || after === null ? '' : measure.change(before, after);
}

/** Whether a measure has risen (good) or fallen (bad); quiet where it has not moved, or is unknown. */
export function changeTone(
  measure: Measure,
  from: HistoryPoint | undefined,
  to: HistoryPoint,
): 'good' | 'bad' | 'quiet' {
  const [before, after] = [from === undefined ? null : measure.of(from), measure.of(to)];
  if (before === null || after === null || before === after) return 'quiet';
  return after > before ? 'good' : 'bad';
}

/** What a list was called at a reading, harmless and not too long. */
export function shownListName({ name }: HistoryPoint): string {
  return name === '' ? 'without a name' : shortened(printable(name), LONGEST_NAME);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

/** How far a rate has moved, in percentage points. */
function points(from: number, to: number): string {
  return `${signed((to - from) * 100, 1)} points`;
}

function signed(figure: number, digits: number): string {
  const rounded = Number(figure.toFixed(digits));
  if (rounded === 0) return '±0';
  const size = digits === 0 ? grouped(Math.abs(rounded)) : Math.abs(rounded).toFixed(digits);
  return `${rounded > 0 ? '+' : '−'}${size}`;
}

/** The readings of one list. */
export interface ListTrend {
  readonly id: string;
  /** Rising in time. */
  readonly points: readonly HistoryPoint[];
  readonly first: HistoryPoint;
  readonly latest: HistoryPoint;
  readonly before: HistoryPoint | undefined;
  readonly formerNames: readonly string[];
  /** Later readings do not have it. */
  readonly gone: boolean;
}

/** The lists of a history, those first that the last reading still had, the largest first; and when they were read. */
export function listTrends({ points }: ListHistory): {
  readonly lists: readonly ListTrend[];
  readonly moments: readonly number[];
} {
  const rising = points.toSorted((a, b) => a.readAt - b.readAt);
  const moments = [...new Set(rising.map(({ readAt }) => readAt))];
  const lists = [...Map.groupBy(rising, ({ id }) => id)].flatMap(([id, own]): ListTrend[] => {
    const [first, latest] = [own[0], own.at(-1)];
    if (first === undefined || latest === undefined) return [];
    const name = shownListName(latest);
    const formerNames = [...new Set(own.map(shownListName))].filter((former) => former !== name);
    return [
      {
        id,
        points: own,
        first,
        latest,
        before: own.at(-2),
        formerNames,
        gone: latest.readAt !== moments.at(-1),
      },
    ];
  });
  const size = ({ latest }: ListTrend) => latest.subscribers ?? -1;
  return {
    lists: lists.toSorted((a, b) => Number(a.gone) - Number(b.gone) || size(b) - size(a)),
    moments,
  };
}
