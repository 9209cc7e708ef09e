import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hasSecret, writeTogether } from '../../config/edit-file.ts';
import { sentenceOf } from '../../model/storeferry-error.ts';
import { answerDraft, type DraftState } from '../../onboarding/job-draft.ts';
import {
  composeFiles,
  leftToDo,
  type NewWorkspace,
  STORE_VARIABLES,
} from '../../onboarding/new-workspace.ts';
import { fetchPicture, placeInWorkspace } from '../../onboarding/preview-source.ts';
import { testStore } from '../../run/kept-probe.ts';
import { formatBytes } from '../../text/printable.ts';
import { beginAction } from '../actions/confirmation.ts';
import { receiveUpload, UPLOAD_LIMIT_BYTES, withoutFolder } from '../actions/uploads.ts';
import { notFoundError } from '../guard/page-error.ts';
import { jobHref } from '../pages/link-button.ts';
import { audit, FOR_EDITORS, limitReads, type RouteParts, readForms } from '../route-parts.ts';
import { draftPage, type FieldProblem, newJobPage, problemsOf } from './draft-page.ts';
import {
  createDrafts,
  type DraftSession,
  NEW_JOB,
  readDraft,
  takeAnswers,
  zippedPicture,
} from './draft-session.ts';
import { openUploaded } from './upload-targets.ts';

/** A page waits no longer for a picture. */
const PICTURE_WITHIN_MS = 10_000;
const MAX_PICTURES_AT_ONCE = 4;
/** The form has the names of all columns. */
const FORM_LIMIT_BYTES = 1_000_000;

