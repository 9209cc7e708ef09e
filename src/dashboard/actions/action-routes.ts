import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Job } from '../../config/job/job.ts';
import { type Run, SENDING_KINDS } from '../../model/run.ts';
import { columns, foreign, html, type Markup } from '../../report/html/markup.ts';
import { discardRun } from '../../run/execute-run.ts';
import { changeText, type HeldRunRecord, heldRunRecords } from '../../run/records/run-records.ts';
import {
  askToInterrupt,
  laterRun,
  readStoredReport,
  withLiveStatus,
} from '../../run/report/read-stored-report.ts';
import { counted, grouped } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { audit } from '../audit.ts';
import type { Action, DashboardContext } from '../dashboard-context.ts';
import { notFound, PageError } from '../guard/page-error.ts';
import { activityOf } from '../pages/activity.ts';
import { historyHref } from '../pages/history-page.ts';
import { jobHref } from '../pages/job-card.ts';
import { readingOf } from '../pages/moment.ts';
import { type Page, type Pages, pageOf, pager, tableBox } from '../pages/page.ts';
import {
  FOR_ACTORS,
  type FormFields,
  formFields,
  keptRun,
  type OfJob,
  type OfRun,
  type RouteParts,
  rememberedRun,
  workspaceOf,
} from '../route-parts.ts';
import {
  at,
  type Beginning,
  confirmApprove,
  confirmDiscard,
  confirmPlan,
  confirmRun,
  confirmUndo,
  KEYS_FIELD,
} from './confirm-run.ts';
import {
  type Confirmation,
  confirmationForm,
  confirmationPage,
  confirmInterrupt,
  onceOf,
  runningPage,
} from './confirmation.ts';
import { beginAction, showResult } from './show-result.ts';

/** A form of chosen keys stays below the limit of forms. */
const RECORDS_PER_PAGE = 100;
const VALUE_SHOWN = 200;
/** Fields of the form: each chosen record, and what the buttons say. */
const CHOSEN = 'record.';
const WHICH = 'which';

/** The held records of a run with their old and new values, of which all or some can be released. PageError if it holds none. */
async function releasePage(
  { context }: Pick<DashboardContext, 'context'>,
  run: Run,
  { key, page: number }: FormFields,
  viewer: Viewer,
): Promise<Page> {
  const { id, job, store, baseUrl } = run;
  const held: HeldRunRecord[] = [];
  for await (const batch of heldRunRecords(context, run)) held.push(...batch);
  const isOne = key !== undefined;
  const wanted = isOne ? held.filter((record) => record.key === key) : held;
  const open = wanted.filter(isOpen);
  const shown = pageOf(wanted, RECORDS_PER_PAGE, number);
  const all = held.filter(isOpen).length;
  const button = (which: string, label: string, weight: string) =>
    html`<button type="submit" name="${WHICH}" value="${which}" class="button ${weight}">${label}</button>`;
  const buttons = html`${open.length > 0 && button('chosen', isOne ? 'Release this record' : 'Release the chosen records', 'primary')} ${!isOne && all > 0 && button('all', `Release all ${grouped(all)}`, 'danger')}`;
  return {
    title: `Release held records of run ${id}`,
    section: 'runs',
    body: html`<p class="page-lead">Guards of <a href="${jobHref(job)}">${job}</a> held ${counted(held.length, 'record')} of <a href="/runs/${id}">run ${id}</a>: nothing of them was sent. Compare the values, and release what is right.</p>
<ul class="does">
<li>Sends exactly the held bodies to the store ${at({ name: store, baseUrl })}: <b>${counted(all, 'record')}</b> can be sent. The source is not read again.</li>
<li>A record is left out if it has changed since, or a newer run does not hold the same values.</li>
<li>It is a run of its own, and can be undone.</li>
</ul>
${isOne && html`<p><a href="/runs/${id}/release">All records that the run holds</a></p>`}
${confirmationForm({ action: `/runs/${id}/release`, controls: heldTable(shown, run, isOne), buttons, back: `/runs/${id}` }, viewer)}
${pager(shown, (at) => `/runs/${id}/release?page=${at}`)}
${shown.count > 1 && html`<p class="quiet">The chosen records are those of this page.</p>`}`,
  };
}

function isOpen({ isSent, refusal }: HeldRunRecord): boolean {
  return !isSent && refusal === null;
}

