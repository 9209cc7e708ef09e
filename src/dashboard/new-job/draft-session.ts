import { randomUUID } from 'node:crypto';
import { basename, join } from 'node:path';
import { freeName } from '../../config/edit-file.ts';
import type { Workspace } from '../../config/workspace.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import {
  answerDraft,
  type DraftEffects,
  type DraftState,
  EMPTY_DRAFT,
  examineDraft,
  type FoundPlace,
  isJobQuestion,
  isMappingQuestion,
  type JobDraft,
  rememberQuestions,
  settingOf,
} from '../../onboarding/job-draft.ts';
import {
  examineIsolated,
  fetchHostKey,
  fileToGuess,
  lookAtSource,
  type SourceLook,
} from '../../onboarding/preview-source.ts';
import { knownProducts } from '../../run/records/record-history.ts';
import { keepNewest, keptReading, type Upload, type Uploads, withoutFolder } from '../actions/uploads.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { type FormFields, limitConcurrentReads } from '../route-parts.ts';
import { firstPicture, type ZippedPicture } from './file-grid.ts';
import { UPLOADS_FOLDER } from './upload-targets.ts';

/** A job that is being made in a browser. */
export interface DraftSession {
  readonly id: string;
  readonly source:
    | { readonly kind: 'file'; readonly upload: Upload }
    /** `name`: the address without its secrets. */
    | { readonly kind: 'remote'; readonly address: string; readonly name: string };
  crosswalk: Upload | undefined;
  /** A ZIP with the files that cells name as pictures, and their paths in it. */
  pictures?: { readonly upload: Upload; readonly names: readonly string[] };
  /** The address and the key that could not be tested, because the store did not answer. */
  untested?: string;
  draft: JobDraft;
  /** The job that was made: a second click makes no other, and the files are gone. */
  job?: string;
  /** The address of the first picture of the first product. */
  picture?: string | undefined;
  readonly looks: Map<string, Promise<SourceLook>>;
  /** The key that the SSH server has shown. */
  readonly hostKeys: Map<string, Promise<string>>;
}

/** The purpose of uploads for new jobs. */
export const NEW_JOB = 'new-job';
/** The most jobs that are made at a time; the oldest is forgotten. */
const MAX_DRAFTS = 10;
/** The most ways of reading a file that are kept. */
const MAX_LOOKS = 5;
/** A page does not wait longer than this for a file of another machine. */
export const FETCH_WITHIN_MS = 120_000;

/** Starts without drafts. */
export function createDrafts(uploads: Uploads) {
  const sessions = new Map<string, DraftSession>();
  return {
    open(source: DraftSession['source']): DraftSession {
      const file = source.kind === 'file' ? source.upload.id : source.name;
      const session: DraftSession = {
        id: randomUUID(),
        source,
        crosswalk: undefined,
        draft: answerDraft(EMPTY_DRAFT, { file }),
        looks: new Map(),
        hostKeys: new Map(),
      };
      keepNewest(sessions, MAX_DRAFTS, session.id, session);
      return session;
    },
    find(id: string): DraftSession | undefined {
      const session = sessions.get(id);
      if (session === undefined || session.job !== undefined) return session;
      return uploadsOf(session).every((one) => uploads.find(one.id, NEW_JOB)) ? session : undefined;
    },
    /** Forgets the files of a session whose job was made. */
    async dropFiles(session: DraftSession): Promise<void> {
      for (const upload of uploadsOf(session)) await uploads.drop(upload);
    },
  };
}

