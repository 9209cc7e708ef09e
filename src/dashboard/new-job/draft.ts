import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import type { MappingFile, MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import type { MappingAnswers, MappingQuestion } from '../../onboarding/guess/propose-mapping.ts';
import { candidateOf } from '../../onboarding/guess-mapping.ts';
import {
  examineIsolated,
  lookForNewJob,
  type ReadingQuestion,
  readingQuestion,
  type SourceGuess,
  type SourceLook,
} from '../../onboarding/preview-source.ts';
import { knownProducts } from '../../run/records/known-products.ts';
import { keepNewest, type Upload, type Uploads, withoutFolder } from '../actions/uploads.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { CSRF_FIELD } from '../pages/post-form.ts';
import { type FormFields, limitConcurrentReads, sentenceOf } from '../route-parts.ts';

/** A job that is being made in a browser. Nothing of it is in the workspace yet. */
export interface Draft {
  readonly id: string;
  readonly source:
    | { readonly kind: 'file'; readonly upload: Upload }
    | { readonly kind: 'web'; readonly url: string };
  /** As they were last sent, without the key of the store. */
  fields: FormFields;
  apiKey: string | undefined;
  answers: MappingAnswers;
  /** Every question that was asked about the mapping, so that its answer can be changed. */
  readonly asked: Map<string, MappingQuestion>;
  readonly looks: Map<string, Promise<SourceLook>>;
}

/** The purpose of uploads for new jobs. */
export const NEW_JOB = 'new-job';
/** The most jobs that are made at a time; the oldest is forgotten. */
const MAX_DRAFTS = 10;
/** The most ways of reading a file that are kept. */
const MAX_CONCURRENT_READS = 4;
/** A page does not wait longer than this for a file on the web. */
export const FETCH_WITHIN_MS = 120_000;

/** Starts without drafts. */
export function createDrafts(uploads: Uploads) {
  const drafts = new Map<string, Draft>();
  return {
    open(source: Draft['source']): Draft {
      const draft: Draft = {
        id: randomUUID(),
        source,
        fields: {},
        apiKey: undefined,
        answers: {},
        asked: new Map(),
        looks: new Map(),
      };
      keepNewest(drafts, MAX_DRAFTS, draft.id, draft);
      return draft;
    },
    find(id: string): Draft | undefined {
      const draft = drafts.get(id);
      if (draft?.source.kind !== 'file') return draft;
      return uploads.find(draft.source.upload.id, NEW_JOB) === undefined ? undefined : draft;
    },
    async drop(draft: Draft): Promise<void> {
      drafts.delete(draft.id);
      if (draft.source.kind === 'file') await uploads.drop(draft.source.upload);
    },
  };
}

/** The mapping that is proposed for the file, in the list of mappings. */
export const OWN_MAPPING = 'new';

/** A question about how a file is read, with the answer in use. */
export interface AskedReading {
  readonly question: ReadingQuestion;
  /** Undefined while it is open. */
  readonly value: string | undefined;
}

/** What a draft is so far. */
export interface DraftState {
  readonly name: string;
  readonly asked: readonly AskedReading[];
  /** How the file is read, as far as somebody has said it. */
  readonly reading: Reading;
  /** Why there is no `file`: a sentence, or null while a question is open. */
  readonly problem: string | null;
  readonly file: DraftFile | undefined;
}

/** A file that can be read, and what is made of it. */
export interface DraftFile extends SourceGuess {
  readonly look: SourceLook;
  readonly known: readonly MappingFile[];
  /** The name of a known mapping, or `OWN_MAPPING`. */
  readonly mapping: string;
  /** What the store knows of the products that the file changes; null where it gives whole products. */
  readonly updates: string | null | undefined;
}

/** Reads the source of a draft and everything that follows from its answers. PageError while others read theirs. */
export async function readDraft(draft: Draft, dashboard: DashboardContext): Promise<DraftState> {
  return await limitConcurrentReads(async () => {
    const name = draft.source.kind === 'file' ? basename(draft.source.upload.path) : draft.source.url;
    const { look, ...read } = await readLook(draft, dashboard);
    const file = look && (await readMapping(draft, look, dashboard).catch(sentenceOf));
    if (typeof file !== 'string') return { name, ...read, file };
    return { name, ...read, problem: shownOf(draft, file), file: undefined };
  });
}

type Reading = Readonly<Partial<Record<ReadingQuestion['key'], string>>>;

async function readLook(draft: Draft, dashboard: DashboardContext) {
  const asked: AskedReading[] = [];
  const typedRow = draft.fields['headerRow'] ?? '';
  let reading: Reading = /^[1-9]\d*$/.test(typedRow) ? { headerRow: typedRow } : {};
  for (;;) {
    try {
      return { asked, reading, problem: null, look: await lookOnce(draft, reading, dashboard) };
    } catch (error) {
      const question = readingQuestion(error);
      if (question === undefined || reading[question.key] !== undefined)
        return { asked, reading, problem: shownOf(draft, dashboard.redact(sentenceOf(error))) };
      const given = draft.fields[question.key];
      const value = given === undefined || given === '' ? question.likely : given;
      asked.push({ question, value });
      if (value === undefined) return { asked, reading, problem: null };
      reading = { ...reading, [question.key]: value };
    }
  }
}

/** A message for the page of a draft: its file has the name that the visitor knows. */
function shownOf({ source }: Draft, text: string): string {
  return source.kind === 'file' ? withoutFolder(text, source.upload) : text;
}

/** A file is read once for each way of reading it. */
async function lookOnce(draft: Draft, known: Reading, dashboard: DashboardContext): Promise<SourceLook> {
  const key = JSON.stringify(known);
  const before = draft.looks.get(key);
  if (before !== undefined) return await before;
  const { source } = draft;
  const place = source.kind === 'file' ? source.upload.path : dashboard.openWorkspace().webPlace(source.url);
  const { headerRow, ...others } = known;
  const look = lookForNewJob(place, {
    ...others,
    headerRow: headerRow === undefined ? undefined : Number(headerRow),
    signal: AbortSignal.any([dashboard.context.signal, AbortSignal.timeout(FETCH_WITHIN_MS)]),
  });
  keepNewest(draft.looks, MAX_CONCURRENT_READS, key, look);
  return await look;
}

async function readMapping(draft: Draft, look: SourceLook, dashboard: DashboardContext): Promise<DraftFile> {
  const { fields } = draft;
  const workspace = dashboard.openWorkspace();
  const known = workspace.mappingNames().flatMap((name) => workspace.inspection.mapping(name)?.value ?? []);
  const store = fields['store'] ?? workspace.inspection.stores().names?.[0];
  const config = store === undefined ? undefined : workspace.inspection.store(store)?.value;
  const { weightUnit = 'kg', currency } = config ?? {};
  const guess = await examineIsolated(look, dashboard.context.signal, 'guess', {
    ...draftedChoices(draft, known),
    look,
    known: known.map(candidateOf),
    params: paramsOf(fields),
    weightUnit,
    currency,
    now: dashboard.context.clock(),
  });
  const { preview, refused } = guess;
  for (const question of guess.proposal?.questions ?? []) draft.asked.set(question.id, question);
  if (refused !== null) draft.answers = {};
  return {
    ...guess,
    look,
    known,
    mapping: guess.mapping ?? OWN_MAPPING,
    updates: guess.spec && (await knownProducts(dashboard.context.state, config ?? null, guess.spec, look)),
    refused: refused && `${refused} The columns are as they were proposed.`,
    preview: typeof preview === 'string' ? shownOf(draft, preview) : preview,
  };
}

function draftedChoices({ fields, answers }: Draft, known: readonly MappingFile[]) {
  const { mapping } = fields;
  const chosen = known.find(({ name }) => name === mapping)?.name;
  return { mapping: mapping === OWN_MAPPING ? null : chosen, imports: importsOf(fields['imports']), answers };
}

function importsOf(text: string | undefined): MappingSpec['import'] | undefined {
  return text === 'products' || text === 'contacts' ? text : undefined;
}

function paramsOf(fields: FormFields): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = /^param\.(.+)$/s.exec(field)?.[1];
      return name === undefined || value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}

