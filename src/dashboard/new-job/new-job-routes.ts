import type { FastifyInstance, FastifyRequest } from 'fastify';
import { composeFiles, leftToDo } from '../../config/new-workspace/new-workspace.ts';
import { writeTogether } from '../../config/new-workspace/write-together.ts';
import { explainError, StoreferryError } from '../../model/storeferry-error.ts';
import { formatBytes } from '../../report/printable.ts';
import { showResult } from '../actions/show-result.ts';
import { receiveUpload, UPLOAD_LIMIT_BYTES, type Uploads } from '../actions/uploads.ts';
import { audit, beginAudited } from '../audit.ts';
import type { DashboardContext, DashboardLog } from '../dashboard-context.ts';
import { formFields } from '../form-fields.ts';
import { notFound } from '../guard/page-error.ts';
import { jobHref } from '../pages/job-card.ts';
import { frameOf, sendPage } from '../pages/page.ts';
import {
  createDrafts,
  type Draft,
  type DraftState,
  NEW_JOB,
  OWN_MAPPING,
  readDraft,
  takeAnswers,
} from './draft.ts';
import { draftPage, newJobPage } from './draft-page.ts';
import { freeJobName, newFilesOf } from './new-files.ts';

interface OfDraft {
  readonly Params: { readonly draft: string };
}

/** Makes a job from an uploaded file or an address: it writes the files of `init` by the same code, and plans the job. */
export function newJobRoutes(
  app: FastifyInstance,
  dashboard: DashboardContext,
  { uploads, log }: { readonly uploads: Uploads; readonly log: DashboardLog },
): void {
  const drafts = createDrafts(uploads);
  const forActors = { config: { who: 'actors' } } as const;
  const limit = formatBytes(UPLOAD_LIMIT_BYTES);
  const draftOf = ({ params }: FastifyRequest<OfDraft>): Draft => {
    const draft = drafts.find(params.draft);
    if (draft === undefined) throw notFound('This new job is no longer remembered. Upload the file again.');
    return draft;
  };
  const pageOf = (request: FastifyRequest, draft: Draft, state: DraftState, problems: readonly string[]) => {
    const workspace = dashboard.openWorkspace();
    const { mapping = OWN_MAPPING, imports = 'products' } = state.file ?? {};
    const facts = {
      ...{ state, problems, program: dashboard.program },
      stores:
        workspace.files.stores() === undefined ? undefined : (workspace.inspection.stores().names ?? []),
      known: dashboard.newStore.known(),
      sandboxUrl: dashboard.newStore.sandbox.url,
      jobName: freeJobName(workspace.dir, mapping === OWN_MAPPING ? `my-${imports}` : mapping),
    };
    return draftPage(draft, facts, frameOf(dashboard, request));
  };

  app.get('/new', forActors, (request, reply) =>
    sendPage(reply, newJobPage({ limit, problem: null }, frameOf(dashboard, request))),
  );

  app.post('/new/upload', { config: { streamed: true } }, async (request, reply) => {
    const hint = 'Give a larger one by its address, or type: storeferry init';
    const upload = await receiveUpload(request, uploads, {
      run: NEW_JOB,
      hint,
    });
    return reply.redirect(`/new/${drafts.open({ kind: 'file', upload }).id}`, 303);
  });

  app.post('/new/address', async (request, reply) => {
    const url = (formFields(request.body)['address'] ?? '').trim();
    try {
      dashboard.openWorkspace().webPlace(url);
    } catch (error) {
      if (!(error instanceof StoreferryError)) throw error;
      const problem = dashboard.retell(explainError(error));
      return sendPage(reply, newJobPage({ limit, problem }, frameOf(dashboard, request)), 422);
    }
    return reply.redirect(`/new/${drafts.open({ kind: 'web', url }).id}`, 303);
  });

  app.get<OfDraft>('/new/:draft', forActors, async (request, reply) => {
    const draft = draftOf(request);
    return sendPage(reply, pageOf(request, draft, await readDraft(draft, dashboard), []));
  });

  app.post<OfDraft>('/new/:draft', async (request, reply) => {
    const draft = draftOf(request);
    const { do: what = 'update', ...fields } = formFields(request.body);
    takeAnswers(draft, fields);
    if (what !== 'create') return reply.redirect(`/new/${draft.id}`, 303);
    const state = await readDraft(draft, dashboard);
    const made = newFilesOf(draft, state, dashboard);
    if ('problems' in made) return sendPage(reply, pageOf(request, draft, state, made.problems), 422);
    const { workspace } = made;
    const { job } = workspace;
    writeTogether(composeFiles(workspace));
    log.info({ job: job.name }, 'made a job');
    await audit(dashboard, request, { action: 'make-job', job: job.name });
    await drafts.drop(draft);
    if (leftToDo(workspace).length > 0) return reply.redirect(jobHref(job.name), 303);
    const action = { command: 'plan', job: job.name } as const;
    const result = await beginAudited(dashboard, request, action, draft.id);
    return showResult(reply, { action, result, once: draft.id }, frameOf(dashboard, request), dashboard);
  });
}