/** Makes a job from an uploaded file or an address: it writes the files of `init` by the same code, and plans the job if nothing is left to do. */
export async function newJobRoutes(app: FastifyInstance, { dashboard, uploads }: RouteParts): Promise<void> {
  const drafts = createDrafts(uploads);
  const { context } = dashboard;
  const noPicture = () => notFoundError('The picture cannot be shown.');
  const limitPictures = limitReads(MAX_PICTURES_AT_ONCE, noPicture);
  const limit = formatBytes(UPLOAD_LIMIT_BYTES);
  const sessionOf = ({ subject }: FastifyRequest) => {
    const session = drafts.find(subject);
    if (session === undefined || session.job !== undefined)
      throw notFoundError('This new job is no longer remembered. Upload the file again.');
    return session;
  };
  const pageOf = (
    request: FastifyRequest,
    session: DraftSession,
    state: DraftState,
    problems: readonly FieldProblem[],
  ) =>
    draftPage(
      session,
      {
        state,
        problems: problems.map(({ field, text }) => ({ field, text: dashboard.redact(text) })),
        program: dashboard.program,
        hasWorker: dashboard.workerHealth !== undefined,
      },
      request.viewer,
    );

  app.get('/new', FOR_EDITORS, (request, reply) =>
    reply.sendPage(newJobPage({ limit, address: '', problem: null }, request.viewer)),
  );

  app.post('/new/upload', { config: { streamed: true } }, async (request, reply) => {
    const hint = 'Give a larger one by its address, or type: storeferry init';
    const upload = await receiveUpload(request, uploads, { run: NEW_JOB, hint });
    return reply.redirect(`/new/${drafts.open({ kind: 'file', upload }).id}`, 303);
  });

  app.post('/new/address', async (request, reply) => {
    const address = (request.fields['address'] ?? '').trim();
    const found = dashboard.readWorkspace().typedPlace(address);
    if (!('problem' in found))
      return reply.redirect(`/new/${drafts.open({ kind: 'remote', address, name: found.name }).id}`, 303);
    const problem = dashboard.redact(found.problem);
    // A typed secret is not sent back.
    const shown = hasSecret(address) ? '' : address;
    return reply.sendPage(newJobPage({ limit, address: shown, problem }, request.viewer), 422);
  });

  /** What a new store says to its key. One that cannot be reached is taken when it is wanted a second time. */
  const whyNoStore = async (session: DraftSession, made: NewWorkspace): Promise<FieldProblem | undefined> => {
    const { [STORE_VARIABLES.url]: baseUrl, [STORE_VARIABLES.apiKey]: apiKey } = made.variables;
    if (baseUrl === undefined || apiKey === undefined || made.sandbox) return undefined;
    const store = { name: made.job.store, baseUrl, apiKey };
    const { answer, verdict, message, hint = '' } = await testStore(dashboard.context, store);
    const wanted = `${baseUrl} ${apiKey}`;
    const isDown = answer === 'unreachable' || answer === 'failing';
    if (verdict !== 'error' || (isDown && session.untested === wanted)) return undefined;
    session.untested = wanted;
    // A refused key is asked for again.
    if (answer === 'wrong-key') session.draft = answerDraft(session.draft, { apiKey: undefined });
    const again = isDown ? ' To make the job without this test, create it once more.' : '';
    const text = dashboard.redact(`${message}. ${hint}`.replaceAll(apiKey, '***'));
    return { field: answer === 'wrong-key' ? 'apiKey' : 'url', text: `${text}${again}` };
  };

  /** The page of the job that a draft has become; undefined for a draft. */
  const jobOf = ({ subject }: FastifyRequest) => {
    const job = drafts.find(subject)?.job;
    return job && jobHref(job);
  };

  app.get('/new/:draft', FOR_EDITORS, async (request, reply) => {
    const made = jobOf(request);
    if (made !== undefined) return reply.redirect(made, 303);
    const session = sessionOf(request);
    return reply.sendPage(pageOf(request, session, await readDraft(session, dashboard), []));
  });

  // The page loads nothing from a foreign server: the dashboard fetches the one picture that it shows, and only of a format of pictures.
  app.get('/new/:draft/picture', FOR_EDITORS, async (request, reply) => {
    const session = sessionOf(request);
    const { picture } = session;
    if (picture === undefined) throw notFoundError('There is no picture.');
    const found = await limitPictures(async () => {
      const zipped = zippedPicture(session);
      if (zipped?.path !== undefined) {
        await using files = await openUploaded(zipped.zip);
        return await files.read(zipped.path);
      }
      const named = dashboard.readWorkspace().typedPlace(picture);
      const remote = 'place' in named ? named.place.remote : undefined;
      const signal = AbortSignal.any([context.signal, AbortSignal.timeout(PICTURE_WITHIN_MS)]);
      return remote && (await fetchPicture(remote, signal));
    }).catch(() => undefined);
    if (found === undefined || 'problem' in found) throw noPicture();
    return reply
      .type(`image/${found.type === 'jpg' ? 'jpeg' : found.type}`)
      .header('content-security-policy', "default-src 'none'; sandbox")
      .header('cache-control', 'private, max-age=600')
      .send(found.content);
  });

  app.post('/new/:draft/pictures', { config: { streamed: true } }, async (request, reply) => {
    const session = sessionOf(request);
    const hint = 'Put a larger one into the workspace, and name it on the page Edit of the job.';
    const upload = await receiveUpload(request, uploads, { run: NEW_JOB, hint });
    try {
      await using files = await openUploaded(upload);
      const { pictures: before } = session;
      session.pictures = { upload, names: files.names };
      if (before !== undefined) await uploads.drop(before.upload);
    } catch (error) {
      await uploads.drop(upload);
      const page = pageOf(request, session, await readDraft(session, dashboard), []);
      const text = `The pictures were not taken. ${withoutFolder(sentenceOf(error), upload)}`;
      return reply.sendPage({ ...page, notice: { tone: 'bad', text } }, 422);
    }
    return reply.redirect(`/new/${session.id}`, 303);
  });

  app.post('/new/:draft/crosswalk', { config: { streamed: true } }, async (request, reply) => {
    const session = sessionOf(request);
    const hint = 'Leave out the columns that it does not need.';
    const upload = await receiveUpload(request, uploads, { run: NEW_JOB, hint });
    const { crosswalk: before } = session;
    session.crosswalk = upload;
    session.draft = answerDraft(session.draft, { crosswalk: 'file', crosswalkFile: upload.id });
    if (before !== undefined) await uploads.drop(before);
    return reply.redirect(`/new/${session.id}`, 303);
  });

  await app.register(async (scope) => {
    readForms(scope, FORM_LIMIT_BYTES);

    scope.post('/new/:draft', async (request, reply) => {
      const before = jobOf(request);
      if (before !== undefined) return reply.redirect(before, 303);
      const session = sessionOf(request);
      const { do: what = 'update', ...fields } = request.fields;
      takeAnswers(session, fields);
      if (what !== 'create') return reply.redirect(`/new/${session.id}`, 303);
      const state = await readDraft(session, dashboard);
      const { made } = state;
      const refused = made && ((await whyNoFolder(made)) ?? (await whyNoStore(session, made)));
      if (session.job !== undefined) return reply.redirect(jobHref(session.job), 303);
      if (made === undefined) return reply.sendPage(pageOf(request, session, state, problemsOf(state)), 422);
      const { job } = made;
      if (refused !== undefined) {
        const now = await readDraft(session, dashboard);
        return reply.sendPage(pageOf(request, session, now, [refused]), 422);
      }
      writeTogether(composeFiles(made));
      session.job = job.name;
      await audit(dashboard, request, { action: 'make-job', job: job.name });
      await drafts.dropFiles(session);
      if (leftToDo(made).length > 0) return reply.redirect(jobHref(job.name), 303);
      const action = { does: 'plan', job: job.name } as const;
      return await beginAction(dashboard, request, reply, { action, once: session.id });
    });
  });
}

/** Why picture files may not be put where somebody has typed: a visitor must not reach other files of this machine. */
async function whyNoFolder({ dir, job }: NewWorkspace): Promise<FieldProblem | undefined> {
  const path = job.pictures?.['path'];
  const place = path === undefined ? {} : await placeInWorkspace(path, dir);
  return 'refused' in place
    ? { field: 'picturesTo', text: `Give a folder inside the workspace: this one ${place.refused}.` }
    : undefined;
}