/** Takes what a form says about the columns and the questions of a proposed mapping. */
export function takeAnswers(draft: Draft, fields: FormFields): void {
  const changed = (name: string) => draft.fields[name] !== undefined && draft.fields[name] !== fields[name];
  const isOther = changed('imports') || changed('sheet') || changed('records') || changed('headerRow');
  const answers: Record<string, string> = isOther ? {} : { ...draft.answers };
  const columns = Object.keys(fields).flatMap((name) => /^field\.(\d+)$/.exec(name)?.[1] ?? []);
  const moved = columns.filter((index) => fields[`field.${index}`] !== fields[`was.${index}`]);
  for (const index of isOther ? [] : moved) {
    const field = fields[`was.${index}`] ?? '';
    const other = columns.find((one) => one !== index && fields[`field.${one}`] === field);
    if (field !== '')
      answers[`column.${field}`] = other === undefined ? '' : (fields[`column.${other}`] ?? '');
  }
  for (const index of isOther ? [] : moved) {
    const field = fields[`field.${index}`] ?? '';
    if (field !== '') answers[`column.${field}`] = fields[`column.${index}`] ?? '';
  }
  for (const [name, value = ''] of isOther ? [] : Object.entries(fields)) {
    const id = /^answer\.(.+)$/s.exec(name)?.[1];
    const answer = value.startsWith('=') ? value.slice(1) : value;
    // A question that still shows the answer of before does not undo what was chosen in the table.
    if (id === undefined || value === '' || answer === draft.answers[id]) continue;
    answers[id] = answer;
  }
  const { apiKey, [CSRF_FIELD]: _, ...others } = fields;
  draft.answers = answers;
  draft.fields = others;
  if (apiKey !== undefined && apiKey.trim() !== '') draft.apiKey = apiKey.trim();
}
