import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freeYamlName } from '../config/edit-file.ts';
import {
  cronOf,
  importJobSchema,
  isAskedBeside,
  matchableFields,
  SCHEDULE_CHOICES,
  SCHEDULE_FIELD_NAMES,
  SCHEDULE_FIELDS,
  whyNoSchedule,
  whyNoTime,
} from '../config/job/job.ts';
import { baseUrlSchema, isName, storeSchema } from '../config/store-config.ts';
import type { Workspace } from '../config/workspace.ts';
import {
  type MappingFile,
  type MappingSpec,
  unsetParams,
  updateMatch,
} from '../mapping/spec/mapping-spec.ts';
import { isTimezone } from '../model/clock.ts';
import { withoutAbsent } from '../model/json-object.ts';
import type { FilePlace } from '../model/remote-address.ts';
import { delimiterName } from '../model/row.ts';
import { explainError, InterruptedError, StoreferryError } from '../model/storeferry-error.ts';
import { looksSecret } from '../text/masked.ts';
import { didYouMean, listed, loosened } from '../text/printable.ts';
import {
  type CrosswalkColumn,
  type CrosswalkMatch,
  crosswalkColumn,
  crosswalkColumns,
  crosswalkMatch,
  emailColumn,
  idColumn,
} from './crosswalk-columns.ts';
import { MAPPING_QUESTIONS, type MappingQuestion } from './guess/propose-mapping.ts';
import { candidateOf, fitHeader, type MappingCandidate, type RecognisedFile } from './guess-mapping.ts';
import type { NewJob, Reading, WrittenPlace } from './job-text.ts';
import { type knownStore, NEW_STORE, type NewWorkspace, STORE_VARIABLES } from './new-workspace.ts';
import type { GuessRequest, SourceGuess, SourceLook, SourcePreview } from './preview-source.ts';
import { type ReadingQuestion, readUntilClear } from './read-until-clear.ts';

/** The kinds of questions about a new job: asked once, or for each name (`param.currency`). */
export const JOB_QUESTIONS = {
  once: [
    ...(['storeKind', 'url', 'apiKey', 'store', 'file', 'place'] as const),
    ...(['sheet', 'records', 'headerRow', 'encoding', 'delimiter', 'mapping', 'imports'] as const),
    ...MAPPING_QUESTIONS.once,
    ...(['crosswalk', 'crosswalkFile', 'crosswalkMatch', 'crosswalkId', 'picturesTo'] as const),
    ...(['weightUnit', 'name', 'schedule', ...SCHEDULE_FIELD_NAMES, 'cron', 'timezone'] as const),
  ],
  byName: [...MAPPING_QUESTIONS.byName, ...(['param', 'variable'] as const)],
} as const;

type Once = (typeof JOB_QUESTIONS.once)[number];
type ByName = (typeof JOB_QUESTIONS.byName)[number];
/** A kind of question about a new job. */
export type JobQuestionKind = Once | ByName;
/** The id of a question: `name`, `column.price`. */
export type JobQuestionId = Once | `${ByName}.${string}`;

/** Answers by the ids of their questions. */
export type JobAnswers = Readonly<Record<string, string>>;

/** A job that is being made, as plain data. Nothing of it is in the workspace yet. */
export interface JobDraft {
  readonly answers: JobAnswers;
  /** How the file is read, whatever it looks like. */
  readonly reading: Reading;
  /** The questions about columns that were asked before, so that their answers can be changed. */
  readonly asked: readonly MappingQuestion[];
}

/** A job of which nothing is known. */
export const EMPTY_DRAFT: JobDraft = { answers: {}, reading: {}, asked: [] };

/** Another answer to one of these makes another table of the file. */
const TABLE_QUESTIONS: readonly JobQuestionId[] = ['imports', 'sheet', 'records', 'headerRow'];

const KINDS: readonly JobQuestionKind[] = [...JOB_QUESTIONS.once, ...JOB_QUESTIONS.byName];

/** Whether a text is the id of a question. */
export function isJobQuestion(id: string): id is JobQuestionId {
  const [kind, ...name] = id.split('.');
  const kinds: readonly string[] = name.length > 0 ? JOB_QUESTIONS.byName : JOB_QUESTIONS.once;
  return kind !== undefined && kinds.includes(kind);
}

/** The kind of a question. */
export function questionKind(id: JobQuestionId): JobQuestionKind {
  const [first] = id.split('.');
  const kind = KINDS.find((one) => one === first);
  if (kind === undefined) throw new TypeError(`${id} is no question`);
  return kind;
}

/** Whether a question is about the columns of a file for which a mapping is proposed. */
export function isMappingQuestion(id: string): boolean {
  const [kind = ''] = id.split('.');
  const { once, byName } = MAPPING_QUESTIONS;
  return [...once, ...byName].some((one) => one === kind);
}

/**
 * The draft with other answers; undefined removes one. Answers about the columns do not outlive a change of the table that has
 * them.
 */
export function answerDraft(draft: JobDraft, given: Readonly<Record<string, string | undefined>>): JobDraft {
  const before = draft.answers;
  const now: Readonly<Record<string, string | undefined>> = { ...before, ...given };
  const isOtherTable = TABLE_QUESTIONS.some((id) => before[id] !== undefined && before[id] !== now[id]);
  const answers = Object.fromEntries(
    Object.entries(now).flatMap(([id, answer]) =>
      answer === undefined || (isOtherTable && isMappingQuestion(id)) ? [] : [[id, answer]],
    ),
  );
  return { ...draft, answers, asked: isOtherTable ? [] : draft.asked };
}

