import { html, type Markup } from '../../report/html/markup.ts';
import type { ClockKeeper } from '../../report/jobs-text.ts';

/** Whether schedules are active, and what to do where they are not. */
export function clockNote(keeper: ClockKeeper, program: string): Markup {
  switch (keeper) {
    case 'worker':
      return html`<p class="quiet">Schedules are active: a worker is running.</p>`;
    case 'no-worker':
      return html`<p class="notice warning">Schedules are inactive: no worker is running. Start one: <code>${program} worker</code></p>`;
    // Who runs jobs from cron has no Redis and needs none: nothing to act on.
    case 'no-redis':
      return html`<p class="notice">Schedules are inactive: they need Redis and a worker. Set <code>REDIS_URL</code>, then start <code>${program} worker</code>. Without Redis, start <code>${program} run JOB</code> from cron.</p>`;
    default:
      return keeper satisfies never;
  }
}
