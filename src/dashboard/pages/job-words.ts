import type { ExportJob, Job } from '../../config/job/job.ts';
import type { FilePlace } from '../../model/remote-address.ts';
import { html, type Markup } from '../../report/html/markup.ts';

/** What a job moves, from where and to where. */
export function whatItMoves(job: Job): Markup {
  if (job.kind === 'export') {
    const how = job.destination.mode === 'append' ? 'adds to' : 'writes';
    return html`Reads the ${exportedThing(job)} of the store <b>${job.store}</b> and ${how} ${placeWords(job.destination)}`;
  }
  const how = job.mode === 'mirror' ? 'Mirrors' : 'Imports';
  return html`${how} ${job.import} from ${placeWords(job.source)} into the store <b>${job.store}</b>`;
}

/** Where a file is, as the job names it; never with a secret. */
export function placeWords({ path, remote }: FilePlace): Markup {
  return html`<code>${remote === undefined ? path : remote.location}</code>`;
}

/** Whether a job collects list statistics over time. */
export function keepsHistory(job: Job | undefined): job is ExportJob {
  return job?.kind === 'export' && job.export === 'subscriber-lists' && job.destination.mode === 'append';
}

function exportedThing({ export: what }: ExportJob): string {
  return what === 'orders' ? 'orders' : 'subscriber lists';
}
