import type { Run } from '../../model/run.ts';
import { html } from '../../report/html/markup.ts';
import { counted, grouped } from '../../report/wording/words.ts';
import { PageError } from '../guard/page-error.ts';
import { jobHref } from '../pages/job-card.ts';
import { type Reading, relative } from '../pages/moment.ts';
import type { Confirmation } from './confirmation.ts';

/** What interrupting a run will do. PageError when it is not running. */
export function confirmInterrupt(run: Run, reading: Reading): Confirmation {
  const { id, job, kind, progress, startedAt } = run;
  if (run.status !== 'running') {
    throw new PageError(409, 'Nothing to interrupt', `Run ${id} has ended: it is ${run.status}.`);
  }
  const sends = kind === 'run' || kind === 'retry';
  return {
    title: `Interrupt run ${id}?`,
    lead: html`The run of <a href="${jobHref(job)}">${job}</a> started ${relative(startedAt, reading)}${
      progress != null &&
      progress.step === 'apply' &&
      html`, and has applied ${counted(progress.applied, 'record')} so far${progress.total !== null && `, at ${grouped(progress.done)} of ${counted(progress.total, 'request')}`}`
    }.`,
    does: [
      'Sends nothing new within about a second, lets the requests under way end, and records what the store has acknowledged.',
      sends
        ? 'The next run of the job continues where it stopped, if source and mapping are still the same: nothing is sent twice.'
        : 'The next one starts again: what was read so far is discarded.',
    ],
    label: 'Interrupt the run',
    weight: 'danger',
    action: `/runs/${id}/interrupt`,
    back: `/runs/${id}`,
  };
}