/** The file of the uploaded ZIP that the first product names, and its path there; undefined for a picture elsewhere. */
export function zippedPicture({
  picture,
  pictures,
  draft: { answers },
}: DraftSession): ZippedPicture | undefined {
  const { imageBase = '' } = answers;
  if (pictures === undefined || picture?.startsWith(imageBase) !== true) return undefined;
  const named = picture.slice(imageBase.length).replace(/^\//, '');
  const path = pictures.names.find((name) => name === named || name.endsWith(`/${named}`));
  return { zip: pictures.upload, named, path };
}

function uploadsOf({ source, crosswalk, pictures }: DraftSession): readonly Upload[] {
  return withoutAbsent([source.kind === 'file' && source.upload, crosswalk, pictures?.upload]);
}

/** Reads the source of a draft and everything that follows from its answers. PageError while others read theirs. */
export async function readDraft(session: DraftSession, dashboard: DashboardContext): Promise<DraftState> {
  const { context, newStore } = dashboard;
  const workspace = dashboard.readWorkspace();
  const setting = {
    ...settingOf(workspace),
    dir: workspace.dir,
    known: newStore.known(),
    sandbox: newStore.sandbox,
    isVisitor: true,
    pictures: session.pictures && copyOf(session.pictures.upload, workspace),
    now: context.clock(),
  };
  const fetching = () => AbortSignal.any([context.signal, AbortSignal.timeout(FETCH_WITHIN_MS)]);
  const effects: DraftEffects = {
    // A page shows what it takes.
    acceptsDefault: () => true,
    findFile: async (id) => findFile(session, id, dashboard),
    hostKey: async (server) =>
      await keptReading(
        session.hostKeys,
        1,
        server.location,
        async () => await fetchHostKey(server, fetching()),
      ),
    async look(place, reading) {
      const key = JSON.stringify([place, reading]);
      return await keptReading(session.looks, MAX_LOOKS, key, () => {
        return lookAtSource(place, { ...reading, signal: fetching() });
      });
    },
    guess: async (request) => await examineIsolated(request.look, context.signal, 'guess', request),
    recognise: async (look, known) =>
      await examineIsolated(look, context.signal, 'recognise', fileToGuess(look), known),
    async knownProducts(store, spec, look) {
      const config = store === undefined ? undefined : workspace.inspection.store(store)?.value;
      return await knownProducts(context.state, config ?? null, spec, look);
    },
  };
  const examine = async () => await limitConcurrentReads(() => examineDraft(session.draft, setting, effects));
  if (session.pictures !== undefined && session.draft.answers['imageBase'] === '')
    session.draft = answerDraft(session.draft, { imageBase: undefined });
  let state = await examine();
  // Without an address and without files products have no pictures: a visitor may have neither.
  if (session.pictures === undefined && state.questions.some(isOpenBase)) {
    session.draft = answerDraft(rememberQuestions(session.draft, state), { imageBase: '' });
    state = await examine();
  }
  session.picture = state.file && firstPicture(state.file);
  const refused = Object.keys(state.file?.guess.refused ?? {});
  session.draft = rememberQuestions(
    answerDraft(session.draft, Object.fromEntries(refused.map((id) => [id, undefined]))),
    state,
  );
  return state;
}

function isOpenBase({ id, answer }: DraftState['questions'][number]) {
  return id === 'imageBase' && answer === undefined;
}

/** The path of an uploaded file in the workspace, as a copy. */
function copyOf({ path: from }: Upload, { dir }: Workspace) {
  return { copy: `${UPLOADS_FOLDER}/${freeName(join(dir, UPLOADS_FOLDER), basename(from))}`, from };
}

function findFile(
  { source, crosswalk }: DraftSession,
  id: Parameters<DraftEffects['findFile']>[0],
  dashboard: DashboardContext,
): FoundPlace {
  const workspace = dashboard.readWorkspace();
  if (id === 'file' && source.kind === 'remote') {
    return workspace.typedPlace(source.address);
  }
  const upload = source.kind === 'file' && id === 'file' ? source.upload : crosswalk;
  if (upload === undefined) return { problem: 'upload the file again' };
  const { copy, from } = copyOf(upload, workspace);
  return { place: from, name: basename(from), written: { path: copy }, copy, mayStay: false };
}

/** A message for the page of a draft: its files have the names that the visitor knows. */
export function shownOf(session: DraftSession, text: string): string {
  return uploadsOf(session).reduce(withoutFolder, text);
}

/** Answers that a form does not have: they stay. */
function isKept(id: string) {
  return /^(?:file|crosswalkFile|apiKey|password|variable\..*)$/.test(id) || isMappingQuestion(id);
}

/** Takes what a form says. */
export function takeAnswers(session: DraftSession, fields: FormFields): void {
  const { answers } = session.draft;
  const left = Object.keys(answers).filter((id) => !isKept(id));
  const typed = Object.entries(fields).flatMap(([name, value = '']) => {
    if (!isJobQuestion(name) || name === 'file' || name === 'crosswalkFile') return [];
    if (name === 'headerRow' && isOtherSheet(answers, fields)) return [];
    // Without a currency all prices must be in one, which is an answer; a secret is not sent back.
    return value.trim() === '' && name !== 'currency' ? [] : [[name, value] as const];
  });
  session.draft = answerDraft(
    { ...session.draft, reading: readingOf(session.draft, fields) },
    {
      ...Object.fromEntries([...left.map((id) => [id, undefined]), ...typed]),
      ...matchedColumns(answers, fields),
    },
  );
}

/** The rows that a form names, where somebody has chosen others than the page has shown; they belong to their sheet. */
function readingOf({ reading, answers }: JobDraft, fields: FormFields): JobDraft['reading'] {
  if (isOtherSheet(answers, fields)) return {};
  const chosen = (name: 'headerRow' | 'dataRow') => {
    const { [name]: now = '', [`was.${name}`]: was } = fields;
    return now !== was && /^[1-9]\d*$/.test(now) ? Number(now) : undefined;
  };
  const headerRow = chosen('headerRow');
  if (headerRow !== undefined) return { headerRow };
  const { 'was.headerRow': shown } = fields;
  if (shown === undefined) return {};
  const dataRow = chosen('dataRow');
  if (dataRow === undefined) return reading;
  const { headerRow: own = Number(shown) } = reading;
  return dataRow === Number(shown) + 1 ? { headerRow: reading.headerRow } : { headerRow: own, dataRow };
}

function isOtherSheet({ sheet }: JobDraft['answers'], fields: FormFields) {
  return sheet !== undefined && sheet !== fields['sheet'];
}

/** What the table of the columns and the questions about them say. */
function matchedColumns(before: JobDraft['answers'], fields: FormFields): Readonly<Record<string, string>> {
  const answers: Record<string, string> = {};
  const columns = Object.keys(fields).flatMap((name) => /^field\.(\d+)$/.exec(name)?.[1] ?? []);
  const moved = columns.filter((index) => fields[`field.${index}`] !== fields[`was.${index}`]);
  for (const index of moved) {
    const field = fields[`was.${index}`] ?? '';
    const other = columns.find((one) => one !== index && fields[`field.${one}`] === field);
    if (field !== '')
      answers[`column.${field}`] = other === undefined ? '' : (fields[`header.${other}`] ?? '');
  }
  for (const index of moved) {
    const field = fields[`field.${index}`] ?? '';
    if (field !== '') answers[`column.${field}`] = fields[`header.${index}`] ?? '';
  }
  for (const [name, value = ''] of Object.entries(fields)) {
    const id = /^answer\.(.+)$/s.exec(name)?.[1];
    const answer = value.startsWith('=') ? value.slice(1) : value;
    // A question that still shows the answer of before does not undo what was chosen in the table.
    if (id === undefined || (value === '' && id !== 'imageBase') || answer === before[id]) continue;
    answers[id] = answer;
  }
  return answers;
}
