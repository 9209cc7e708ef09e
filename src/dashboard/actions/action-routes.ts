import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ImportJob, Job } from '../../config/job/job.ts';
import { ACTION_NAMES, type ActionName, type JobAction } from '../../model/action.ts';
import type { ConflictSide } from '../../model/observation.ts';
import { type Run, SENDING_KINDS } from '../../model/run.ts';
import { ConfigurationError } from '../../model/storeferry-error.ts';
import {
  bullets,
  code,
  foreign,
  html,
  type Markup,
  type Slot,
  styledText,
} from '../../report/html/markup.ts';
import { changedSincePlan, changedSincePlanText, whyNotApprover } from '../../run/execute-run.ts';
import { openImport } from '../../run/inputs/open-mapping.ts';
import { changeText, type HeldRunRecord, heldRunRecords } from '../../run/records/run-records.ts';
import {
  laterRun,
  listLiveRuns,
  readStoredReport,
  withLiveStatus,
} from '../../run/report/read-stored-report.ts';
import { counted, grouped } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { notFoundError, PageError } from '../guard/page-error.ts';
import { activityOf } from '../pages/activity.ts';
import { historyHref } from '../pages/history-page.ts';
import { accessTo, actionRoute, CONFLICT_BUTTONS, jobLink, runLink } from '../pages/link-button.ts';
import { type Page, type Pages, pageOf, pager, readingOf, tableBox } from '../pages/page.ts';
import { submitButton } from '../pages/post-form.ts';
import { type FormFields, keptRun, type RouteParts, rememberedRun, workspaceOf } from '../route-parts.ts';
import {
  confirmApprove,
  confirmDiscard,
  confirmDrift,
  confirmPlan,
  confirmRun,
  confirmUndo,
  confirmVerify,
  howToCompare,
  KEYS_FIELD,
  type StartFacts,
  storeWords,
} from './confirm-run.ts';
import {
  beginAction,
  type Confirmation,
  confirmationForm,
  confirmationPage,
  confirmInterrupt,
  onceOf,
  runningPage,
  settleOnce,
  showResult,
} from './confirmation.ts';

/** A form of chosen keys stays below the limit of forms. */
const RECORDS_PER_PAGE = 100;
const VALUE_SHOWN = 200;
/** Fields of the form: each chosen record, and what the buttons say. */
const CHOSEN = 'record.';
const WHICH = 'which';
/** The button that keeps what was edited in the store. */
const KEEP: ConflictSide = 'store';

/** The held records of a run with their old and new values, of which all or some can be released. PageError if it holds none. */
async function releasePage(
  { context }: Pick<DashboardContext, 'context'>,
  run: Run,
  { key, conflicts, page: number }: FormFields,
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
  const button = (value: string, label: string, weight: string) =>
    submitButton(label, { name: WHICH, value, weight });
  const isEdited = open.some(({ edited }) => edited);
  const what = isOne ? 'this record' : 'the chosen records';
  const source = isEdited && isOne ? CONFLICT_BUTTONS.source : `Release ${what}`;
  const choices = [
    conflicts !== KEEP && button('chosen', source, 'primary'),
    isEdited &&
      conflicts !== 'source' &&
      button(KEEP, CONFLICT_BUTTONS.store, conflicts === KEEP ? 'primary' : ''),
  ];
  const buttons = html`${open.length > 0 && choices} ${!isOne && all > 0 && button('all', `Release all ${grouped(all)}`, 'danger')}`;
  return {
    title: `Release held records of run ${id}`,
    section: 'runs',
    lead: html`Guards of ${jobLink(job)} held ${counted(held.length, 'record')} of ${runLink(id)}: nothing of them was sent. Compare the values, and release what is right.`,
    body: html`<ul class="does">
<li>Sends exactly the held bodies to the store ${storeWords({ name: store, baseUrl })}: <b>${counted(all, 'record')}</b> can be sent. The source is not read again.</li>
${isEdited && html`<li>Some fields differ from what was sent, in the store and in the source. <b>${CONFLICT_BUTTONS.store}</b> leaves those fields alone, also in later runs until one of both changes, and sends the rest of the record.</li>`}
<li>A record is left out if it has changed since, or a newer run does not hold the same values.</li>
<li>It is a run of its own, and can be undone.</li>
</ul>
${isOne && html`<p><a href="/runs/${id}/release">All records that the run holds</a></p>`}
${confirmationForm({ does: 'release', to: id, controls: heldTable(shown, run, isOne), buttons }, viewer)}
${pager(shown, (at) => `/runs/${id}/release?page=${at}`)}
${shown.count > 1 && styledText('quiet', 'The chosen records are those of this page.')}`,
  };
}