/** The draft that remembers which questions about columns it has asked. */
export function rememberQuestions(draft: JobDraft, { file }: Pick<DraftState, 'file'>): JobDraft {
  const asked = new Map(
    [...draft.asked, ...(file?.guess.proposal?.questions ?? [])].map((one) => [one.id, one]),
  );
  return { ...draft, asked: [...asked.values()] };
}

/**
 * How reliable the default answer to a question is. `settled`: it follows from other answers. `default`: it can be changed
 * later. `guess`: the file shows it. `preset`: somebody should see it. `confirm`: somebody must see it with what it makes of the file.
 */
type Reliance = 'settled' | 'default' | 'guess' | 'preset' | 'confirm';

/** One of the answers that a question offers. */
interface JobChoice {
  readonly value: string;
  readonly name: string;
  readonly description?: string | undefined;
  /** A word as it reads with this answer. */
  readonly sample?: string | undefined;
}

/** A question about a new job. */
export interface JobQuestion {
  readonly id: JobQuestionId;
  readonly text: string;
  /** Why it is asked; a sentence. */
  readonly reason?: string | undefined;
  readonly form: 'choice' | 'text' | 'secret' | 'file';
  /** Of a choice; for a text, examples. */
  readonly choices: readonly JobChoice[];
  /** The answer if nobody gives one; undefined where somebody must. */
  readonly defaultAnswer?: string | undefined;
  /** What it would be, for a text that may stay empty. */
  readonly example?: string | undefined;
  /** What is missing without an answer; a sentence. */
  readonly missing?: string | undefined;
  /** The option of `init` that answers it, with an example. */
  readonly flag?: string | undefined;
  /** Where the file leaves it open. */
  readonly place?: StoreferryError['place'];
  readonly reliance: Reliance;
}

/** A question with the answer in use. */
export interface AskedQuestion extends JobQuestion {
  /** Undefined while it is open. */
  readonly answer: string | undefined;
  /** Why the answer cannot be used: a phrase, or sentences. */
  readonly problem: string | undefined;
}

/** A store of stores.yaml. */
interface StoreOfDraft {
  readonly name: string;
  readonly weightUnit: PreviewUnit | undefined;
  readonly currency: string | undefined;
  /** Its variables without a value. */
  readonly unset: readonly string[];
}

type PreviewUnit = GuessRequest['weightUnit'];

/** What a draft depends on besides its answers. */
export interface DraftSetting {
  readonly dir: string;
  readonly mappings: readonly MappingFile[];
  /** The stores of stores.yaml; undefined if there is no such file, `broken` if it has errors. */
  readonly stores: readonly StoreOfDraft[] | 'broken' | undefined;
  /** What the environment or `.env` names already. */
  readonly known: ReturnType<typeof knownStore>;
  readonly sandbox: { readonly url: string; readonly apiKey: string };
  /** The files of the pictures that cells name, and their path in the workspace as a copy. */
  readonly pictures?: { readonly copy: string; readonly from: string } | undefined;
  /** Whether the answers come from a visitor, who must not learn or redirect keys of the environment. */
  readonly isVisitor: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The mappings and stores of a workspace, for a draft. */
export function settingOf({
  inspection,
  files,
  mappingNames,
}: Workspace): Pick<DraftSetting, 'mappings' | 'stores'> {
  const mappings = mappingNames().flatMap((name) => inspection.mapping(name)?.value ?? []);
  if (files.stores() === undefined) return { mappings, stores: undefined };
  const stores = inspection.stores().names?.map((name): StoreOfDraft => {
    const { value, unset = [] } = inspection.store(name) ?? {};
    const variables = new Set(unset.map((variable) => variable.name));
    return { name, weightUnit: value?.weightUnit, currency: value?.currency, unset: [...variables] };
  });
  return { mappings, stores: stores ?? 'broken' };
}

/** A file that an answer names. */
export interface FoundFile {
  readonly place: string | FilePlace;
  /** For people. */
  readonly name: string;
  /** As the job writes it, if it stays where it is. */
  readonly written: WrittenPlace;
  /** Its path in the workspace as a copy; undefined where none can be made. */
  readonly copy: string | undefined;
  /** Whether to copy it is asked; otherwise it is copied if it can be. */
  readonly mayStay: boolean;
}

/** What reads files and state for a draft. */
export interface DraftEffects {
  /** Whether the default answer to a question is used without asking. */
  readonly acceptsDefault: (question: JobQuestion) => boolean;
  /** The file that an answer names, or why there is none. */
  readonly findFile: (
    id: 'file' | 'crosswalkFile',
    answer: string,
  ) => Promise<FoundFile | { readonly problem: string }>;
  readonly look: (place: FoundFile['place'], reading: Reading) => Promise<SourceLook>;
  readonly guess: (request: GuessRequest) => Promise<SourceGuess>;
  readonly recognise: (look: SourceLook, known: readonly MappingCandidate[]) => Promise<RecognisedFile>;
  /** What the ledger of a store (undefined: a new one) knows of the products that a file changes. */
  readonly knownProducts: (
    store: string | undefined,
    spec: MappingSpec,
    look: SourceLook,
  ) => Promise<string | null>;
}

/** A file that can be read, and what is made of it. */
export interface DraftFile {
  readonly name: string;
  readonly look: SourceLook;
  readonly guess: SourceGuess;
  /** What it means for the store, as sentences. */
  readonly findings: readonly string[];
  /** What the store sells in, or what the prices name; undefined if neither is known. */
  readonly currency: string | undefined;
}

/** What follows from the answers of a draft. */
export interface DraftState {
  /** In the order in which they are asked, those with an answer included. */
  readonly questions: readonly AskedQuestion[];
  /** What was found out about how the file is read, as sentences. */
  readonly notes: readonly string[];
  /** Why the file cannot be read. */
  readonly problem: StoreferryError | null;
  readonly file: DraftFile | undefined;
  /** What is written; undefined while a question is open, or an answer cannot be used. */
  readonly made: NewWorkspace | undefined;
}

/** Collects the questions, each with its answer. */
class Inquiry {
  readonly questions: AskedQuestion[] = [];
  readonly #answers: JobAnswers;
  readonly #acceptsDefault: DraftEffects['acceptsDefault'];

