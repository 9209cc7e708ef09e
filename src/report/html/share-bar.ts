import type { OutcomeFigures } from '../outcomes.ts';
import { formatShare } from '../wording/shares.ts';
import { grouped } from '../wording/words.ts';
import { html, type Markup } from './markup.ts';

/** A share that is hardly there is drawn this wide all the same, in percent of the bar. */
const NARROWEST = 2;
/** From here on there is room for a percentage within. */
const ROOM_FOR_TEXT = 9;

/** Shares of a whole as one bar, in proportion; shares of nothing are left out. */
export function shareBar(shares: readonly OutcomeFigures[], title: string): Markup {
  const present = shares.filter(({ records }) => records > 0);
  const whole = present.reduce((sum, { records }) => sum + records, 0);
  const text = present.map(
    ({ label, records }) => `${grouped(records)} ${label} (${formatShare(records, whole)})`,
  );
  let x = 0;
  const parts = widths(present.map(({ records }) => records)).map((width, index) => {
    const share = present[index];
    const from = x;
    x += width;
    if (share === undefined) return null;
    const name = html`<title>${text[index]}</title>`;
    const label =
      width >= ROOM_FOR_TEXT &&
      html`<text class="on-${share.kind}" x="${percent(from + width / 2)}" y="50%" dy="0.35em">${formatShare(share.records, whole)}</text>`;
    return html`<g>${name}<rect class="share-${share.kind}" x="${percent(from)}" y="0" width="${percent(width)}" height="100%"/>${label}</g>`;
  });
  return html`<svg class="share-bar" role="img" aria-label="${title}: ${text.join(', ')}" width="100%" height="44">
${parts}
</svg>
`;
}

/** Of each figure its share of 100, none of them narrower than can be seen; what that takes, the others give. */
export function widths(figures: readonly number[]): number[] {
  const whole = figures.reduce((sum, figure) => sum + figure, 0);
  const isNarrow = (figure: number) => (figure / whole) * 100 < NARROWEST;
  const wide = figures.filter((figure) => !isNarrow(figure)).reduce((sum, figure) => sum + figure, 0);
  const room = 100 - NARROWEST * figures.filter(isNarrow).length;
  return figures.map((figure) => (isNarrow(figure) ? NARROWEST : (figure / wide) * room));
}

function percent(width: number): string {
  return `${Number(width.toFixed(3))}%`;
}