function isOpen({ isSent, refusal }: HeldRunRecord): boolean {
  return !isSent && refusal === null;
}

function heldTable({ items }: Pages<HeldRunRecord>, run: Run, isOne: boolean): Markup {
  return tableBox({
    caption: 'Held records',
    captionHidden: true,
    columns: ['Record', ['Values: old → new', 'bare'], ['From', 'short'], 'Now'],
    rows: items.map((record, index) => {
      const { key, changes, place } = record;
      // The ledger does not know a new record.
      const name = record.created
        ? foreign(key)
        : html`<a href="${historyHref({ store: run.store, target: run, key })}">${foreign(key)}</a>`;
      return [
        isOpen(record) ? recordChoice(key, index, `Release ${key}`, isOne, name) : name,
        html`${bullets(changes.map((change) => foreign(changeText(change), VALUE_SHOWN)))}`,
        place === null ? '' : code(foreign(place)),
        record.isSent ? 'sent since' : record.refusal === null ? 'held' : foreign(record.refusal.message),
      ];
    }),
  });
}

/** A check box that chooses a record of a list. */
export function recordChoice(
  key: string,
  index: number,
  label: string,
  checked = false,
  name: Slot = foreign(key),
): Markup {
  const id = `${CHOSEN}${index}`;
  return html`<span class="choice"><input type="checkbox" id="${id}" name="${id}" value="${key}" aria-label="${label}"${checked && html` checked`}> ${name}</span>`;
}

/** The keys that a form has chosen; undefined for all records. PageError if none is chosen. */
export function chosenRecords(fields: FormFields): readonly string[] | undefined {
  if (fields[WHICH] === 'all') return undefined;
  const keys = Object.entries(fields).flatMap(([name, key]) =>
    name.startsWith(CHOSEN) && key !== undefined ? [key] : [],
  );
  if (keys.length > 0) return keys;
  throw new PageError(400, 'No record chosen', 'Go back and tick the records.');
}

/** What the page of an action shows, and what its form does. `of`: the name of the job or the id of the run. */
interface ActionHandlers {
  readonly ask: (of: string, request: FastifyRequest) => Promise<Page | Confirmation>;
  readonly act: (of: string, request: FastifyRequest) => Promise<JobAction | Run>;
}

