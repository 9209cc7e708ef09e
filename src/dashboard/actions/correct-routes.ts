import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Run } from '../../model/run.ts';
import { isUntouched } from '../../rejects/rejects-edits.ts';
import {
  correctedRejects,
  type RejectedPage,
  readCorrections,
  readRejectedPage,
  refuseUnlessRejected,
  rejectedKeys,
} from '../../run/read-corrections.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { PageError } from '../guard/page-error.ts';
import { accessTo, actionHref, actionRoute } from '../pages/link-button.ts';
import type { Notice, Page } from '../pages/page.ts';
import { audit, type FormFields, keptRun, type RouteParts, readForms, refusalOf } from '../route-parts.ts';
import { isUuid } from './confirmation.ts';
import {
  ALL_COLUMNS,
  type CorrectView,
  cellName,
  correctHref,
  correctPage,
  LEAVE_OUT,
  toFormValue,
} from './correct-page.ts';
import { leftOutIn } from './leave-out-routes.ts';
import { keepNewest } from './uploads.ts';

/** A page of rejected rows has at most about a megabyte of cells, and three times as much as a form. */
const FORM_LIMIT_BYTES = 16_000_000;
/** The drafts that are kept; the oldest are removed. */
const MAX_DRAFTS = 20;
/** Far more than people type. */
const MAX_CHARACTERS = 20_000_000;

/** The corrections that a visitor has typed so far, on all pages of a run. In memory until they are sent. */
interface Draft {
  readonly run: string;
  readonly edits: Map<number, Map<number, string>>;
}

/** Shows the rejected rows of a run as a form, and turns what is typed there into an upload. */
export async function correctRoutes(app: FastifyInstance, { dashboard, uploads }: RouteParts): Promise<void> {
  const { context } = dashboard;
  const drafts = new Map<string, Draft>();
  const draftOf = (id: string, run: string): Draft => {
    const known = drafts.get(id);
    return known?.run === run ? known : { run, edits: new Map() };
  };
  const isCorrectedInFolder = async (run: Run): Promise<boolean> =>
    readCorrections(context, run).then(
      ({ edits }) => !isUntouched(edits),
      () => false,
    );

  const pageOf = async (
    run: Run,
    rows: RejectedPage,
    view: Omit<CorrectView, 'keys' | 'leftOut'>,
    viewer: Viewer,
  ): Promise<Page> => {
    const keys = await rejectedKeys(context, run, rows);
    const leftOut = leftOutIn(dashboard.openWorkspace(), run.job);
    return correctPage(run, rows, { ...view, keys, leftOut }, viewer);
  };

  await app.register(async (scope) => {
    readForms(scope, FORM_LIMIT_BYTES);

    scope.get(actionRoute('correct'), accessTo('correct'), async (request, reply) => {
      const run = await rejectedRun(dashboard, request.subject);
      const { draft, page, columns } = request.fields;
      const id = isUuid(draft) ? draft : randomUUID();
      const rows = await readRejectedPage(context.artifacts.run(run.id), numberOf(page));
      const retried = await retryNotice(context, run);
      const notice = retried ?? ((await isCorrectedInFolder(run)) ? CORRECTED_IN_FOLDER : null);
      const { edits } = draftOf(id, run.id);
      const view = { draft: id, edits, allColumns: columns === ALL_COLUMNS, notice };
      return reply.sendPage(await pageOf(run, rows, view, request.viewer));
    });

    scope.post(actionRoute('correct'), accessTo('correct'), async (request, reply) => {
      const run = await rejectedRun(dashboard, request.subject);
      const folder = context.artifacts.run(run.id);
      const fields = request.fields;
      const { draft: id, go } = fields;
      if (!isUuid(id)) throw new PageError(400, 'The form is incomplete', 'Go back and load the page again.');
      const rows = await readRejectedPage(folder, numberOf(fields['page']));
      const draft = draftOf(id, run.id);
      takeEdits(draft, rows, fields);
      keepNewest(drafts, MAX_DRAFTS, id, draft);
      const columns = fields['columns'] === ALL_COLUMNS;
      if (go?.startsWith(LEAVE_OUT) === true) {
        const page = rows.number > 1 && rows.number;
        const query = { key: go.slice(LEAVE_OUT.length), run: run.id, draft: id, page };
        return reply.redirect(actionHref('leave-out', run.job, query), 303);
      }
      if (go !== CHECK) return reply.redirect(correctHref(run.id, id, numberOf(go), columns), 303);
      const upload = await uploads.keep(
        run.id,
        'the corrected rows',
        correctedRejects(folder, draft.edits),
        id,
      );
      try {
        await readCorrections(context, run, { name: upload.name, open: upload.read, asTyped: true });
      } catch (error) {
        await uploads.drop(upload);
        const notice = refusalOf(error, dashboard);
        const view = { draft: id, edits: draft.edits, allColumns: columns, notice };
        return reply.sendPage(await pageOf(run, rows, view, request.viewer), 422);
      }
      await audit(dashboard, request, { action: 'correct', job: run.job, run: run.id });
      return reply.redirect(actionHref('retry', run.id, { upload: upload.id }), 303);
    });
  });
}

/** The value of the button that shows the corrections; other buttons have the number of a page. */
const CHECK = 'check';

const CORRECTED_IN_FOLDER: Notice = {
  tone: 'warning',
  text: 'The rejects file in the folder of the run was corrected, too. This page shows the rows as they were rejected; if you send its corrections, that file is kept beside them.',
};

function numberOf(given = ''): number {
  return /^[1-9]\d{0,5}$/.test(given) ? Number(given) : 1;
}

/** Adds to a draft what a form of this page has changed; a cell with its old value is no edit. */
function takeEdits({ edits }: Draft, { rows }: RejectedPage, fields: FormFields): void {
  for (const { index, cells } of rows) {
    const typed = new Map(edits.get(index));
    for (const [place, old] of cells.entries()) {
      const given = fields[cellName(index, place)]?.replaceAll('\r\n', '\n');
      if (given === undefined) continue;
      if (given === toFormValue(old)) typed.delete(place);
      else typed.set(place, old.includes('\r\n') ? given.replaceAll('\n', '\r\n') : given);
    }
    if (typed.size > 0) edits.set(index, typed);
    else edits.delete(index);
  }
  let characters = 0;
  for (const typed of edits.values()) for (const cell of typed.values()) characters += cell.length;
  if (characters <= MAX_CHARACTERS) return;
  throw new PageError(
    413,
    'Too many corrections',
    'Send the corrections of the earlier pages first, or correct the file in a spreadsheet.',
  );
}

/** The run with this id, if rows of it were rejected; PageError or UsageError otherwise. */
export async function rejectedRun(dashboard: Pick<DashboardContext, 'context'>, id: string): Promise<Run> {
  const run = await keptRun(dashboard, id);
  await refuseUnlessRejected(dashboard.context, run);
  return run;
}

/** A warning if rows of this run were sent again already. */
export async function retryNotice(
  { state }: Pick<RunContext, 'state'>,
  { id, job }: Run,
): Promise<Notice | null> {
  const retries = await state.runs.list({ job, kinds: ['retry'] });
  const newest = retries.find(({ retryOf }) => retryOf === id);
  if (newest === undefined) return null;
  const how =
    newest.status === 'running' ? 'is sending rows of this run now' : 'has sent rows of this run already';
  return {
    tone: 'warning',
    text: `Run ${newest.id}, a retry, ${how}. What it rejected again is corrected there; what the store took is left out here.`,
  };
}
