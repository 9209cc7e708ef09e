import type { HistoryPoint, ListHistory } from '../../model/subscriber-list.ts';
import { shownListName } from '../../report/list-measures.ts';

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
