import { isPriceMove, type Move } from '../../model/move.ts';
import { foreign, type Section, type Words } from '../document.ts';
import type { RunFacts } from '../run-facts.ts';
import { formatChange, formatNumber, moveFieldWords } from '../wording/changes.ts';

const LONGEST_NAME = 80;

/** The prices that change most for their size; null where none does. */
export function pricesSection({ plan }: RunFacts): Section | null {
  return movesSection('prices', 'Largest price changes', plan?.moves.prices ?? [], isPriceMove);
}

/** The quantities that change most for their size; null where none does. */
export function stockSection({ plan }: RunFacts): Section | null {
  return movesSection('stock', 'Largest stock changes', plan?.moves.stocks ?? [], () => false);
}

function movesSection(
  id: string,
  title: string,
  moves: readonly Move[],
  isUnusual: (move: Move) => boolean,
): Section | null {
  if (moves.length === 0) return null;
  const withVariants = moves.some(({ what }) => what !== null);
  return {
    id,
    title,
    only: 'page',
    blocks: [
      {
        kind: 'table',
        caption: 'The largest change for its size comes first; at most twenty are shown.',
        columns: [
          { header: 'Product' },
          ...(withVariants ? [{ header: 'Variant', short: true, bare: true }] : []),
          { header: 'Field', short: true, bare: true },
          { header: 'From', numeric: true },
          { header: 'To', numeric: true },
          { header: 'Change', numeric: true },
          { header: 'Drawn', bare: true },
        ],
        rows: moves.map((move) => {
          const { key, what, old, new: now } = move;
          const unusual = isUnusual(move);
          const change = formatChange(old, now);
          const cells: Words[] = [
            foreign(key, LONGEST_NAME),
            ...(withVariants ? [what === null ? '' : foreign(what, LONGEST_NAME)] : []),
            moveFieldWords(move),
            formatNumber(move, old),
            { as: 'strong', words: formatNumber(move, now) },
            unusual ? { as: 'unusual', words: change } : change,
            { as: 'drawing', drawing: { of: 'change', old, new: now, unusual } },
          ];
          return { cells };
        }),
      },
    ],
  };
}
