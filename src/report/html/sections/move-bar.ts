import type { Move } from '../../../model/move.ts';
import { html, type Markup } from '../markup.ts';

/** A thousandfold fills one half; the scale is logarithmic, so that a tenth is as far as ten times. */
const FARTHEST = 3;

/** How far a number moves, to the left for less and to the right for more; the figures beside it say the same. */
export function moveBar({ old, new: now }: Pick<Move, 'old' | 'new'>, unusual: boolean): Markup {
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
