import { isPriceMove, type Move } from '../../../model/move.ts';
import { formatChange } from '../../wording/changes.ts';
import { formatNumber, moveFieldWords } from '../../wording/move-words.ts';
import { dataTable } from '../data-table.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { foreign } from '../text.ts';
import { moveBar } from './move-bar.ts';

const LONGEST_NAME = 80;

/** The prices and quantities that move most for their size; null where none does. */
export function movesSection({ plan }: ReportFacts): Markup | null {
  if (plan === null) return null;
  const { prices, stocks } = plan.moves;
  if (prices.length + stocks.length === 0) return null;
  return html`${prices.length > 0 && section('prices', 'Largest price changes', movesTable(prices, true))}${
    stocks.length > 0 && section('stock', 'Largest stock changes', movesTable(stocks, false))
  }`;
}

function movesTable(moves: readonly Move[], arePrices: boolean): Markup {
  const withVariants = moves.some(({ what }) => what !== null);
  return dataTable({
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
      const unusual = arePrices && isPriceMove(move);
      return [
        foreign(move.key, LONGEST_NAME),
        ...(withVariants ? [move.what === null ? '' : foreign(move.what, LONGEST_NAME)] : []),
        moveFieldWords(move),
        formatNumber(move, move.old),
        html`<strong>${formatNumber(move, move.new)}</strong>`,
        changeMark(move, unusual),
        moveBar(move, unusual),
      ];
    }),
  });
}

function changeMark({ old, new: now }: Move, unusual: boolean): Markup {
  const change = formatChange(old, now);
  return unusual
    ? html`<strong class="unusual"><span class="sign" aria-hidden="true">!</span> ${change}<span class="unseen">, unusual</span></strong>`
    : html`${change}`;
}
