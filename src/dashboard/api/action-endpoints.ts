import { createHash, type Hash, hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import {
  ACTION_NAMES,
  ACTION_OPTIONS,
  type ACTIONS,
  type ActionName,
  actionOf,
  isJobAction,
  type JobAction,
  jobActionSchema,
} from '../../model/action.ts';
import { explainError, sentenceOf } from '../../model/storeferry-error.ts';
import { whyNotApprover } from '../../run/execute-run.ts';
import { readCorrections, replaceRejects } from '../../run/read-corrections.ts';
import { comparisonBefore } from '../../run/report/read-stored-report.ts';
import { settleOnce } from '../actions/confirmation.ts';
import { rejectedRun } from '../actions/correct-routes.ts';
import { UPLOAD_LIMIT_BYTES, type Upload } from '../actions/uploads.ts';
import { PageError } from '../guard/page-error.ts';
import { audit, type RouteParts, rememberedRun, workspaceOf } from '../route-parts.ts';
import {
  API_PREFIX,
  type Call,
  type Endpoint,
  FILE_TYPES,
  findRun,
  IDEMPOTENCY_HEADER,
  parseInput,
  runSchema,
} from './endpoint.ts';

/** Visible ASCII. */
const KEY = /^[\x21-\x7e]{1,255}$/;
/** As long as it takes a worker to look again. */
const RETRY_AFTER_S = 5;
/** Of one job, so that no program fills the queue with plans. */
const MAX_WAITING = 20;
/** Characters of the id of a run that a key stands for: the alphabet of other ids, but longer than those. */
const ID_CHARACTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const ID_LENGTH = 14;

/** One address for each action with a scope: `/jobs/{job}/run`, `/runs/{run}/approve`. */
export function actionEndpoints(parts: RouteParts): readonly Endpoint[] {
  return ACTION_NAMES.flatMap((name): Endpoint[] => {
    if (!isOffered(name)) return [];
    const { role: scope, to, audit: done = name } = actionOf(name);
    if (scope === undefined || to === undefined) return [];
    const summary = `${name}: as the command; the audit log says "${done}"`;
    const place = { method: 'post', path: `/${to}s/{${to}}/${name}`, scope, summary } as const;
    if (!isJobAction(name)) {
      return [{ ...place, answer: runSchema, handle: (call) => settleRun(parts, name, call) }];
    }
    return [
      {
        ...place,
        ...(name === 'retry' ? { fileTypes: FILE_TYPES } : { body: ACTION_OPTIONS[name] }),
        answer: runSchema,
        status: 202,
        handle: (call) => acceptAction(parts, name, call),
      },
    ];
  });
}

/** The actions that the API offers. */
type ApiAction = {
  [Name in ActionName]: (typeof ACTIONS)[Name] extends { readonly api: true } ? Name : never;
}[ActionName];

/** Those that no worker executes. Each has its effect in `settleOnce`: a new one does not compile before it has. */
type SettlingAction = Exclude<ApiAction, JobAction['does']>;

function isOffered(name: ActionName): name is ApiAction {
  return actionOf(name).api !== undefined;
}

/** Interrupts a run or the comparison before it, removes it from the queue, or discards its plan. */
async function settleRun(parts: RouteParts, name: SettlingAction, { request }: Call): Promise<unknown> {
  const { dashboard } = parts;
  const { context, queue, readWorkspace } = dashboard;
  const { subject: id } = request;
  const queued = await queue.find(id);
  let run = queued?.run ?? id;
  if (queued?.run === null && !queued.ended && name === 'cancel') {
    const { job } = queued.action;
    if (await queued.remove()) {
      await audit(dashboard, request, { action: 'cancel', job, run: id });
      return { run: id, job, status: 'interrupted', error: null };
    }
    const comparison = await comparisonBefore(context, readWorkspace(), job);
    if (comparison === undefined)
      throw new PageError(409, 'About to begin', 'A worker begins the run. Ask again.');
    run = comparison.id;
  }
  const settled = await settleOnce(dashboard, request, name, run);
  return await findRun(parts, settled.id, request.viewer);
}

/** Stores what begins a run, unless its key has stored it before, and answers with the run. */
async function acceptAction(
  parts: RouteParts,
  does: JobAction['does'],
  { request, reply }: Call,
): Promise<unknown> {
  const { dashboard } = parts;
  const { context, queue } = dashboard;
  const key = request.headers[IDEMPOTENCY_HEADER];
  if (key !== undefined && (typeof key !== 'string' || !KEY.test(key)))
    throw new PageError(400, 'Invalid key', 'Idempotency-Key: expected 1 to 255 visible ASCII characters.');
  const id = key === undefined ? context.newRunId() : idOfKey(request.viewer.who, key);
  const { run: named, job: name = '' } = request.params;
  // What a queued run has become is named by either id.
  const of = named === undefined ? null : ((await queue.find(named))?.run ?? named);
  const known = of === null ? undefined : await rememberedRun(dashboard, of);
  const job = known?.job ?? workspaceOf(dashboard, name).job(name).name;
  const why =
    known?.run && (does === 'approve' || does === 'release')
      ? whyNotApprover(known.run, request.viewer.names)
      : undefined;
  if (why !== undefined) {
    await audit(dashboard, request, { action: does, job, run: of, outcome: 'refused' });
    throw new PageError(403, 'Another person approves', explainError(why));
  }
  const isFile = does === 'retry' && request.body !== undefined;
  const options = isFile ? {} : parseInput(ACTION_OPTIONS[does], request.body);
  const { names: by } = request.viewer;
  let action = jobActionSchema.parse({ does, job, by, ...(of !== null && { run: of }), ...options });
  const store = async () => {
    // In its turn: few uploads are kept at a time.
    await using upload = isFile ? await keepUpload(parts, request) : null;
    if (upload !== null) action = jobActionSchema.parse({ ...action, file: upload.sha256 });
    if ((await queue.find(id)) !== undefined || (await context.state.runs.get(id)) !== undefined) return;
    if ((await queue.workers()) === 0)
      throw notYet(
        503,
        'No worker',
        'None is running: start `storeferry worker`, or the dashboard with --worker.',
      );
    const before = (await queue.waiting()).filter((one) => one.job === job);
    if (before.length >= MAX_WAITING)
      throw notYet(429, 'Too many wait', `${MAX_WAITING} requests for ${job} wait for a worker.`);
    if (does === 'retry') await takeCorrections(parts, request, upload);
    const { id: waiting } = await queue.enqueue(action, id);
    if (waiting !== id)
      throw notYet(
        409,
        'Waits or runs already',
        `The run ${waiting} of ${job} has not ended: nothing was started.`,
      );
    await audit(dashboard, request, { action: does, job, run: of ?? id, of: of === null ? null : id });
  };
  const notYet = (...problem: ConstructorParameters<typeof PageError>) => {
    reply.header('retry-after', RETRY_AFTER_S);
    return new PageError(...problem);
  };
  await inTurn(id, () => inTurn(`job ${job}`, store));
  const stored = await queue.find(id);
  if (stored !== undefined && !isDeepStrictEqual(jsonOf(stored.action), jsonOf(action)))
    throw new PageError(
      422,
      'Another request has this key',
      'The Idempotency-Key was used for another request.',
    );
  return await reply
    .code(202)
    .header('location', `${API_PREFIX}/runs/${id}`)
    .send((await findRun(parts, id, request.viewer)) ?? { run: id, job, status: 'queued', error: null });
}

const turns = new Map<string, Promise<void>>();

/** Requests with one key, or for one job, take their turns, so that the second finds what the first has stored. */
async function inTurn(id: string, work: () => Promise<void>) {
  const turn = (turns.get(id) ?? Promise.resolve()).then(work, work);
  turns.set(id, turn);
  try {
    await turn;
  } finally {
    if (turns.get(id) === turn) turns.delete(id);
  }
}

/** What is stored of a value. */
function jsonOf(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The corrected file that a request brings; it is removed with the request. */
async function keepUpload({ uploads }: RouteParts, { body, headers, subject }: Call['request']) {
  if (!(body instanceof Readable)) throw new PageError(415, 'No file', 'Send the corrected file.');
  const ending = headers['content-type']?.startsWith('text/csv') === true ? 'csv' : 'xlsx';
  const digest = createHash('sha256');
  const content = Readable.from(withinLimit(body, digest));
  const upload = await uploads.keep(subject, `rejects.${ending}`, content);
  return {
    ...upload,
    sha256: digest.digest('hex'),
    [Symbol.asyncDispose]: () => uploads.drop(upload),
  };
}

async function* withinLimit(content: Readable, digest: Hash): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > UPLOAD_LIMIT_BYTES) throw new PageError(413, 'Too large', 'The file is larger than 64 MB.');
    digest.update(chunk);
    yield chunk;
  }
}

/** Puts a corrected file where `retry` reads it, once it was read; without a file, the one that is there is sent. */
async function takeCorrections({ dashboard }: RouteParts, request: Call['request'], upload: Upload | null) {
  const { context } = dashboard;
  const run = await rejectedRun(dashboard, request.subject);
  if (upload === null) return;
  await readCorrections(context, run, { name: upload.name, open: upload.read, asTyped: false }).catch(
    (error: unknown) => {
      throw new PageError(422, 'Not the rejects of this run', sentenceOf(error));
    },
  );
  await replaceRejects(context, run, { typed: false, read: upload.read });
  await audit(dashboard, request, { action: 'upload', job: run.job, run: run.id });
}

/** The id of the run that a key of a token stands for: the same for the same key and name of a token, also of a later token with that name. */
function idOfKey(token: string, key: string) {
  const bytes = hash('sha256', JSON.stringify([token, key]), 'buffer').subarray(0, ID_LENGTH);
  return [...bytes]
    .map((byte, index) => ID_CHARACTERS.charAt(byte % (index === 0 ? 23 : ID_CHARACTERS.length)))
    .join('');
}
