import { formatShare, grouped } from '../printable.ts';
import type { Drawing, Share } from '../section.ts';
import { html, type Markup } from './markup.ts';

/** Minimum width of a small share, in percent of the bar. */
const NARROWEST = 2;
/** From this width on there is room for a percentage in the bar. */
const ROOM_FOR_TEXT = 9;
/**
 * A factor of 1,000 fills half of the bar. The scale is logarithmic: a tenth is as far from the middle as ten times.
 */
const FARTHEST = 3;

/** Shares of a whole as one bar, in proportion. Empty shares are left out. */
export function shareBar(shares: readonly Share[], title: string): Markup {
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

/** Each figure's share of 100. Small shares are widened to be visible, at the cost of the others. */
export function widths(figures: readonly number[]): number[] {
  const whole = figures.reduce((sum, figure) => sum + figure, 0);
  const isNarrow = (figure: number) => (figure / whole) * 100 < NARROWEST;
  const wide = figures.filter((figure) => !isNarrow(figure)).reduce((sum, figure) => sum + figure, 0);
  const room = 100 - NARROWEST * figures.filter(isNarrow).length;
  return figures.map((figure) => (isNarrow(figure) ? NARROWEST : (figure / wide) * room));
}

/** A drawing beside a number. It is hidden from screen readers, which read the number. */
export function drawingMarkup(drawing: Drawing): Markup {
  switch (drawing.of) {
    case 'outcome':
      return html`<span class="swatch share-${drawing.kind}" aria-hidden="true"></span>`;
    case 'share':
      return html`<svg class="count-bar" aria-hidden="true" width="100%" height="8"><rect class="count-track" x="0" y="0" width="100%" height="8"/><rect class="count-fill" x="0" y="0" width="${percent(Math.max(1, drawing.share * 100))}" height="8"/></svg>`;
    case 'change':
      return changeBar(drawing);
    case 'limit':
      return limitMeter(drawing);
    default:
      return drawing satisfies never;
  }
}

/** The size of a change: a bar to the left for a decrease, to the right for an increase. */
function changeBar({ old, new: now, unusual }: Extract<Drawing, { readonly of: 'change' }>): Markup {
  const reach = reachOf(old, now);
  const width = Math.max(1.5, Math.abs(reach) * 50);
  const x = reach < 0 ? 50 - width : 50;
  return html`<svg class="move-bar" aria-hidden="true" viewBox="0 0 100 12" preserveAspectRatio="none" width="100%" height="12"><rect class="${unusual ? 'move-unusual' : 'move-usual'}" x="${Number(x.toFixed(2))}" y="1" width="${Number(width.toFixed(2))}" height="10"/><rect class="move-middle" x="49.75" y="0" width="0.5" height="12"/></svg>`;
}

function reachOf(old: number, now: number): number {
  if (old === now) return 0;
  if (old <= 0 || now <= 0) return now > old ? 1 : -1;
  return Math.max(-1, Math.min(1, Math.log10(now / old) / FARTHEST));
}

/** The distance of a figure from its limit. */
function limitMeter(meter: Extract<Drawing, { readonly of: 'limit' }>): Markup {
  const { figure, allowed, whole, exceeded } = meter;
  const at = (value: number) => percent((value / whole) * 100);
  return html`<svg class="meter" aria-hidden="true" width="100%" height="16"><rect class="meter-track" x="0" y="5" width="100%" height="6"/><rect class="${exceeded ? 'meter-bad' : 'meter-good'}" x="0" y="5" width="${at(figure)}" height="6"/><rect class="meter-limit" x="${at(Math.min(allowed, whole * 0.996))}" y="0" width="2" height="16"/></svg>`;
}

function percent(width: number): string {
  return `${Number(width.toFixed(3))}%`;
}
