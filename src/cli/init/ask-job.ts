import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { freeName } from '../../config/edit-file.ts';
import { isTypedAddress, loadEnvironment, typedPlace } from '../../config/workspace.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import type { RemoteAddress } from '../../model/remote-address.ts';
import { delimiterName } from '../../model/row.ts';
import {
  CsvError,
  explainError,
  SourceError,
  type StoreferryError,
  UsageError,
} from '../../model/storeferry-error.ts';
import {
  type AskedQuestion,
  answerDraft,
  type DraftEffects,
  type DraftFile,
  type DraftSetting,
  type DraftState,
  examineDraft,
  type FoundFile,
  type FoundPlace,
  isJobQuestion,
  isMappingQuestion,
  type JobDraft,
  type JobQuestion,
  rememberQuestions,
} from '../../onboarding/job-draft.ts';
import { type NewWorkspace, STORE_VARIABLES } from '../../onboarding/new-workspace.ts';
import {
  describeLook,
  examineIsolated,
  explainGuess,
  fetchHostKey,
  fileToGuess,
  type GuessRequest,
  lookAtSource,
} from '../../onboarding/preview-source.ts';
import { capitalise, didYouMean, truncate } from '../../text/printable.ts';
import { draftOf, type InitOptions, optionFor } from './init-options.ts';
import type { CheckAnswer, Prompter } from './prompter.ts';

