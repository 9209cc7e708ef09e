import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freeYamlName } from '../config/edit-file.ts';
import {
  cronOf,
  importJobSchema,
  isAskedBeside,
  SCHEDULE_CHOICES,
  SCHEDULE_FIELD_NAMES,
  SCHEDULE_FIELDS,
  whyNoSchedule,
  whyNoTime,
} from '../config/job/job.ts';
import { isName } from '../config/store-config.ts';
import {
  type MappingFile,
  type MappingSpec,
  matchOfMapping,
  unsetParams,
} from '../mapping/spec/mapping-spec.ts';
import { isTimezone } from '../model/clock.ts';
import { withoutAbsent } from '../model/json-object.ts';
import { storeTextSchema } from '../model/remote-address.ts';
import { delimiterName } from '../model/row.ts';
import { InterruptedError, StoreferryError } from '../model/storeferry-error.ts';
import { looksSecret } from '../text/mask-personal-data.ts';
import { didYouMean, listed } from '../text/printable.ts';
import {
  askCrosswalk,
  askCurrency,
  askStore,
  askWeightUnit,
  type CrosswalkAnswer,
  currencyOf,
  foreignPrices,
  type StoreAnswer,
  soldIn,
} from './ask-store.ts';
import type { MappingQuestion } from './guess/propose-mapping.ts';
import { candidateOf, fitHeader, type RecognisedFile } from './guess-mapping.ts';
import {
  type AskedQuestion,
  askFile,
  askPlace,
  type DraftEffects,
  type DraftFile,
  type DraftSetting,
  Inquiry,
  isMappingQuestion,
  type JobAnswers,
  type JobChoice,
  type JobQuestionId,
  type PlacedFile,
} from './inquiry.ts';
import type { NewJob, Reading } from './job-text.ts';
import { NEW_STORE, type NewWorkspace } from './new-workspace.ts';
import type { SourceGuess, SourceLook } from './preview-source.ts';
import { readUntilClear } from './read-until-clear.ts';

export {
  type AskedQuestion,
  type DraftEffects,
  type DraftFile,
  type DraftSetting,
  type FoundFile,
  type FoundPlace,
  isJobQuestion,
  isMappingQuestion,
  JOB_QUESTIONS,
  type JobAnswers,
  type JobQuestion,
  type JobQuestionId,
  type JobQuestionKind,
  questionKind,
  settingOf,
} from './inquiry.ts';

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