function heldTable({ items }: Pages<HeldRunRecord>, run: Run, isOne: boolean): Markup {
  return tableBox({
    caption: 'Held records',
    captionHidden: true,
    columns: columns('Record', ['Values: old → new', 'bare'], ['From', 'short'], 'Now'),
    rows: items.map((record, index) => {
      const { key, changes, place } = record;
      const id = `${CHOSEN}${index}`;
      // The ledger does not know a new record.
      const name = record.created
        ? foreign(key)
        : html`<a href="${historyHref({ store: run.store, target: run, key })}">${foreign(key)}</a>`;
      return [
        isOpen(record)
          ? html`<span class="choice"><input type="checkbox" id="${id}" name="${id}" value="${key}" aria-label="Release ${key}"${isOne && html` checked`}> ${name}</span>`
          : name,
        html`<ul>${changes.map((change) => html`<li>${foreign(changeText(change), VALUE_SHOWN)}</li>`)}</ul>`,
        place === null ? '' : html`<code>${foreign(place)}</code>`,
        record.isSent ? 'sent since' : record.refusal === null ? 'held' : foreign(record.refusal.message),
      ];
    }),
  });
}

/** The keys that a form has chosen; undefined for all records. PageError if none is chosen. */
function chosenRecords(fields: FormFields): readonly string[] | undefined {
  if (fields[WHICH] === 'all') return undefined;
  const keys = Object.entries(fields).flatMap(([name, key]) =>
    name.startsWith(CHOSEN) && key !== undefined ? [key] : [],
  );
  if (keys.length > 0) return keys;
  throw new PageError(400, 'No record chosen', 'Go back and tick the records to release.');
}

