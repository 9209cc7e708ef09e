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
    throw new PageError(
      409,
      'It has ended',
      `The run ${id} is ${run.status}: there is nothing to interrupt.`,
    );
  }
  const sends = kind === 'run' || kind === 'retry';
  return {
    title: `Interrupt run ${id}?`,
    lead: html`The run of <a href="${jobHref(job)}">${job}</a> began ${relative(startedAt, reading)}${
      progress != null &&
      progress.step === 'apply' &&
      html`, and has applied ${counted(progress.applied, 'record')} so far${progress.total !== null && `, at ${grouped(progress.done)} of ${counted(progress.total, 'request')}`}`
    }.`,
    does: [
      'Sends nothing new within about a second, lets the requests under way end, and writes down what the store has taken.',
      sends
        ? 'The next run of the job goes on where it stopped, if source and mapping are the same by then: nothing is sent twice.'
        : 'What it has read so far is of no use to the next one: that begins again.',
    ],
    label: 'Interrupt it',
    weight: 'danger',
    action: `/runs/${id}/interrupt`,
    back: `/runs/${id}`,
  };
}