/** What follows from the answers: asks what they leave open, reads the file as far as they allow, and composes the job. */
export async function examineDraft(
  draft: JobDraft,
  setting: DraftSetting,
  effects: DraftEffects,
): Promise<DraftState> {
  const inquiry = new Inquiry(draft.answers, effects.acceptsDefault);
  const candidates = setting.mappings.map(candidateOf);
  const notes: string[] = [];
  const state = { questions: inquiry.questions, notes, problem: null, file: undefined, made: undefined };
  const store = askStore(inquiry, setting);
  try {
    const found = await askFile(inquiry, 'file', 'The file to import, or its address', effects);
    const read =
      found &&
      (await readUntilClear(
        inquiry,
        (reading) => effects.look(found.place, reading),
        draft.reading,
        async (look) => (await effects.recognise(look, candidates)).best !== undefined,
        notes,
      ));
    if (found === undefined || read === undefined) return state;
    const { look } = read;
    const { guess, spec } = await askMapping(inquiry, draft, look, { store, setting, effects });
    const file = { name: found.name, look, guess };
    if (spec === undefined) return { ...state, file: { ...file, findings: [], currency: undefined } };
    const updates =
      matchOfMapping(spec) === undefined ? null : await effects.knownProducts(store.known?.name, spec, look);
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
    inquiry.ask(
      {
        id: `param.${name}`,
        text: name,
        reason: description,
        reliance: 'settled',
        defaultAnswer: defaultAnswer === undefined ? undefined : '',
        example: defaultAnswer === undefined ? undefined : String(defaultAnswer),
        missing: `The mapping needs the parameter ${name}.`,
      },
      (answer) => storeTextSchema.safeParse(answer).error?.issues[0]?.message,
    );
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
) {
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

/** What the settings of a job depend on. */
interface SettingsParts {
  readonly guess: SourceGuess;
  readonly spec: MappingSpec;
  readonly store: StoreAnswer;
  readonly setting: DraftSetting;
}

/** Asks for the settings that do not follow from the file. */
function askSettings(inquiry: Inquiry, { guess, spec, store, setting }: SettingsParts) {
  const weightUnit = askWeightUnit(inquiry, spec, store);
  const currency = askCurrency(inquiry, guess, spec, store);
  const pictures = askPictures(inquiry, setting);
  const defaultAnswer = freeYamlName(join(setting.dir, 'jobs'), guess.mapping ?? `my-${spec.import}`);
  const name = inquiry.ask(
    { id: 'name', text: 'Name of the job', defaultAnswer, reliance: 'default' },
    (answer) => whyNoJobName(setting.dir, answer),
  );
  const timing = askSchedule(inquiry, setting);
  const variables: Readonly<Record<string, string>> = Object.fromEntries(
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

function whyNoJobName(dir: string, name: string) {
  if (!isName(name))
    return 'the name of a job has at most 64 letters, digits, dots, - and _, beginning with a letter or digit';
  return existsSync(join(dir, 'jobs', `${name}.yaml`)) ? `there is a job ${name} already` : undefined;
}

function askSchedule(inquiry: Inquiry, { isVisitor }: DraftSetting) {
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
          { id: 'cron', text: 'Minute, hour, day, month, weekday (cron)', defaultAnswer: DEFAULT_CRON },
          (cron) => whyNoScheduleOf(cron, 'UTC'),
        )
      : cronOf({ ...times, schedule: schedule ?? 'no' });
  const isScheduled = schedule !== undefined && schedule !== 'no';
  const timezone =
    inquiry.ask(
      { id: 'timezone', text: 'Time zone', defaultAnswer: localTimezone(), reliance: 'settled' },
      (zone) => (isScheduled ? whyNoScheduleOf(DEFAULT_CRON, zone) : undefined),
    ) ?? localTimezone();
  return { schedule: typed === undefined ? undefined : { cron: typed, timezone }, timezone };
}

const DEFAULT_CRON = '15 2 * * *';

function whyNoScheduleOf(cron: string, timezone: string) {
  const wrong = whyNoSchedule(cron, timezone);
  return wrong === undefined ? undefined : `the schedule '${cron}' in ${timezone}: ${wrong}`;
}

/** The name of this machine's time zone. */
function localTimezone() {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return isTimezone(timeZone) ? timeZone : 'UTC';
}

interface WorkspaceParts extends Omit<SettingsParts, 'guess'> {
  readonly settings: ReturnType<typeof askSettings>;
  readonly source: PlacedFile;
  readonly reading: Reading;
  readonly file: Omit<DraftFile, 'findings' | 'currency'>;
  readonly crosswalk: CrosswalkAnswer | null;
}

/** The files to write for a job whose questions are all answered. */
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
  const ids = crosswalk === 'store' ? null : crosswalk;
  const read = { ...reading, delimiter: delimiter && (delimiterName(delimiter) ?? delimiter) };
  return {
    dir,
    weightUnit,
    currency,
    variables: { ...store.variables, ...source.variables, ...variables },
    unset: (store.known?.unset ?? []).filter((variable) => variables[variable] === undefined),
    sandbox: store.isSandbox,
    copies: [
      ...copyTo(written.path, source.copyOf),
      ...copyTo(ids?.path, ids?.copyOf),
      ...copyTo(pictures && files?.copy, files?.from),
    ],
    crosswalkToCome: ids !== null && ids.copyOf === undefined && !existsSync(resolve(dir, ids.path)),
    job: {
      name,
      imports: spec.import,
      store: store.known?.name ?? NEW_STORE,
      source: { ...written, ...read },
      mapping,
      match: matchOfMapping(spec),
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
