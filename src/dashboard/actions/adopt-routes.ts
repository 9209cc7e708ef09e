import type { FastifyInstance } from 'fastify';
import type { ImportJob } from '../../config/job/job.ts';
import { foreign, html } from '../../report/html/markup.ts';
import {
  type AdoptedRow,
  adoptedFile,
  decidePairs,
  openPairs,
  pairName,
  readDecisions,
} from '../../run/execute-run.ts';
import { counted } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { notFoundError } from '../guard/page-error.ts';
import { accessTo, actionHref, actionRoute, jobLink } from '../pages/link-button.ts';
import { emptyBox, type Page, type Pages, pageOf, pager, tableBox } from '../pages/page.ts';
import { submitButton } from '../pages/post-form.ts';
import { audit, type RouteParts, workspaceOf } from '../route-parts.ts';
import { chosenRecords, recordChoice } from './action-routes.ts';
import { confirmationForm } from './confirmation.ts';

const PAIRS_PER_PAGE = 100;

/** Decides about records that may be products which the store had before, many at once. */
export function adoptRoutes(app: FastifyInstance, { dashboard }: RouteParts): void {
  const { context } = dashboard;
  const tableOf = (name: string): string => {
    const job = workspaceOf(dashboard, name).job(name);
    if (job.kind !== 'import' || job.adopt === undefined)
      throw notFoundError(`The job ${name} adopts no products of the store.`);
    return adoptedFile({ job, store: { name: job.store } });
  };

  app.get(actionRoute('adopt'), accessTo('adopt'), async (request, reply) => {
    const { subject: job } = request;
    const rows = await readDecisions(context.workspaceDir, tableOf(job));
    return reply.sendPage(pairsPage(job, rows, request.fields['page'], request.viewer));
  });

  app.post(actionRoute('adopt'), async (request, reply) => {
    const { subject: job } = request;
    const file = tableOf(job);
    const fields = request.fields;
    const decision = fields['which'] === 'new' ? 'new' : 'adopt';
    await decidePairs(context, { job, file }, new Set(chosenRecords(fields)), decision);
    await audit(dashboard, request, { action: 'adopt', job });
    return reply.redirect(actionHref('adopt', job), 303);
  });
}

function pairsPage(
  job: ImportJob['name'],
  rows: readonly AdoptedRow[],
  page: string | undefined,
  viewer: Viewer,
): Page {
  const open = openPairs(rows);
  const shown = pageOf(open, PAIRS_PER_PAGE, page);
  const buttons = html`${submitButton('They are the same product', { name: 'which', value: 'adopt' })} ${submitButton('The records are new', { name: 'which', value: 'new', weight: '' })}`;
  return {
    title: `Pairs of ${job} with the store`,
    section: 'jobs',
    lead: html`Records of ${jobLink(job)} that may be products which the store had before: ${counted(open.length, 'pair')} to decide, ${rows.length - open.length} decided. They are held until then.`,
    body: html`${
      open.length === 0
        ? emptyBox('Nothing to decide', html`<p>The next plan of the job uses what was decided.</p>`)
        : confirmationForm({ does: 'adopt', to: job, controls: pairsTable(shown), buttons }, viewer)
    }
${pager(shown, (at) => actionHref('adopt', job, { page: at }))}`,
  };
}

function pairsTable({ items }: Pages<AdoptedRow>) {
  return tableBox({
    caption: 'Pairs to decide',
    captionHidden: true,
    columns: ['In the source', ['In the store', 'bare'], ['Found by', 'short'], ['Score', 'numeric']],
    rows: items.map((row, index) => [
      recordChoice(pairName(row), index, `${row.url} and ${row.storeUrl}`, false, foreign(row.url)),
      foreign(row.storeUrl),
      row.foundBy,
      row.score,
    ]),
  });
}
