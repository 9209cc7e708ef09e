import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Run } from '../../model/run.ts';
import {
  CELLS_LISTED,
  type CellEdit,
  editsWords,
  isUntouched,
  REFUSALS,
  REFUSED,
  RESTORED,
  type RefusedCell,
  type RejectsEdits,
} from '../../rejects/judge-cell.ts';
import { REJECTS_FILE, REJECTS_WORKBOOK } from '../../rejects/rejects-file.ts';
import { bullets, html, quiet, styledText } from '../../report/html/markup.ts';
import { readCorrections, replaceRejects } from '../../run/read-corrections.ts';
import { counted, formatBytes, grouped, truncate, wasOrWere } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { accessTo, actionHref, actionRoute, jobLink, linkButton, runLink } from '../pages/link-button.ts';
import { type Notice, type Page, tableBox } from '../pages/page.ts';
import { uploadForm } from '../pages/post-form.ts';
import { audit, type RouteParts, refusalOf } from '../route-parts.ts';
import { storeWords } from './confirm-run.ts';
import { beginAction, confirmationForm, onceOf, showResult } from './confirmation.ts';
import { rejectedRun, retryNotice } from './correct-routes.ts';
import { receiveUpload, UPLOAD_LIMIT_BYTES, type Upload } from './uploads.ts';

const CELL_LENGTH = 60;

/**
 * The page to upload the corrected rejects of a run. `inFolder` are the corrections in the run's own folder, null if
 * there are none.
 */
function uploadPage(
  { id, job, totals }: Run,
  hasWorkbook: boolean,
  inFolder: RejectsEdits | null,
  notice: Notice | null,
  viewer: Viewer,
): Page {
  const href = actionHref('download-rejects', id);
  const csv = html`<a href="${href}">${hasWorkbook ? 'as CSV' : 'Download the rejects'}</a>`;
  const files = hasWorkbook
    ? html`<a href="${href.replace(REJECTS_FILE, REJECTS_WORKBOOK)}">Download the rejects</a> as a workbook like the source, or ${csv}`
    : csv;
  const rejected =
    totals === null ? '' : `${counted(totals.rejected, 'record')} ${wasOrWere(totals.rejected)} rejected. `;
  return {
    title: `Retry run ${id}`,
    section: 'runs',
    notice,
    lead: html`${runLink(id, 'Run')} of ${jobLink(job)}: ${rejected}Correct the rows in a spreadsheet and upload the file here, as a workbook (.xlsx) or as CSV. You will see what was corrected before anything is sent.`,
    body: html`<ol class="does">
<li>${files}: the rejected rows as they were in the source, with the reason in the column <code>storeferry_reason</code>.</li>
<li>Correct them. Keep the header and the column <code>storeferry_line</code>; rows that should not be sent are deleted.</li>
<li>Upload the file, at most ${formatBytes(UPLOAD_LIMIT_BYTES)}.</li>
</ol>
${uploadForm({ action: actionHref('upload', id), label: 'The corrected file', accept: '.xlsx,.csv,.txt,.tsv,text/csv', button: 'Upload and check', back: actionHref('see', id) }, viewer)}
${
  inFolder !== null &&
  html`<section><h2>Or send the file in the folder of the run</h2>
<p>The rejects file was corrected there: ${editsWords(inFolder)}.</p>
<p>${linkButton(actionHref('retry', id, { upload: IN_FOLDER }), { label: 'See what was corrected' })}</p></section>`
}`,
  };
}

type ChangedCell = CellEdit & Partial<RefusedCell>;

/** Where corrections come from. */
interface Origin {
  /** The id of the upload. */
  readonly upload: string;
  /** The page to correct more. */
  readonly back: string;
  readonly notice: Notice | null;
}

