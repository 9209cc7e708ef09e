import { SCHEDULE_FIELD_NAMES } from '../config/job/job.ts';
import type { TypedLogin, Workspace } from '../config/workspace.ts';
import type { MappingFile, MappingSpec } from '../mapping/spec/mapping-spec.ts';
import type { FilePlace, RemoteAddress } from '../model/remote-address.ts';
import type { StoreferryError } from '../model/storeferry-error.ts';
import { MAPPING_QUESTIONS } from './guess/propose-mapping.ts';
import type { MappingCandidate, RecognisedFile } from './guess-mapping.ts';
import type { Reading, WrittenPlace } from './job-text.ts';
import type { knownStore, NewWorkspace } from './new-workspace.ts';
import type { GuessRequest, SourceGuess, SourceLook } from './preview-source.ts';

/** The kinds of questions about a new job: asked once, or for each name (`param.currency`). */
export const JOB_QUESTIONS = {
  once: [
    'storeKind',
    'url',
    'apiKey',
    'store',
    'file',
    'hostKey',
    'password',
    'place',
    'sheet',
    'records',
    'headerRow',
    'encoding',
    'delimiter',
    'mapping',
    'imports',
    ...MAPPING_QUESTIONS.once,
    'crosswalk',
    'crosswalkFile',
    'crosswalkMatch',
    'crosswalkId',
    'picturesTo',
    'weightUnit',
    'name',
    'schedule',
    ...SCHEDULE_FIELD_NAMES,
    'cron',
    'timezone',
  ],
  byName: [...MAPPING_QUESTIONS.byName, 'param', 'variable'],
} as const;

type Once = (typeof JOB_QUESTIONS.once)[number];
type ByName = (typeof JOB_QUESTIONS.byName)[number];
/** A kind of question about a new job. */
export type JobQuestionKind = Once | ByName;
/** The id of a question: `name`, `column.price`. */
export type JobQuestionId = Once | `${ByName}.${string}`;

/** Answers by the ids of their questions. */
export type JobAnswers = Readonly<Record<string, string>>;

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
 * How reliable the default answer to a question is. `settled`: it follows from other answers. `default`: it can be changed
 * later. `guess`: the file shows it. `preset`: somebody should see it. `confirm`: somebody must see it with what it makes of the file.
 */
type Reliance = 'settled' | 'default' | 'guess' | 'preset' | 'confirm';

/** One of the answers that a question offers. */
export interface JobChoice {
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

type NewQuestion = Omit<JobQuestion, 'choices' | 'form' | 'reliance'> & Partial<JobQuestion>;

/** Asks the questions of a draft: collects them with their answers, in order. */
export class Inquiry {
  readonly questions: AskedQuestion[] = [];
  readonly #answers: JobAnswers;
  readonly #acceptsDefault: DraftEffects['acceptsDefault'];

  constructor(answers: JobAnswers, acceptsDefault: DraftEffects['acceptsDefault']) {
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

/** Choices whose names are their values. */
export function choicesOf(values: readonly string[]): readonly JobChoice[] {
  return values.map((value) => ({ value, name: value }));
}

/** A store of stores.yaml. */
export interface StoreOfDraft {
  readonly name: string;
  readonly weightUnit: PreviewUnit | undefined;
  readonly currency: string | undefined;
  /** Its variables without a value. */
  readonly unset: readonly string[];
}

/** The unit in which a preview shows weights. */
export type PreviewUnit = GuessRequest['weightUnit'];

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
  /** The secrets of its address, for `.env`. */
  readonly variables?: NewWorkspace['variables'];
  /** Its path in the workspace as a copy; undefined where none can be made. */
  readonly copy: string | undefined;
  /** Whether to copy it is asked; otherwise it is copied if it can be. */
  readonly mayStay: boolean;
}

/** What an answer names as a file, or why it names none. */
export type FoundPlace = FoundFile | ReturnType<Workspace['typedPlace']>;

/** What reads files and state for a draft. */
export interface DraftEffects {
  /** Whether the default answer to a question is used without asking. */
  readonly acceptsDefault: (question: JobQuestion) => boolean;
  /** The file that an answer names, or why there is none. */
  readonly findFile: (id: 'file' | 'crosswalkFile', answer: string) => Promise<FoundPlace>;
  /** The key that an SSH server shows. SourceError where none answers. */
  readonly hostKey: (server: RemoteAddress) => Promise<string>;
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

/** Asks for a file, and finds it; undefined while there is none that can be used. */
export async function askFile(
  inquiry: Inquiry,
  id: 'file' | 'crosswalkFile',
  text: string,
  effects: Pick<DraftEffects, 'findFile' | 'hostKey'>,
): Promise<FoundFile | undefined> {
  const answer = inquiry.ask({ id, text, form: 'file' });
  if (answer === undefined) return undefined;
  const named = await effects.findFile(id, answer);
  const found = 'enter' in named ? await askLogin(inquiry, named, effects) : named;
  if (found === undefined) return undefined;
  if ('problem' in found) inquiry.refuse(id, found.problem);
  else if ('copy' in found) return found;
  // Each run reads it where it is.
  else return { ...found, copy: undefined, mayStay: true };
  return undefined;
}

/** Asks which SSH server it is, and for the password; undefined while a question is open. */
async function askLogin(
  inquiry: Inquiry,
  { host, user, server, hasPassword, enter }: TypedLogin,
  { hostKey }: Pick<DraftEffects, 'hostKey'>,
): Promise<ReturnType<TypedLogin['enter']> | undefined> {
  const shown = await hostKey(server);
  const key = inquiry.ask(
    {
      id: 'hostKey',
      text: `Is this the key of ${host}?`,
      reason:
        'Who runs the server can tell. Another key may be that of a server in its place, which would learn the password.',
      choices: [{ value: shown, name: `Yes: ${shown}` }],
      reliance: 'confirm',
      missing: `Confirm the key of ${host}.`,
    },
    (confirmed) => (confirmed === shown ? undefined : `the server shows another key: ${shown}`),
  );
  const password = hasPassword
    ? undefined
    : inquiry.ask({
        id: 'password',
        form: 'secret',
        text: `Password of ${user} at ${host}`,
        missing: `The password of ${user} at ${host} is missing.`,
      });
  return key === undefined || (password === undefined && !hasPassword) ? undefined : enter(key, password);
}

/** The source as the job writes it, and the file that is copied there. */
export interface PlacedFile {
  readonly written: FoundFile['written'];
  readonly variables?: FoundFile['variables'];
  readonly copyOf: string | undefined;
}

/** Asks whether the job reads a file where it is or from a copy; undefined while the question is open. */
export function askPlace(
  inquiry: Inquiry,
  { place, written, variables = {}, copy, mayStay }: FoundFile,
): PlacedFile | undefined {
  if (copy === undefined || typeof place !== 'string') return { written, variables, copyOf: undefined };
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