  constructor({ answers }: JobDraft, acceptsDefault: DraftEffects['acceptsDefault']) {
    this.#answers = answers;
    this.#acceptsDefault = acceptsDefault;
  }

  given(id: JobQuestionId): string | undefined {
    return this.#answers[id];
  }

  /** The answers of a kind that has several questions, by the names of these. */
  givenByName(kind: ByName): Record<string, string> {
    return Object.fromEntries(
      Object.entries(this.#answers).flatMap(([id, answer]) =>
        id.startsWith(`${kind}.`) ? [[id.slice(kind.length + 1), answer]] : [],
      ),
    );
  }

  /** The answer that can be used; undefined while there is none. `whyNot`: why an answer cannot be. */
  ask(
    {
      choices = [],
      form = choices.length > 0 ? 'choice' : 'text',
      reliance = 'preset',
      ...asked
    }: NewQuestion,
    whyNot: (answer: string) => string | undefined = () => undefined,
  ): string | undefined {
    const question: JobQuestion = { ...asked, choices, form, reliance };
    const given = this.#answers[question.id];
    const typed = form === 'choice' ? given : given?.trim();
    const answer = typed ?? (this.#acceptsDefault(question) ? question.defaultAnswer : undefined);
    const problem = answer === undefined ? undefined : whyNot(answer);
    this.questions.push({ ...question, answer, problem });
    return problem === undefined ? answer : undefined;
  }

  /** Says why an answer cannot be used after all. */
  refuse(id: JobQuestionId, problem: string): void {
    const at = this.questions.findIndex((question) => question.id === id);
    const question = this.questions[at];
    if (question !== undefined) this.questions[at] = { ...question, problem };
  }

  isAsked(id: JobQuestionId): boolean {
    return this.questions.some((question) => question.id === id);
  }

  get isComplete(): boolean {
    return this.questions.every(({ answer, problem }) => answer !== undefined && problem === undefined);
  }
}

type NewQuestion = Omit<JobQuestion, 'choices' | 'form' | 'reliance'> & Partial<JobQuestion>;

/** What follows from the answers: asks what they leave open, reads the file as far as they allow, and composes the job. */
export async function examineDraft(
  draft: JobDraft,
  setting: DraftSetting,
  effects: DraftEffects,
): Promise<DraftState> {
  const inquiry = new Inquiry(draft, effects.acceptsDefault);
  const candidates = setting.mappings.map(candidateOf);
  const notes: string[] = [];
  const state = { questions: inquiry.questions, notes, problem: null, file: undefined, made: undefined };
  const store = askStore(inquiry, setting);
  try {
    const found = await askFile(inquiry, 'file', 'The file to import', effects);
    const read =
      found &&
      (await readUntilClear((reading) => effects.look(found.place, reading), draft.reading, {
        isKnown: async (look) => (await effects.recognise(look, candidates)).best !== undefined,
        note: (sentence) => void notes.push(sentence),
        decide: (question) => askReading(inquiry, question),
      }));
    if (found === undefined || read === undefined) return state;
    const { look } = read;
    const { guess, spec } = await askMapping(inquiry, draft, look, { store, setting, effects });
    const file = { name: found.name, look, guess };
    if (spec === undefined) return { ...state, file: { ...file, findings: [], currency: undefined } };
    const updates =
      updateMatch(spec) === undefined ? null : await effects.knownProducts(store.known?.name, spec, look);
    const findings = withoutAbsent([updates !== null && updates, ...foreignPrices(guess, inquiry, store)]);
    const source = askPlace(inquiry, found);
    const crosswalk = spec.import === 'contacts' ? await askCrosswalk(inquiry, spec, effects) : null;
    const settings = askSettings(inquiry, { guess, spec, store, setting });
    const made =
      source !== undefined && inquiry.isComplete
        ? composeWorkspace({ source, reading: read.reading, file, spec, store, crosswalk, settings, setting })
        : undefined;
    return { ...state, file: { ...file, findings, currency: soldIn(inquiry, store, guess) }, made };
  } catch (error) {
    if (!(error instanceof StoreferryError) || error instanceof InterruptedError) throw error;
    return { ...state, problem: error };
  }
}

/** The store that a job is for. */
interface StoreAnswer {
  /** Undefined for a new one. */
  readonly known: StoreOfDraft | undefined;
  /** For `.env`. */
  readonly variables: Readonly<Record<string, string>>;
  readonly isSandbox: boolean;
}

function askStore(inquiry: Inquiry, setting: DraftSetting): StoreAnswer {
  const { stores } = setting;
  if (stores === undefined) return askNewStore(inquiry, setting);
  const known = stores === 'broken' ? [] : stores;
  const names = known.map(({ name }) => name);
  const [only, second] = names;
  const name = inquiry.ask(
    {
      id: 'store',
      text: STORE_TEXT,
      form: 'choice',
      choices: choicesOf(names),
      reliance: 'settled',
      defaultAnswer: second === undefined ? (only ?? '') : undefined,
      missing: `There are several stores: ${names.join(', ')}.`,
    },
    (answer) => {
      if (stores === 'broken') return 'stores.yaml has errors: correct it first';
      if (only === undefined) return 'stores.yaml has no store: add one, or remove the file and start again';
      if (names.includes(answer)) return undefined;
      return `stores.yaml has no store '${answer}'; its stores: ${names.join(', ')}`;
    },
  );
  return { known: known.find((one) => one.name === name), variables: {}, isSandbox: false };
}

const STORE_TEXT = 'Which store is it for?';

function askNewStore(inquiry: Inquiry, { known, sandbox, isVisitor }: DraftSetting): StoreAnswer {
  const kind = inquiry.ask({
    id: 'storeKind',
    text: STORE_TEXT,
    defaultAnswer: 'own',
    choices: [
      { value: 'own', name: 'My store: I have its address and an API key' },
      {
        value: 'sandbox',
        name: `None yet: the sandbox at ${sandbox.url}`,
        description: 'A complete storefront on this machine. Address and key can be changed later, in .env.',
      },
    ],
  });
  const isSandbox = kind === 'sandbox';
  const unless = <Check>(check: Check) => (isSandbox ? undefined : check);
  const url = inquiry.ask(
    {
      id: 'url',
      text: 'Address of the store',
      missing: 'The address of the store is missing.',
      defaultAnswer: isSandbox ? sandbox.url : known.url,
      reliance: isSandbox ? 'settled' : 'preset',
    },
    unless((answer) => baseUrlSchema.safeParse(answer).error?.issues[0]?.message),
  );
  // The key of the environment goes to its own store only, wherever a visitor wants it.
  const isKnown = known.url === undefined ? !isVisitor : originOf(url) === originOf(known.url);
  const apiKey = inquiry.ask(
    {
      id: 'apiKey',
      text: 'API key',
      form: 'secret',
      reliance: 'settled',
      defaultAnswer: isSandbox ? sandbox.apiKey : isKnown ? known.apiKey : undefined,
      missing: `The API key of the store is missing.${known.apiKey === undefined || isKnown ? '' : ' The known key is for the known address only.'}`,
    },
    unless(whyNoKey),
  );
  const written = isSandbox ? sandbox : { url: baseUrlSchema.safeParse(url).data, apiKey };
  if (written.url === undefined || written.apiKey === undefined)
    return { known: undefined, variables: {}, isSandbox };
  const variables = { [STORE_VARIABLES.url]: written.url, [STORE_VARIABLES.apiKey]: written.apiKey };
  const [other] = isVisitor ? known.overridden(variables) : [];
  if (other !== undefined) {
    // Else a key of the environment would go to the typed address.
    const id = isSandbox ? 'storeKind' : other === STORE_VARIABLES.url ? 'url' : 'apiKey';
    inquiry.refuse(
      id,
      `The environment of the dashboard sets ${other} to another value, which would be used instead. Remove it there, or write stores.yaml by hand.`,
    );
  }
  return { known: undefined, variables, isSandbox };
}

function whyNoKey(text: string): string | undefined {
  if (text === '') return 'expected the API key of the store';
  return storeSchema.shape.apiKey.safeParse(text).error?.issues[0]?.message;
}

function originOf(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).origin : undefined;
}

function choicesOf(values: readonly string[]): readonly JobChoice[] {
  return values.map((value) => ({ value, name: value }));
}

async function askFile(
  inquiry: Inquiry,
  id: 'file' | 'crosswalkFile',
  text: string,
  { findFile }: DraftEffects,
): Promise<FoundFile | undefined> {
  const answer = inquiry.ask({ id, text, form: 'file' });
  if (answer === undefined) return undefined;
  const found = await findFile(id, answer);
  if (!('problem' in found)) return found;
  inquiry.refuse(id, found.problem);
  return undefined;
}

function askReading(
  inquiry: Inquiry,
  { key, text, error, choices, likely, probable }: ReadingQuestion,
): string | undefined {
  const named = choices.map(({ value, name, note, sample }) => ({
    value,
    sample,
    name: note === undefined ? name : `${name} (${note})`,
  }));
  return inquiry.ask({
    id: key,
    text,
    reason: error.message,
    place: error.place,
    defaultAnswer: likely ?? probable,
    reliance: likely === undefined ? 'confirm' : 'guess',
    choices: named,
  });
}

/** The source as the job writes it, and the file that is copied there. */
interface PlacedFile {
  readonly written: FoundFile['written'];
  readonly copyOf: string | undefined;
}

function askPlace(inquiry: Inquiry, { place, written, copy, mayStay }: FoundFile): PlacedFile | undefined {
  if (copy === undefined || typeof place !== 'string') return { written, copyOf: undefined };
  const answer = mayStay
    ? inquiry.ask({
        id: 'place',
        text: 'Where does the job read the file?',
        defaultAnswer: 'place',
        reliance: 'default',
        choices: [
          {
            value: 'place',
            name: `Where it is: ${place}`,
            description: 'A new version of the file there is imported by the next run.',
          },
          { value: 'copy', name: 'From a copy in the workspace' },
        ],
      })
    : 'copy';
  if (answer === undefined) return undefined;
  return answer === 'copy' ? { written: { path: copy }, copyOf: place } : { written, copyOf: undefined };
}

/** The name for a new mapping, as an answer. */
const NEW_MAPPING = 'new';

interface MappingParts {
  readonly store: StoreAnswer;
  readonly setting: DraftSetting;
  readonly effects: DraftEffects;
}

/** What the file is, and the mapping that reads it; undefined while a question about it is open. */
async function askMapping(
  inquiry: Inquiry,
  { answers, asked }: JobDraft,
  look: SourceLook,
  { store: { known: store }, setting, effects }: MappingParts,
) {
  const { mappings } = setting;
  const given = inquiry.given('mapping');
  const imports = inquiry.given('imports');
  const guess = await effects.guess({
    look,
    known: mappings.map(candidateOf),
    now: setting.now,
    params: inquiry.givenByName('param'),
    mapping: given === NEW_MAPPING ? null : given,
    imports: imports === 'products' || imports === 'contacts' ? imports : undefined,
    answers: Object.fromEntries(Object.entries(answers).filter(([id]) => isMappingQuestion(id))),
    weightUnit: store?.weightUnit ?? 'kg',
    currency: store === undefined ? currencyOf(inquiry.given('currency')) : store.currency,
  });
  const open = { guess, spec: undefined };
  const { recognised, proposal, refused } = guess;
  const mapping = inquiry.ask(
    {
      id: 'mapping',
      text: 'Which known format does the file have?',
      choices: mappingChoices(recognised, mappings, given),
      defaultAnswer: recognised.best?.name ?? NEW_MAPPING,
      reliance: 'guess',
    },
    (name) => whyNoMapping(name, look.header, recognised, mappings),
  );
  if (mapping === undefined) return open;
  if (mapping === NEW_MAPPING) {
    const what = inquiry.ask(
      {
        id: 'imports',
        text: 'What is in the file?',
        defaultAnswer: guess.imports,
        reliance: 'default',
        choices: [
          { value: 'products', name: 'Products' },
          { value: 'contacts', name: 'Contacts' },
        ],
        missing: 'It is not clear whether the file has products or contacts.',
      },
      (answer) =>
        answer === 'products' || answer === 'contacts' ? undefined : 'expected products or contacts',
    );
    if (what === undefined) return open;
  }
  const questions = new Map([...asked, ...(proposal?.questions ?? [])].map((one) => [one.id, one]));
  for (const { id, text, reason, answers: offered, flag } of questions.values()) {
    const isOpen = proposal?.questions.some((one) => one.id === id) === true;
    const answer = answers[id];
    // The field of a column may have been chosen in a table of all columns: then another answer is not of this question.
    const isAnswered =
      answer !== undefined && (!id.startsWith('column.') || offered.some(({ value }) => value === answer));
    if (!isOpen && (proposal === undefined || !isAnswered)) continue;
    const choices = offered.map(({ value, label }) => ({ value, name: label }));
    inquiry.ask({ id, text, reason, choices, flag }, () => refused[id]);
  }
  const { spec } = guess;
  if (spec === undefined || (proposal?.questions.length ?? 0) > 0) return open;
  for (const [name, param] of Object.entries(spec.params ?? {})) {
    const { default: defaultAnswer, description } = typeof param === 'object' ? param : { default: param };
    inquiry.ask({
      id: `param.${name}`,
      text: name,
      reason: description,
      reliance: 'settled',
      defaultAnswer: defaultAnswer === undefined ? undefined : '',
      example: defaultAnswer === undefined ? undefined : String(defaultAnswer),
      missing: `The mapping needs the parameter ${name}.`,
    });
  }
  return unsetParams(spec, guess.params).length > 0 ? open : { guess, spec };
}

function mappingChoices(
  { guess, best, lost }: RecognisedFile,
  mappings: readonly MappingFile[],
  given: string | undefined,
): readonly JobChoice[] {
  const names = new Set(guess.fitting.map(({ name }) => name));
  if (mappings.some(({ name }) => name === given) && given !== undefined) names.add(given);
  return [
    ...[...names].map((name) => {
      const left = (lost.get(name) ?? []).map(({ header, field }) => `'${header}' (${field})`);
      const about = [
        mappings.find((one) => one.name === name)?.spec.description,
        left.length === 0 ? undefined : `Leaves out ${listed(left)}.`,
      ];
      return {
        value: name,
        name: `${name}${name === best?.name ? ' (recognised)' : ''}`,
        description: withoutAbsent(about).join('. '),
      };
    }),
    {
      value: NEW_MAPPING,
      name: 'None: match its columns',
      description: 'Uses the headers and values of the file, and asks what they leave open.',
    },
  ];
}

function whyNoMapping(
  name: string,
  header: readonly string[],
  { guess: { fitting } }: RecognisedFile,
  mappings: readonly MappingFile[],
): string | undefined {
  if (name === NEW_MAPPING) return undefined;
  const mapping = mappings.find((one) => one.name === name);
  if (mapping === undefined) {
    const names = mappings.map((one) => one.name);
    return `there is no mapping '${name}'${didYouMean(name, names) || '.'} Known mappings: ${names.join(', ')}; '${NEW_MAPPING}' proposes a new one`;
  }
  const { obstacle } = fitHeader(mapping.spec, header);
  if (obstacle === null) return undefined;
  const others = fitting.map((fit) => fit.name);
  const advice =
    others.length === 0
      ? `No known format has its columns; '${NEW_MAPPING}' proposes a mapping`
      : `Mappings that fit: ${others.join(', ')}`;
  return `the mapping ${name} does not fit the file: ${obstacle}. ${advice}`;
}

/** The file that connects the ids of the store with a field of the source. */
type CrosswalkAnswer = NonNullable<NewJob['crosswalk']> & { readonly copyOf: string | undefined };

/** Where a job looks for ids that it does not have yet. */
const CROSSWALK_PATH = 'contact-ids.csv';

/** Asks for the ids of contacts; null if the mapping takes them from the source, or while a question is open. */
async function askCrosswalk(
  inquiry: Inquiry,
  { contact }: Extract<MappingSpec, { readonly import: 'contacts' }>,
  effects: DraftEffects,
): Promise<CrosswalkAnswer | null> {
  const fields = matchableFields(contact);
  const preferred = fields.includes('email') ? 'email' : (fields[0] ?? 'email');
  const isMapped = contact.id !== undefined;
  const from = inquiry.ask({
    id: 'crosswalk',
    text: 'The store updates contacts by its own ids. Where do they come from?',
    defaultAnswer: isMapped ? 'source' : undefined,
    choices: withoutAbsent([
      {
        value: 'file',
        name: 'A second CSV file with ids and e-mails of the store',
        description: 'A crosswalk, such as an export of the contacts of the store.',
      },
      isMapped && { value: 'source', name: 'From the file itself: the mapping has a column for them' },
      { value: 'later', name: `I do not have one yet (the job will look for ${CROSSWALK_PATH})` },
    ]),
    missing: 'Contacts are updated by the ids of the store, and this mapping has no column for them.',
  });
  if (from === 'later')
    return { path: CROSSWALK_PATH, match: preferred, field: undefined, id: 'id', copyOf: undefined };
  if (from !== 'file') return null;
  const found = await askFile(inquiry, 'crosswalkFile', 'The crosswalk (CSV)', effects);
  if (found === undefined) return null;
  const columns = await effects.look(found.place, {}).then(crosswalkColumns, (error: unknown) => {
    if (!(error instanceof StoreferryError) || error instanceof InterruptedError) throw error;
    inquiry.refuse('crosswalkFile', `This file cannot be used as the crosswalk. ${explainError(error)}`);
  });
  const placed = askPlace(inquiry, {
    ...found,
    mayStay: false,
    copy: found.mayStay ? undefined : found.copy,
  });
  if (columns === undefined || placed === undefined) return null;
  const match = askMatch(inquiry, columns, fields, preferred);
  const id = match && askId(inquiry, columns, match.match);
  if (match === undefined || id === undefined) return null;
  return { path: placed.written.path ?? '', ...match, id, copyOf: placed.copyOf };
}

/** The column that identifies a contact. A column of names is never chosen automatically: two people may have the same. */
function askMatch(
  inquiry: Inquiry,
  columns: readonly CrosswalkColumn[],
  fields: readonly string[],
  preferred: string,
): CrosswalkMatch | undefined {
  const emails = fields.includes('email') ? emailColumn(columns) : undefined;
  const usable = columns.filter((column) => crosswalkMatch(column, fields) !== undefined);
  if (usable.length === 0 && inquiry.given('crosswalkMatch') === undefined) {
    inquiry.refuse(
      'crosswalkFile',
      `This file cannot be used as the crosswalk: it needs a column of e-mail addresses, or one with the name of a field that the mapping fills (${fields.join(', ')}); it has ${headersOf(columns)}. In its first line, give the column to match the name ${preferred}.`,
    );
    return undefined;
  }
  const columnOf = (answer: string) =>
    crosswalkColumn(columns, answer) ?? (answer.toLowerCase() === 'email' ? emails : undefined);
  const answer = inquiry.ask(
    {
      id: 'crosswalkMatch',
      text: 'Which of its columns identifies a contact?',
      form: 'choice',
      reason: 'Two people may have the same name.',
      choices: choicesOf(usable.map(({ header }) => header)),
      defaultAnswer: emails?.header,
      reliance: 'settled',
      missing: 'It is not clear which column of the crosswalk has the e-mail addresses of the contacts.',
    },
    (name) => {
      const column = columnOf(name);
      if (column === undefined) return `the crosswalk has no column '${name}'; it has ${headersOf(columns)}`;
      if (crosswalkMatch(column, fields) !== undefined) return undefined;
      return `the column '${column.header}' has no e-mail addresses, and its name is not a field that the mapping fills (${fields.join(', ')})`;
    },
  );
  const column = answer === undefined ? undefined : columnOf(answer);
  return column && crosswalkMatch(column, fields);
}

function askId(inquiry: Inquiry, all: readonly CrosswalkColumn[], match: string): string | undefined {
  const columns = all.filter(({ header }) => loosened(header) !== loosened(match));
  const answer = inquiry.ask(
    {
      id: 'crosswalkId',
      text: 'Which of its columns has the id of the store?',
      form: 'choice',
      choices: choicesOf(columns.map(({ header }) => header)),
      defaultAnswer: idColumn(columns)?.header,
      reliance: 'settled',
      missing: 'It is not clear which column of the crosswalk has the ids of the store.',
    },
    (name) =>
      crosswalkColumn(all, name) === undefined
        ? `the crosswalk has no column '${name}'; it has ${headersOf(all)}`
        : undefined,
  );
  return answer === undefined ? undefined : crosswalkColumn(all, answer)?.header;
}

function headersOf(columns: readonly CrosswalkColumn[]): string {
  return columns.map(({ header }) => header).join(', ');
}

interface SettingsParts {
  readonly guess: SourceGuess;
  readonly spec: MappingSpec;
  readonly store: StoreAnswer;
  readonly setting: DraftSetting;
}

/** What does not follow from the file. */
interface Settings extends Pick<NewJob, 'pictures'> {
  readonly weightUnit: PreviewUnit | undefined;
  readonly currency: string | undefined;
  readonly name: string;
  readonly schedule: { readonly cron: string; readonly timezone: string } | undefined;
  readonly timezone: string;
  readonly variables: Readonly<Record<string, string>>;
}

function askSettings(inquiry: Inquiry, { guess, spec, store, setting }: SettingsParts): Settings {
  const weightUnit = askWeightUnit(inquiry, spec, store);
  const currency = askCurrency(inquiry, guess, spec, store);
  const pictures = askPictures(inquiry, setting);
  const defaultAnswer = freeYamlName(join(setting.dir, 'jobs'), guess.mapping ?? `my-${spec.import}`);
  const name = inquiry.ask(
    { id: 'name', text: 'Name of the job', defaultAnswer, reliance: 'default' },
    (answer) => whyNoJobName(setting.dir, answer),
  );
  const timing = askSchedule(inquiry, setting);
  const variables = Object.fromEntries(
    (store.known?.unset ?? []).flatMap((variable) => {
      const isSecret = looksSecret(variable);
      // A visitor must not choose the address to which a known key goes.
      if (setting.isVisitor && !isSecret) return [];
      const value = inquiry.ask({
        id: `variable.${variable}`,
        form: isSecret ? 'secret' : 'text',
        defaultAnswer: '',
        text: `The store ${store.known?.name} needs ${variable} (it goes into .env)`,
      });
      return value ? [[variable, value]] : [];
    }),
  );
  return { weightUnit, currency, pictures, name: name ?? defaultAnswer, ...timing, variables };
}

/** Asks where picture files are put, so that they are found at their address. */
function askPictures(inquiry: Inquiry, { pictures }: DraftSetting): NewJob['pictures'] {
  const address = inquiry.given('imageBase') ?? '';
  if (pictures === undefined || address === '') return undefined;
  const publish = (to: string) => ({
    from: pictures.copy,
    [to.startsWith('s3:') ? 's3' : 'path']: to,
    address,
  });
  const to = inquiry.ask(
    {
      id: 'picturesTo',
      text: 'Where are the pictures put, so that they are at this address?',
      reason: 'A folder of this workspace that a web server shows, such as public/shop; or s3://bucket/shop',
      missing: 'Say where the pictures are put.',
    },
    (answer) =>
      /^sftp:/i.test(answer)
        ? 'for an SFTP server give a folder here, and write `sftp` with its key and password in place of `path` into the file of the job'
        : importJobSchema.shape.images.safeParse({ publish: publish(answer) }).error?.issues[0]?.message,
  );
  return to === undefined ? undefined : publish(to);
}

function askWeightUnit(inquiry: Inquiry, spec: MappingSpec, store: StoreAnswer): PreviewUnit | undefined {
  if (store.known !== undefined) return undefined;
  const units = storeSchema.shape.weightUnit;
  const defaultAnswer = units.parse(undefined);
  if (spec.import === 'contacts') return defaultAnswer;
  const answer = inquiry.ask(
    {
      id: 'weightUnit',
      text: 'In which unit does the store show weights?',
      defaultAnswer,
      reliance: 'default',
      choices: choicesOf(['kg', 'g', 'lb', 'oz']),
    },
    (unit) => (units.safeParse(unit).success ? undefined : 'expected kg, g, lb or oz'),
  );
  return units.safeParse(answer).data;
}

function askCurrency(
  inquiry: Inquiry,
  { preview }: SourceGuess,
  spec: MappingSpec,
  { known }: StoreAnswer,
): string | undefined {
  if (spec.import === 'contacts') return undefined;
  const { words = [], isMixed = false, found } = currenciesIn(preview);
  const named = words.join(', ');
  if (known !== undefined) {
    if (isMixed)
      inquiry.refuse(
        'store',
        `the file has prices in ${named}, and the currency of the store ${known.name} is not set. Set it (in the dashboard: Stores, Change; else \`currency\` in stores.yaml); prices in other currencies are then rejected`,
      );
    return undefined;
  }
  // The mapping may have asked it.
  if (inquiry.isAsked('currency')) return currencyOf(inquiry.given('currency'));
  const answer = inquiry.ask(
    {
      id: 'currency',
      text: 'In which currency does the store sell?',
      form: 'text',
      reliance: 'settled',
      defaultAnswer: isMixed ? undefined : (currencyOf(found) ?? ''),
      reason: isMixed ? `The prices are in ${named}; those in another currency are rejected.` : undefined,
      choices: isMixed ? choicesOf(words.filter((word) => currencyOf(word) !== undefined)) : [],
      missing: `The file has prices in ${named}, and the store can sell in one currency only.`,
    },
    (code) =>
      code === '' || currencyOf(code) !== undefined
        ? undefined
        : 'expected the code of a currency, such as EUR',
  );
  return currencyOf(answer);
}

/** What the prices of a file name; nothing for a mapping with other tables, whose prices only a plan can read. */
function currenciesIn(preview: SourceGuess['preview']): Partial<SourcePreview['currencies']> {
  return typeof preview === 'object' ? preview.currencies : {};
}

/** That prices of a file are not in what the store sells in. */
function foreignPrices({ preview }: SourceGuess, inquiry: Inquiry, store: StoreAnswer): readonly string[] {
  const { foreign = [] } = currenciesIn(preview);
  const sold = soldIn(inquiry, store);
  return foreign.length === 0
    ? []
    : [`Prices in ${foreign.join(', ')} are rejected: the store sells in ${sold}.`];
}

/** What a store sells in; where nothing says it, what the prices of a file name. */
function soldIn(inquiry: Inquiry, { known }: StoreAnswer, guess?: SourceGuess): string | undefined {
  const { found } = currenciesIn(guess?.preview);
  const sold = known === undefined ? currencyOf(inquiry.given('currency')) : known.currency;
  return sold ?? currencyOf(found ?? undefined);
}

function currencyOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : storeSchema.shape.currency.safeParse(text).data;
}