/** The page that shows the corrections and what sending them will do. */
function confirmRetryPage(
  { id, job, store, baseUrl, resource }: Run,
  { upload, back, notice }: Origin,
  edits: RejectsEdits,
  viewer: Viewer,
): Page {
  // The page shows where contacts were edited, but not their values.
  const personal = resource === 'contacts';
  const changesTable = (caption: string, cells: readonly ChangedCell[], all: number) => {
    const shown = cells.slice(0, CELLS_LISTED);
    return html`${tableBox({
      caption: all > shown.length ? `${caption}: the first ${shown.length} of ${grouped(all)}` : caption,
      columns: [['Line of the source', 'short'], ['Column', 'bare'], ...(personal ? [] : ['Before', 'Now'])],
      rows: shown.map(({ line, column, old, new: now, why }) => [
        line,
        html`${column}${why !== undefined && html` ${quiet(`(${REFUSALS[why].words})`)}`}`,
        ...(personal ? [] : [truncate(old, CELL_LENGTH), truncate(now, CELL_LENGTH)]),
      ]),
    })}
${personal && styledText('quiet', 'Values of contacts are not shown.')}`;
  };
  /** Changed cells that are not sent as they stand, and how they are treated. */
  const changed = (title: string, what: string, cells: readonly ChangedCell[], all: number) =>
    cells.length > 0 &&
    html`<section><h2>${title}: ${counted(all, 'cell')}</h2>
<p>${what}</p>
${changesTable('Changed cells', cells, all)}</section>`;
  const effects = [
    html`Sends the rows that are valid now to the store ${storeWords({ name: store, baseUrl })}, through the current mapping: <b>at most ${counted(edits.rows, 'row')}</b>.`,
    `Sends only what run ${id} has rejected, and leaves out what the store has taken since. What is still wrong is rejected again.`,
    'Deletes nothing; safety limits do not apply.',
    'It is a run of its own. Correct the source too, or the next run changes the values back.',
  ];
  return {
    title: `Retry run ${id} with ${counted(edits.rows, 'row')}?`,
    section: 'runs',
    notice: isUntouched(edits)
      ? {
          tone: 'warning',
          text: 'Nothing was corrected: unless the mapping has changed, the same rows are rejected again.',
        }
      : notice,
    lead: html`The corrected rejects of ${runLink(id)} of ${jobLink(job)}: ${editsWords(edits)}.`,
    body: html`${edits.cells.length > 0 && changesTable('Corrections', edits.cells, edits.editedCells)}
${changed('Restored', RESTORED, edits.restored, edits.restoredCells)}
${changed('Not sent', REFUSED, edits.refused, edits.refusedCells)}
${bullets(effects, 'does')}
${confirmationForm({ does: 'retry', to: id, fields: { upload }, back }, viewer)}`,
  };
}

/** The name for the file in the run's folder, used instead of the id of an upload. */
const IN_FOLDER = 'in-folder';

/** Accepts the corrected rejects of a run, shows the corrections, and sends them after confirmation. */
export function retryRoutes(app: FastifyInstance, { dashboard, uploads }: RouteParts): void {
  const { context, actions } = dashboard;
  const editsOf = async (run: Run, upload?: Upload) => {
    const file = upload && { name: upload.name, open: upload.read, asTyped: upload.draft !== undefined };
    return (await readCorrections(context, run, file)).edits;
  };
  const askForFile = async (request: FastifyRequest, run: Run, notice: Notice | null): Promise<Page> => {
    const inFolder = await editsOf(run).catch(() => null);
    const isEdited = inFolder !== null && !isUntouched(inFolder);
    const hasWorkbook = await context.artifacts.run(run.id).exists(REJECTS_WORKBOOK);
    return uploadPage(run, hasWorkbook, isEdited ? inFolder : null, notice, request.viewer);
  };

  app.get(actionRoute('retry'), accessTo('retry'), async (request, reply) => {
    const run = await rejectedRun(dashboard, request.subject);
    const { upload: id } = request.fields;
    if (id === undefined)
      return reply.sendPage(await askForFile(request, run, await retryNotice(context, run)));
    const upload = uploads.find(id, run.id);
    if (upload === undefined && id !== IN_FOLDER) return reply.sendPage(await askForFile(request, run, GONE));
    const edits = await editsOf(run, upload);
    const back =
      upload?.draft === undefined
        ? actionHref('retry', run.id)
        : actionHref('correct', run.id, { draft: upload.draft });
    const notice = await retryNotice(context, run);
    return reply.sendPage(confirmRetryPage(run, { upload: id, back, notice }, edits, request.viewer));
  });

  const streamed = { config: { ...accessTo('upload').config, streamed: true } } as const;
  app.post(actionRoute('upload'), streamed, async (request, reply) => {
    const run = await rejectedRun(dashboard, request.subject);
    const hint = `Put a larger one into the folder of the run, which storeferry runs ${run.id} names, and type: storeferry retry ${run.id}`;
    const limits = { run: run.id, hint };
    const upload = await receiveUpload(request, uploads, limits);
    try {
      await editsOf(run, upload);
    } catch (error) {
      await uploads.drop(upload);
      return reply.sendPage(await askForFile(request, run, refusalOf(error, dashboard)), 422);
    }
    await audit(dashboard, request, { action: 'upload', job: run.job, run: run.id });
    return reply.redirect(actionHref('retry', run.id, { upload: upload.id }), 303);
  });

  app.post(actionRoute('retry'), accessTo('retry'), async (request, reply) => {
    const fields = request.fields;
    const once = onceOf(fields);
    const { subject: id } = request;
    const known = await actions.find(once);
    if (known !== undefined) return showResult(reply, { ...known, once }, dashboard);
    const run = await rejectedRun(dashboard, id);
    const upload = uploads.find(fields['upload'], id);
    if (upload === undefined && fields['upload'] !== IN_FOLDER)
      return reply.redirect(actionHref('retry', id, { upload: fields['upload'] ?? 'none' }), 303);
    const replace = async () => {
      if (upload === undefined) return;
      await replaceRejects(context, run, { typed: upload.draft !== undefined, read: upload.read });
      await uploads.drop(upload);
    };
    const action = { does: 'retry', job: run.job, run: id } as const;
    return await beginAction(dashboard, request, reply, { action, once, before: replace });
  });
}

const GONE: Notice = { tone: 'warning', text: 'The uploaded file is gone: upload it again.' };