/** The actions that are confirmed: each GET shows what would be done; its POST does it and redirects to the run. */
export function actionRoutes(app: FastifyInstance, { dashboard }: RouteParts): void {
  const { context, actions } = dashboard;
  const begin = async (request: FastifyRequest, reply: FastifyReply, action: JobAction) => {
    const once = onceOf(request.fields);
    const known = await actions.find(once);
    const running = known === undefined ? (await activityOn(action.job))?.run : undefined;
    if (running == null) return await beginAction(dashboard, request, reply, { action, once });
    return reply.redirect(`/runs/${running.id}`, 303);
  };
  const activityOn = async (job: string) =>
    activityOf(await listLiveRuns(context, { job }), (await actions.atWork()).get(job));
  const runOf = async (id: string) => await withLiveStatus(context, await keptRun(dashboard, id));
  /** A run of another job that writes to the same store and resource; a run of this job waits for it. */
  const writerTo = async (job: Job): Promise<Run | undefined> => {
    if (job.kind !== 'import') return undefined;
    const listed = await listLiveRuns(context, { statuses: ['running'], kinds: SENDING_KINDS });
    return listed.find(
      ({ status, ...run }) =>
        status === 'running' &&
        run.store === job.store &&
        run.resource === job.import &&
        run.job !== job.name,
    );
  };
  const importOf = (name: string): ImportJob => {
    const job = workspaceOf(dashboard, name).job(name);
    if (job.kind === 'import') return job;
    throw notFoundError(`The job ${name} is an export: it sends nothing that could differ.`);
  };
  const unlessActive = async (
    { viewer }: FastifyRequest,
    name: string,
    confirmation: Confirmation,
  ): Promise<Page | Confirmation> => {
    const activity = await activityOn(name);
    return activity === null ? confirmation : runningPage(name, activity, readingOf(context, viewer), viewer);
  };
  /** The handlers of an action that begins with the source of a job. */
  const startOf = (
    does: 'run' | 'plan',
    confirm: (beginning: StartFacts) => Confirmation,
  ): ActionHandlers => ({
    async ask(name, { viewer }) {
      const workspace = workspaceOf(dashboard, name);
      const job = workspace.job(name);
      const beginning = {
        job,
        store: workspace.store(job.store),
        runs: await listLiveRuns(context, { job: name }),
        waitsFor: await writerTo(job),
        byWorkers: await actions.hasWorkers(),
        reading: readingOf(context, viewer),
      };
      const activity = activityOf(beginning.runs, (await actions.atWork()).get(name));
      return activity === null ? confirm(beginning) : runningPage(name, activity, beginning.reading, viewer);
    },
    act: async (name) => ({ does, job: workspaceOf(dashboard, name).job(name).name }),
  });

  /** What has changed since the run was planned; undefined where nothing has, or its job is gone or faulty. */
  const changedWords = async (run: Run): Promise<string | undefined> => {
    const workspace = dashboard.openWorkspace();
    const { job } = workspace.inspectJob(run.job);
    if (job?.kind !== 'import') return undefined;
    try {
      return changedSincePlanText(await changedSincePlan(context, await openImport(workspace, job), run));
    } catch (error) {
      if (error instanceof ConfigurationError) return `The job cannot be used as it is now: ${error.message}`;
      throw error;
    }
  };

  const handlers: Readonly<Partial<Record<ActionName, ActionHandlers>>> = {
    run: startOf('run', confirmRun),
    plan: startOf('plan', confirmPlan),
    approve: {
      async ask(id, { viewer }) {
        const run = await runOf(id);
        const why = whyNotApprover(run, viewer.names);
        if (why !== undefined) throw why;
        return confirmApprove(await readStoredReport(context, run), {
          later: await laterRun(context, run),
          changed: await changedWords(run),
          reading: readingOf(context, viewer),
        });
      },
      act: async (id) => ({ does: 'approve', job: (await runOf(id)).job, run: id }),
    },
    discard: {
      ask: async (id, { viewer }) => confirmDiscard(await runOf(id), readingOf(context, viewer)),
      act: (id, request) => settleOnce(dashboard, request, 'discard', id),
    },
    undo: {
      async ask(id, { fields }) {
        const { job } = await rememberedRun(dashboard, id);
        const { job: settings } = dashboard.openWorkspace().inspectJob(job);
        return confirmUndo(
          { id, job },
          { key: fields['key'] ?? '', isScheduled: settings?.schedule !== undefined },
        );
      },
      async act(id, { fields }) {
        const { job } = await rememberedRun(dashboard, id);
        const keys = keysOf(fields[KEYS_FIELD] ?? '');
        return { does: 'undo', job, run: id, only: keys.length === 0 ? undefined : keys };
      },
    },
    release: {
      ask: async (id, { fields, viewer }) => releasePage(dashboard, await runOf(id), fields, viewer),
      async act(id, { fields }) {
        const { job } = await runOf(id);
        const conflicts = fields[WHICH] === KEEP ? KEEP : undefined;
        return { does: 'release', job, run: id, only: chosenRecords(fields), conflicts };
      },
    },
    verify: {
      ask: async (name, request) => await unlessActive(request, name, confirmVerify(importOf(name))),
      act: async (name) => ({ does: 'verify', job: importOf(name).name }),
    },
    drift: {
      async ask(name, request) {
        const how = howToCompare(request.fields['how']);
        return await unlessActive(request, name, confirmDrift(importOf(name), how));
      },
      async act(name, { fields }) {
        const how = howToCompare(fields['how']);
        const chosen = how === 'compare' ? {} : { [how]: true };
        return { does: 'drift', job: importOf(name).name, ...chosen };
      },
    },
    cancel: {
      ask: async (id, { viewer }) => confirmInterrupt(await runOf(id), readingOf(context, viewer)),
      act: (id, request) => settleOnce(dashboard, request, 'cancel', id),
    },
  };

  for (const name of ACTION_NAMES) {
    const { ask, act } = handlers[name] ?? {};
    if (ask === undefined || act === undefined) continue;
    app.get(actionRoute(name), accessTo(name), async (request, reply) => {
      const asked = await ask(request.subject, request);
      return reply.sendPage('body' in asked ? asked : confirmationPage(asked, request.viewer));
    });
    app.post(actionRoute(name), accessTo(name), async (request, reply) => {
      const done = await act(request.subject, request);
      return 'does' in done ? await begin(request, reply, done) : reply.redirect(`/runs/${done.id}`, 303);
    });
  }

  app.get('/starting/:once', async (request, reply) => {
    const { subject: once } = request;
    const known = await actions.find(once);
    if (known === undefined)
      throw notFoundError('The dashboard no longer has the result of this action. See the latest runs.');
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
