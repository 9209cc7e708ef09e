import { lastedMs, type Run } from '../model/run.ts';
import { documentText } from './document-text.ts';
import { runDocument } from './run-document.ts';
import type { RunFacts, View } from './run-facts.ts';
import { requestsWaitText } from './warning-lines.ts';
import { formatAgo, formatDuration } from './wording/durations.ts';
import { Page, type PageOptions } from './wording/page.ts';
import { statusTone } from './wording/status-words.ts';
import { totalsWords } from './wording/totals-words.ts';

/** Where a text about runs is shown, and when (milliseconds since the epoch). */
export type RunsTextOptions = PageOptions & { readonly now: number };

/** Runs, one a line, in the order given: id, job, status, when, how long, and what became of the records. */
export function runsText(runs: readonly Run[], options: RunsTextOptions): string {
  const page = new Page(options);
  if (runs.length === 0) {
    page.say(`No runs yet. Start one: ${options.program ?? 'storeferry'} run JOB`);
    return page.toString();
  }
  page.table(
    ['run', 'job', 'status', 'begun', 'lasted', 'records'],
    runs.map((run) => ({
      cells: [
        run.id,
        run.kind === 'run' ? run.job : `${run.job} (${run.kind})`,
        run.status,
        formatAgo(options.now - run.startedAt),
        formatDuration(lastedMs(run, options.now)),
        totalsWords(run),
      ],
      tone: statusTone(run.status),
    })),
  );
  return page.toString();
}

/** One run: when and where, then its document. */
export function runText(facts: RunFacts, view: View, options: PageOptions): string {
  const { run } = facts;
  const page = new Page(options);
  const how = run.retryOf === null ? run.kind : `retry of ${run.retryOf}`;
  page.say(`Run ${run.id} of ${run.job} (${how}) on the store ${run.store}, ${run.baseUrl}`, {
    tone: 'strong',
  });
  page.say(`started ${formatAgo(view.now - run.startedAt)}, ${new Date(run.startedAt).toISOString()}`, {
    indent: 2,
  });
  if (run.status === 'running') page.say(`at the step ${run.step}`, { indent: 2 });
  const waitsMs = run.status === 'running' && run.waiting != null ? run.waiting.until - view.now : 0;
  if (run.waiting != null && waitsMs > 0) {
    page.say(requestsWaitText(run.waiting.operations, waitsMs), { indent: 2 });
  }
  return `${page}\n${documentText(runDocument(facts, view), options)}`;
}