function whyNoJobName(dir: string, name: string): string | undefined {
  if (!isName(name))
    return 'the name of a job has at most 64 letters, digits, dots, - and _, beginning with a letter or digit';
  return existsSync(join(dir, 'jobs', `${name}.yaml`)) ? `there is a job ${name} already` : undefined;
}

function askSchedule(inquiry: Inquiry, { isVisitor }: DraftSetting): Pick<Settings, 'schedule' | 'timezone'> {
  const choices = withoutAbsent([
    ...SCHEDULE_CHOICES,
    !isVisitor && { value: 'other', name: 'At other times, as a cron expression' },
  ]);
  const schedule = inquiry.ask(
    { id: 'schedule', text: 'When does it run?', defaultAnswer: 'no', reliance: 'default', choices },
    (answer) =>
      choices.some(({ value }) => value === answer) ? undefined : `there is no choice '${answer}'`,
  );
  const times = Object.fromEntries(
    SCHEDULE_FIELD_NAMES.map((id) => {
      const {
        label: text,
        defaultValue: defaultAnswer,
        choices: offered,
        hint: reason,
      } = SCHEDULE_FIELDS[id];
      const isAsked = isAskedBeside(id, schedule);
      const answer = inquiry.ask(
        { id, text, defaultAnswer, choices: offered, reason, reliance: isAsked ? 'preset' : 'settled' },
        (given) => (isAsked ? whyNoTime(id, given) : undefined),
      );
      return [id, answer];
    }),
  );
  const typed =
    schedule === 'other'
      ? inquiry.ask(
          { id: 'cron', text: 'Minute, hour, day, month, weekday (cron)', defaultAnswer: USUAL_CRON },
          (cron) => whyNoScheduleOf(cron, 'UTC'),
        )
      : cronOf({ ...times, schedule: schedule ?? 'no' });
  const isScheduled = schedule !== undefined && schedule !== 'no';
  const timezone =
    inquiry.ask(
      { id: 'timezone', text: 'Time zone', defaultAnswer: localTimezone(), reliance: 'settled' },
      (zone) => (isScheduled ? whyNoScheduleOf(USUAL_CRON, zone) : undefined),
    ) ?? localTimezone();
  return { schedule: typed === undefined ? undefined : { cron: typed, timezone }, timezone };
}

