import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Run } from '../../model/run.ts';
import { explainError, StoreferryError } from '../../model/storeferry-error.ts';
import { isUntouched } from '../../report/rejects/rejects-edits.ts';
import { REJECTS_FILE } from '../../report/rejects/rejects-file.ts';
import { lockJob } from '../../run/lock-job.ts';
import { readCorrections, refuseUnlessRejected } from '../../run/read-corrections.ts';
import { shownFile } from '../../run/report/read-stored-report.ts';
import { audit, beginAudited } from '../audit.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { formFields } from '../form-fields.ts';
import { notFound } from '../guard/page-error.ts';
import { frameOf, type Notice, sendPage } from '../pages/page.ts';
import { onceOf } from './confirmation.ts';
import { correctHref } from './correct-page.ts';
import { retriedSince } from './correct-routes.ts';
import { showResult } from './show-result.ts';
import { confirmRetryPage, uploadPage } from './upload-page.ts';
import { receiveUpload, replaceRejects, UPLOAD_LIMIT_BYTES, type Upload, type Uploads } from './uploads.ts';

/** The name for the file in the run's folder, used instead of the id of an upload. */
const IN_FOLDER = 'in-folder';

interface OfRun {
  readonly Params: { readonly run: string };
  readonly Querystring: { readonly upload?: unknown };
}

/** Accepts the corrected rejects of a run, shows the corrections, and sends them after confirmation. */
export function retryRoutes(app: FastifyInstance, dashboard: DashboardContext, uploads: Uploads): void {
  const { context, actions } = dashboard;
  const forActors = { config: { who: 'actors' } } as const;

  const rejectedRun = async (id: string): Promise<Run> => {
    const run = await context.state.runs.get(id);
    if (run === undefined) throw notFound(`There is no run ${id}.`);
    await refuseUnlessRejected(context, run);
    return run;
  };
  const editsOf = async (run: Run, upload?: Upload) => {
    const file = upload && { name: upload.name, open: upload.read, asTyped: upload.draft !== undefined };
    return (await readCorrections(context, run, file)).edits;
  };
  const askForFile = async (request: FastifyRequest, run: Run, notice: Notice | null): Promise<string> => {
    const inFolder = await editsOf(run).catch(() => null);
    const edited = inFolder !== null && !isUntouched(inFolder);
    const location = shownFile(
      context.workspaceDir,
      `${context.artifacts.run(run.id).location}/${REJECTS_FILE}`,
    );
    const facts = { location, limitBytes: UPLOAD_LIMIT_BYTES, inFolder: edited ? inFolder : null, notice };
    return uploadPage(run, facts, frameOf(dashboard, request));
  };

  app.get<OfRun>('/runs/:run/retry', forActors, async (request, reply) => {
    const run = await rejectedRun(request.params.run);
    const { upload: id } = request.query;
    if (typeof id !== 'string')
      return sendPage(reply, await askForFile(request, run, await retriedSince(context, run)));
    const upload = uploads.find(id, run.id);
    if (upload === undefined && id !== IN_FOLDER)
      return sendPage(reply, await askForFile(request, run, GONE));
    const corrections = { edits: await editsOf(run, upload), personal: run.resource === 'contacts' };
    const back = upload?.draft === undefined ? `/runs/${run.id}/retry` : correctHref(run.id, upload.draft);
    const notice = await retriedSince(context, run);
    return sendPage(
      reply,
      confirmRetryPage(run, { upload: id, back, notice }, corrections, frameOf(dashboard, request)),
    );
  });

  app.post<OfRun>('/runs/:run/retry/upload', { config: { streamed: true } }, async (request, reply) => {
    const run = await rejectedRun(request.params.run);
    const hint = `Put a larger one into the folder of the run, and type: storeferry retry ${run.id}`;
    const limits = { run: run.id, hint };
    const upload = await receiveUpload(request, uploads, limits);
    try {
      await editsOf(run, upload);
    } catch (error) {
      await uploads.drop(upload);
      if (!(error instanceof StoreferryError)) throw error;
      const notice = { tone: 'bad', text: dashboard.retell(explainError(error)) } as const;
      return sendPage(reply, await askForFile(request, run, notice), 422);
    }
    await audit(dashboard, request, { action: 'upload', job: run.job, run: run.id });
    return reply.redirect(`/runs/${run.id}/retry?upload=${upload.id}`, 303);
  });

  app.post<OfRun>('/runs/:run/retry', async (request, reply) => {
    const fields = formFields(request.body);
    const once = onceOf(fields);
    const { run: id } = request.params;
    const frame = frameOf(dashboard, request);
    const known = await actions.look(once);
    if (known !== undefined) return showResult(reply, { ...known, once }, frame, dashboard);
    const run = await rejectedRun(id);
    const upload = uploads.find(fields['upload'], id);
    if (upload === undefined && fields['upload'] !== IN_FOLDER) {
      return reply.redirect(
        `/runs/${id}/retry?upload=${encodeURIComponent(fields['upload'] ?? 'none')}`,
        303,
      );
    }
    // Not while a run of the job is active: it may be about to read that file.
    const replace = async (): Promise<void> => {
      if (upload === undefined) return;
      await using _job = await lockJob(context, run);
      await replaceRejects(context, upload);
      await uploads.drop(upload);
    };
    const action = { command: 'retry', job: run.job, run: id } as const;
    const result = await beginAudited(dashboard, request, action, once, replace);
    return showResult(reply, { action, result, once }, frame, dashboard);
  });
}

const GONE: Notice = { tone: 'warning', text: 'The uploaded file is gone: upload it again.' };
