import { html, type Markup } from '../../report/html/markup.ts';
import type { ClockKeeper } from '../../report/jobs-text.ts';

/** Who runs jobs by the clock, if anybody does. */
export function clockNote(keeper: ClockKeeper, program: string): Markup {
  switch (keeper) {
    case 'worker':
      return html`<p class="notice good">A worker runs the jobs by the clock.</p>`;
    case 'no-worker':
      return html`<p class="notice warning">Nothing runs by the clock at the moment: start a worker with <code>${program} worker</code></p>`;
    case 'no-redis':
      return html`<p class="notice warning">Nothing runs by the clock yet: workers keep schedules, and need Redis. Set <code>REDIS_URL</code>, then start <code>${program} worker</code></p>`;
    default:
      return keeper satisfies never;
  }
}