/** What asks for a job at a terminal, or takes it from options. */
export interface Asking {
  readonly options: InitOptions;
  /** Null without a terminal. */
  readonly prompter: Prompter | null;
  readonly setting: DraftSetting;
  readonly knownProducts: DraftEffects['knownProducts'];
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Asks what the options leave open, until a job can be written. Writes nothing. UsageError for an option that cannot be used,
 * and without a terminal for a question that no option answers.
 */
export async function askJob(asking: Asking): Promise<NewWorkspace> {
  const { options, prompter, say } = asking;
  let examine = examiner(asking);
  const said = new Set<string>();
  const begun = draftOf(options);
  let draft = begun;
  /** Asks again for an answer that was typed; throws for one of an option. */
  const retract = (id: string, refusal: UsageError | StoreferryError, why = explainError(refusal)) => {
    if (prompter === null || begun.answers[id] !== undefined || draft.answers[id] === undefined)
      throw refusal;
    say(why);
    draft = answerDraft(draft, { ...(id === 'file' ? CLEARED_READING : {}), [id]: undefined });
    // Somebody may have corrected the file, or its server, and names it again.
    if (id === 'file') examine = examiner(asking);
  };
  for (;;) {
    const state = await examine(draft);
    draft = rememberQuestions(draft, state);
    for (const [key, lines] of describeFindings(state, asking)) {
      if (said.has(key)) continue;
      said.add(key);
      for (const line of lines) say(line);
    }
    const { problem, file, made } = state;
    const { spec } = file?.guess ?? {};
    const stray = Object.keys(options.param ?? {}).find(
      (name) => spec !== undefined && !Object.hasOwn(spec.params ?? {}, name),
    );
    if (stray !== undefined) throw new UsageError(`--param ${stray}: the mapping has no such parameter.`);
    refuseUnusedAnswers(begun, file);
    const wrong = state.questions.find((question) => question.problem !== undefined);
    const [refused] = Object.entries(file?.guess.refused ?? {});
    if (problem !== null) {
      const isOfFile = problem instanceof CsvError || problem instanceof SourceError;
      if (!isOfFile) throw problem;
      said.clear();
      retract('file', problem, `This file cannot be imported. ${explainError(problem)}`);
    } else if (refused !== undefined) {
      retract(refused[0], new UsageError(refused[1]));
    } else if (wrong !== undefined) {
      retract(wrong.id, new UsageError(formatRefusal(wrong)));
    } else if (made !== undefined) {
      return made;
    } else {
      const open = state.questions.find(({ answer }) => answer === undefined);
      if (open === undefined || prompter === null) throw unansweredQuestions(state.questions);
      const answer = await ask(open, prompter, say, async (typed) => {
        const next = await examine(answerDraft(draft, { [open.id]: typed }));
        const checked = next.questions.find(({ id }) => id === open.id);
        return next.file?.guess.refused[open.id] ?? checked?.problem;
      });
      draft = answerDraft(draft, { [open.id]: answer });
    }
  }
}

/** UsageError for an option about a new mapping where a known one is used, which has its columns. */
function refuseUnusedAnswers({ answers }: JobDraft, file: DraftFile | undefined) {
  const { mapping = null, imports } = file?.guess ?? {};
  const isUnused = (id: string) =>
    id === 'imports' ? answers[id] !== imports : isMappingQuestion(id) && id !== 'currency';
  const unused = Object.keys(answers).filter(isJobQuestion).find(isUnused);
  if (mapping === null || unused === undefined) return;
  throw new UsageError(
    `${optionFor(unused)} is about a new mapping, and the file is read by the mapping ${mapping}.`,
    { hint: `Add --mapping new to propose one, or leave ${optionFor(unused)} out.` },
  );
}

/** How a file was read belongs to that file. */
const CLEARED_READING = {
  hostKey: undefined,
  password: undefined,
  sheet: undefined,
  records: undefined,
  headerRow: undefined,
  encoding: undefined,
  delimiter: undefined,
};

function formatRefusal({ id, problem = '' }: AskedQuestion) {
  const text = /^expected /.test(problem) ? `${optionFor(id)}: ${problem}` : capitalise(problem);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function examiner(asking: Asking): (draft: JobDraft) => Promise<DraftState> {
  const { options, prompter, setting, knownProducts, signal } = asking;
  const effects: DraftEffects = {
    acceptsDefault({ reliance }) {
      switch (reliance) {
        case 'settled':
          return true;
        case 'default':
          return options.yes || prompter === null;
        case 'guess':
          return options.yes;
        case 'preset':
          return prompter === null;
        case 'confirm':
          return false;
        default:
          return reliance satisfies never;
      }
    },
    findFile: async (id, answer) => await findFile(id, answer, asking),
    hostKey: memoise(
      ({ location }) => location,
      async (server: RemoteAddress) => await fetchHostKey(server, signal),
    ),
    look: memoise(
      (place, reading) => JSON.stringify([place, reading]),
      async (place: FoundFile['place'], reading: JobDraft['reading']) =>
        await lookAtSource(place, { ...reading, signal }),
    ),
    guess: memoise(
      ({ look: _look, known: _known, ...choices }) => JSON.stringify(choices),
      async (request: GuessRequest) => await examineIsolated(request.look, signal, 'guess', request),
    ),
    recognise: async (look, known) =>
      await examineIsolated(look, signal, 'recognise', fileToGuess(look), known),
    knownProducts: memoise((store, spec) => JSON.stringify([store, spec]), knownProducts),
  };
  return async (draft) => await examineDraft(draft, setting, effects);
}

/** The same work once for each key. */
function memoise<Given extends readonly unknown[], Result>(
  keyOf: (...given: Given) => string,
  work: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  const kept = new Map<string, Promise<Result>>();
  return async (...given) => {
    const key = keyOf(...given);
    const result = kept.get(key) ?? work(...given);
    kept.set(key, result);
    return await result;
  };
}

async function ask(
  { text, reason, form, choices, defaultAnswer }: JobQuestion,
  prompter: Prompter,
  say: (line: string) => void,
  whyNot: CheckAnswer,
) {
  const isSentence = reason?.endsWith('.') === true;
  if (isSentence) say(reason);
  const message = reason === undefined || isSentence ? text : `${text} (${reason})`;
  if (choices.length > 0) {
    // A choice must have a value, and '' is one of the answers.
    const offered = choices.map((choice) => ({ ...choice, value: `=${choice.value}` }));
    const chosen = await prompter.choose(
      message,
      offered,
      defaultAnswer === undefined ? undefined : `=${defaultAnswer}`,
    );
    return chosen.slice(1);
  }
  const typed = /[?:]$/.test(message) ? message : `${message}:`;
  const check: CheckAnswer = async (answer) =>
    answer.trim() === '' ? 'expected a value' : await whyNot(answer);
  if (form === 'secret') return await prompter.secret(typed, check);
  return await prompter.text(typed, { fallback: defaultAnswer === '' ? undefined : defaultAnswer, check });
}

const OTHER_HEADER = 'If the header is another row: --header-row NUMBER.';

/** The questions that nobody answers, each with the option that does. */
function unansweredQuestions(questions: readonly AskedQuestion[]) {
  const open = questions.filter(({ answer }) => answer === undefined);
  const [first] = open;
  if (first === undefined) return new UsageError('The job cannot be made by these answers.');
  const { id, text, reason, missing, choices, place, flag } = first;
  if (flag !== undefined) return unansweredColumns(open.filter((question) => question.flag !== undefined));
  const option = optionFor(id);
  const values = choices.map(({ value }) => delimiterName(value) ?? value).join(', ');
  const hint =
    id === 'crosswalk'
      ? 'Give --crosswalk store (ids from the store itself), or --crosswalk FILE: a CSV file with the columns id and email.'
      : id === 'password'
        ? 'Set SFTP_PASSWORD in the environment or in .env (there is no option for it: others could read it).'
        : `Give ${option} with ${id.startsWith('param.') ? `${text}=VALUE` : `one of: ${values}`}.${id === 'imports' ? ` ${OTHER_HEADER}` : ''}`;
  return new UsageError(missing ?? reason ?? text, { place, hint });
}

/** The questions about columns that must be answered before there can be a mapping. */
function unansweredColumns(questions: readonly JobQuestion[]) {
  const lines = questions.map(({ text, reason = '', flag = '', choices }) => {
    const others = choices.slice(1).map(({ value }) => (value === '' ? "'' for none" : `'${value}'`));
    return `  ${text} ${capitalise(reason)}.\n    ${flag}${others.length === 0 ? '' : ` (or ${others.join(', ')})`}`;
  });
  const open = questions.length === 1 ? 'a question' : `${questions.length} questions`;
  return new UsageError(`The file leaves ${open} open:\n${lines.join('\n')}`, {
    hint: `Answer with the options above, or run init at a terminal. ${OTHER_HEADER}`,
  });
}

/** What was found out, in the order in which it is said; each part with a key, because it is said once. */
function describeFindings(
  { questions, notes, file }: DraftState,
  { options, prompter, setting }: Asking,
): readonly (readonly [key: string, lines: readonly string[]])[] {
  const { known } = setting;
  const usesKnownKey = questions.some(({ id, answer }) => id === 'apiKey' && answer === known.apiKey);
  const taken = questions.filter(
    ({ id, reliance, answer, defaultAnswer }) =>
      reliance === 'guess' &&
      id !== 'mapping' &&
      options.yes &&
      answer !== undefined &&
      answer === defaultAnswer,
  );
  return [
    ...(usesKnownKey && known.apiKey !== undefined
      ? [['key', [`Using the API key from ${STORE_VARIABLES.apiKey}, which is set already.`]] as const]
      : []),
    ...notes.map((note) => [note, [note]] as const),
    ...taken.map(({ id, reason = '', answer = '' }) => {
      const value = /[ >]/.test(answer) ? `'${answer}'` : answer;
      return [id, [`${reason} Taken: ${optionFor(id)} ${value}.`]] as const;
    }),
    ...(file === undefined ? [] : describeFile(file, options, prompter === null)),
    ...questions
      .filter(
        ({ id, answer, defaultAnswer }) => id === 'currency' && Boolean(answer) && answer === defaultAnswer,
      )
      .map(
        ({ answer }) =>
          [
            'currency',
            [`The prices are in ${answer}: stores.yaml says that the store sells in it (currency).`],
          ] as const,
      ),
  ];
}

function describeFile(
  { name, look, guess, findings }: DraftFile,
  options: InitOptions,
  isLast: boolean,
): readonly (readonly [key: string, lines: readonly string[]])[] {
  const { proposal, mapping, recognised } = guess;
  const isWhole = proposal !== undefined && (isLast || proposal.spec !== null);
  return withoutAbsent([
    ['look', [describeLook(look, name)]],
    options.mapping === undefined && (['guess', explainGuess(recognised)] as const),
    isWhole && ([`proposal ${mapping}`, describeProposal(proposal)] as const),
    ...findings.map((finding) => [finding, [finding]] as const),
  ]);
}

const COLUMN_WIDTH = 24;
const SAMPLE_WIDTH = 24;

/** A line for each column: its field, a value and the evidence; then how cells are read. */
function describeProposal({ columns, notes }: NonNullable<DraftFile['guess']['proposal']>) {
  const row = (header: string, field: string, sample: string, evidence: string) =>
    `  ${truncate(header, COLUMN_WIDTH).padEnd(COLUMN_WIDTH)}  ${field.padEnd(14)}  ${truncate(sample, SAMPLE_WIDTH).padEnd(SAMPLE_WIDTH)}  ${evidence}`;
  return [
    'Proposed mapping, from the headers and the values of the file:',
    row('column', 'field', 'example', 'evidence'),
    ...columns.map(({ header, field, sample, evidence }) => row(header, field ?? '-', sample, evidence)),
    ...notes.map((note) => `  ${note}`),
  ];
}

/** A file at an address, or one of this machine: read where it is, or copied into the workspace. */
async function findFile(
  id: 'file' | 'crosswalkFile',
  text: string,
  { options: { copy, allowPrivateAddresses, yes }, prompter, setting: { dir } }: Asking,
): Promise<FoundPlace> {
  if (id === 'file' && isTypedAddress(text)) {
    if (copy) return { problem: 'each run downloads a file of another machine again: leave out --copy' };
    const context = { environment: loadEnvironment(dir, process.env), onSecret: () => undefined };
    const usesPassword = yes || prompter === null;
    return typedPlace(text, context, { fillsPlaceholders: true, usesPassword, allowPrivateAddresses });
  }
  const problem = await whyNoFile(id, text);
  if (problem !== undefined) return { problem };
  const place = typedPath(text);
  const inside = relative(dir, place);
  const isInside = !inside.startsWith('..') && !isAbsolute(inside);
  const path = (isInside ? inside : place).split(sep).join('/');
  const name = basename(place);
  return { place, name, written: { path }, copy: isInside ? undefined : freeName(dir, name), mayStay: true };
}

async function whyNoFile(id: 'file' | 'crosswalkFile', text: string) {
  const scheme = /^(https?|s3|sftp):\/\//i.exec(text.trim())?.[1]?.toLowerCase();
  if (scheme !== undefined)
    return `this address is read by runs only: download it once and give that file, then replace its path in the job by \`${id === 'file' ? 'source' : 'crosswalk'}: { ${scheme.startsWith('http') ? 'url' : scheme}: … }\` (docs/sources.md)`;
  const path = typedPath(text);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) return undefined;
  if (found !== undefined) return `${path} is ${found.isDirectory() ? 'a folder' : 'not a regular file'}`;
  const there = await readdir(dirname(path)).catch(() => undefined);
  if (there === undefined) return `there is no folder ${dirname(path)}`;
  return `there is no file ${path}${didYouMean(basename(path), there)}`;
}

/**
 * A path as people type it or drop it onto a terminal. Quotes and backslashes before blanks belong to the shell, `~`
 * is the home folder, and the path is relative to the current folder.
 */
export function typedPath(
  text: string,
  { cwd = process.cwd(), home = homedir(), windows = process.platform === 'win32' } = {},
): string {
  const trimmed = text.trim();
  const quoted = /^(['"])(.+)\1$/s.exec(trimmed)?.[2];
  const plain = quoted ?? (windows ? trimmed : trimmed.replaceAll(/\\([^\w/])/g, '$1'));
  const whole = /^~(?=$|[/\\])/.test(plain) && quoted === undefined ? home + plain.slice(1) : plain;
  return resolve(cwd, whole);
}