const USUAL_CRON = '15 2 * * *';

function whyNoScheduleOf(cron: string, timezone: string): string | undefined {
  const wrong = whyNoSchedule(cron, timezone);
  return wrong === undefined ? undefined : `the schedule '${cron}' in ${timezone}: ${wrong}`;
}

/** The name of this machine's time zone. */
function localTimezone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return isTimezone(timeZone) ? timeZone : 'UTC';
}

interface WorkspaceParts extends Omit<SettingsParts, 'guess'> {
  readonly settings: Settings;
  readonly source: PlacedFile;
  readonly reading: Reading;
  readonly file: Omit<DraftFile, 'findings' | 'currency'>;
  readonly crosswalk: CrosswalkAnswer | null;
}

/** What is written for a job all of whose questions are answered. */
function composeWorkspace({
  source,
  reading,
  file: { name: fileName, look, guess },
  spec,
  store,
  crosswalk,
  settings: { variables, ...settings },
  setting: { dir, pictures: files },
}: WorkspaceParts): NewWorkspace {
  const { name, weightUnit, currency, schedule, timezone, pictures } = settings;
  const { written } = source;
  const mapping = guess.mapping ?? freeYamlName(join(dir, 'mappings'), name);
  const { delimiter } = reading;
  const read = { ...reading, delimiter: delimiter && (delimiterName(delimiter) ?? delimiter) };
  return {
    dir,
    weightUnit,
    currency,
    variables: { ...store.variables, ...variables },
    unset: (store.known?.unset ?? []).filter((variable) => variables[variable] === undefined),
    sandbox: store.isSandbox,
    copies: [
      ...copyTo(written.path, source.copyOf),
      ...copyTo(crosswalk?.path, crosswalk?.copyOf),
      ...copyTo(pictures && files?.copy, files?.from),
    ],
    crosswalkToCome:
      crosswalk !== null && crosswalk.copyOf === undefined && !existsSync(resolve(dir, crosswalk.path)),
    job: {
      name,
      imports: spec.import,
      store: store.known?.name ?? NEW_STORE,
      source: { ...written, ...read },
      mapping,
      match: updateMatch(spec),
      params: spec.params ?? {},
      paramValues: guess.params,
      crosswalk: crosswalk ?? undefined,
      pictures,
      schedule,
      timezone,
    },
    starter: guess.proposal && {
      name: mapping,
      file: fileName,
      header: look.header,
      proposal: guess.proposal,
      spec,
    },
  };
}

function copyTo(path: string | undefined, from: string | undefined): NewWorkspace['copies'] {
  return path === undefined || from === undefined ? [] : [{ path, from }];
}