/** The actions: each GET shows what would be done; its POST does it and redirects to the run. */
export function actionRoutes(app: FastifyInstance, { dashboard, log }: RouteParts): void {
  const { context, actions } = dashboard;
  const ask = (request: FastifyRequest, reply: FastifyReply, confirmation: Confirmation) =>
    reply.sendPage(confirmationPage(confirmation, request.viewer));
  const begin = async (request: FastifyRequest, reply: FastifyReply, action: Action) => {
    const once = onceOf(formFields(request.body));
    const known = await actions.look(once);
    const running = known === undefined ? (await activityOn(action.job))?.run : undefined;
    if (running == null) return await beginAction(dashboard, request, reply, { action, once });
    return reply.redirect(`/runs/${running.id}`, 303);
  };
  const runsOf = async (job: string) =>
    await Promise.all((await context.state.runs.list({ job })).map((run) => withLiveStatus(context, run)));
  const activityOn = async (job: string) => activityOf(await runsOf(job), (await actions.atWork()).get(job));
  const runOf = async ({ params }: FastifyRequest<OfRun>) =>
    await withLiveStatus(context, await keptRun(dashboard, params.run));
  /** A run of another job that writes to the same store and resource; a run of this job waits for it. */
  const writerTo = async (job: Job): Promise<Run | undefined> => {
    if (job.kind !== 'import') return undefined;
    const listed = await context.state.runs.list({ statuses: ['running'], kinds: SENDING_KINDS });
    const writers = listed.filter(
      (run) => run.store === job.store && run.resource === job.import && run.job !== job.name,
    );
    const standing = await Promise.all(writers.map((run) => withLiveStatus(context, run)));
    return standing.find(({ status }) => status === 'running');
  };
  const jobOf = ({ params }: FastifyRequest<OfJob>) => {
    const workspace = workspaceOf(dashboard, params.job);
    return { workspace, job: workspace.job(params.job) };
  };
  const beginningOf = async (request: FastifyRequest<OfJob>): Promise<Beginning> => {
    const { workspace, job } = jobOf(request);
    return {
      job,
      store: workspace.store(job.store),
      runs: await runsOf(job.name),
      waitsFor: await writerTo(job),
      byWorkers: await actions.hasWorkers(),
      reading: readingOf(context),
    };
  };

  const confirmUnlessRunning = async (
    request: FastifyRequest<OfJob>,
    reply: FastifyReply,
    confirm: (beginning: Beginning) => Confirmation,
  ) => {
    const beginning = await beginningOf(request);
    const { name } = beginning.job;
    const activity = activityOf(beginning.runs, (await actions.atWork()).get(name));
    if (activity === null) return ask(request, reply, confirm(beginning));
    const document = runningPage(name, activity, beginning.reading);
    return reply.sendPage(document);
  };

  for (const [command, confirm] of [
    ['run', confirmRun],
    ['plan', confirmPlan],
  ] as const) {
    app.get<OfJob>(`/jobs/:job/${command}`, FOR_ACTORS, async (request, reply) =>
      confirmUnlessRunning(request, reply, confirm),
    );
    app.post<OfJob>(`/jobs/:job/${command}`, async (request, reply) => {
      const { job } = jobOf(request);
      return await begin(request, reply, { command, job: job.name });
    });
  }

  app.get<OfRun>('/runs/:run/approve', FOR_ACTORS, async (request, reply) => {
    const run = await runOf(request);
    const later = await laterRun(context, run);
    const report = await readStoredReport(context, run);
    return ask(request, reply, confirmApprove(report, later, readingOf(context)));
  });
  app.post<OfRun>('/runs/:run/approve', async (request, reply) => {
    const { id, job } = await runOf(request);
    return await begin(request, reply, { command: 'approve', job, run: id });
  });

  app.get<OfRun>('/runs/:run/discard', FOR_ACTORS, async (request, reply) =>
    ask(request, reply, confirmDiscard(await runOf(request), readingOf(context))),
  );
  app.post<OfRun>('/runs/:run/discard', async (request, reply) => {
    const run = await runOf(request);
    const { id, job } = run;
    // Sent twice, it has its effect once.
    if (run.discarded === undefined) {
      await discardRun(context, run);
      log.info({ job, run: id }, 'discarded a plan');
      await audit(dashboard, request, { action: 'discard', job, run: id });
    }
    return reply.redirect(`/runs/${id}`, 303);
  });

  app.get<OfRun>('/runs/:run/undo', FOR_ACTORS, async (request, reply) => {
    const { run: id } = request.params;
    const { job } = await rememberedRun(dashboard, id);
    return ask(request, reply, confirmUndo({ id, job }, formFields(request.query)['key'] ?? ''));
  });
  app.post<OfRun>('/runs/:run/undo', async (request, reply) => {
    const { run } = request.params;
    const { job } = await rememberedRun(dashboard, run);
    const keys = keysOf(formFields(request.body)[KEYS_FIELD] ?? '');
    const only = keys.length === 0 ? undefined : keys;
    return await begin(request, reply, { command: 'undo', job, run, only });
  });

  app.get<OfRun>('/runs/:run/release', FOR_ACTORS, async (request, reply) => {
    const run = await runOf(request);
    const query = formFields(request.query);
    const document = await releasePage(dashboard, run, query, request.viewer);
    return reply.sendPage(document);
  });
  app.post<OfRun>('/runs/:run/release', async (request, reply) => {
    const { id, job } = await runOf(request);
    const only = chosenRecords(formFields(request.body));
    return await begin(request, reply, { command: 'release', job, run: id, only });
  });

  app.get<OfRun>('/runs/:run/interrupt', FOR_ACTORS, async (request, reply) =>
    ask(request, reply, confirmInterrupt(await runOf(request), readingOf(context))),
  );
  app.post<OfRun>('/runs/:run/interrupt', async (request, reply) => {
    const { id, job, status } = await runOf(request);
    if (status === 'running') {
      await askToInterrupt(context, id);
      log.info({ job, run: id }, 'asked to interrupt');
      await audit(dashboard, request, { action: 'cancel', job, run: id });
    }
    return reply.redirect(`/runs/${id}`, 303);
  });

  app.get<{ Params: { once: string } }>('/starting/:once', async (request, reply) => {
    const { once } = request.params;
    const known = await actions.look(once);
    if (known === undefined)
      throw notFound('The dashboard no longer has the result of this action. See the latest runs.');
    return showResult(reply, { ...known, once }, dashboard);
  });
}

/** The keys of a text, one per line. PageError for one that a command cannot take. */
function keysOf(text: string): readonly string[] {
  const keys = text.split(/\r?\n/).map((line) => line.trim());
  const intricate = keys.find((key) => key.includes(','));
  if (intricate === undefined) return [...new Set(keys.filter((key) => key !== ''))];
  throw new PageError(
    400,
    'One key per line',
    `'${intricate}' has a comma. Give each key its own line; a key that has a comma can only be undone with the whole run.`,
  );
}
