import { availableMappings } from '../../config/workspace.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { explainError, UsageError } from '../../model/storeferry-error.ts';
import { truncate } from '../../model/truncate.ts';
import type {
  MappingAnswers,
  MappingProposal,
  MappingQuestion,
} from '../../onboarding/guess/propose-mapping.ts';
import {
  candidateOf,
  fitHeader,
  guessMapping,
  type MappingCandidate,
  type MappingFit,
  type MappingGuess,
  type RecognisedFile,
} from '../../onboarding/guess-mapping.ts';
import {
  examineIsolated,
  explainGuess,
  fileToGuess,
  type SourceGuess,
  type SourceLook,
} from '../../onboarding/preview-source.ts';
import { didYouMean } from '../../text/nearest.ts';
import { listed, sentence } from '../../text/printable.ts';
import type { Asking, CheckAnswer } from './asking.ts';
import { answersOf } from './init-options.ts';

/** The mapping that reads the file. */
export type MappingAnswer =
  | { readonly kind: 'known'; readonly name: string; readonly spec: MappingSpec }
  /** A new one, proposed for the file. */
  | {
      readonly kind: 'new';
      readonly spec: MappingSpec;
      readonly proposal: MappingProposal;
      /** The currency that was answered, if it was asked. */
      readonly currency: string | undefined;
    };

/** The name for a new mapping, on the command line and in the list. */
export const NEW_MAPPING = 'new';

/** Guesses from the header which shop or CRM the file comes from, prints the reasons, and lets the user decide. */
export async function askMapping(asking: Asking, look: SourceLook): Promise<MappingAnswer> {
  const { options, prompter, say, dir, signal } = asking;
  const { header } = look;
  const known = availableMappings(dir, process.env).map(candidateOf);
  if (options.mapping !== undefined && options.mapping !== NEW_MAPPING)
    return given(options.mapping, header, known);
  const guessed = await examineIsolated(look, signal, 'guess', {
    look,
    known,
    mapping: options.mapping === NEW_MAPPING ? null : undefined,
    imports: readImport(options.import),
    answers: answersOf(options),
    params: options.param ?? {},
    weightUnit: 'kg',
    now: 0,
  });
  if (options.mapping === NEW_MAPPING) return await askNew(asking, look, known, guessed);

  const { recognised } = guessed;
  for (const line of explainGuess(recognised)) say(line);
  const { guess, best } = recognised;
  if (best !== undefined && options.yes) return { kind: 'known', ...found(known, best.name) };
  if (options.yes && (prompter === null || guess.fitting.length === 0 || guess.best !== best))
    return await askNew(asking, look, known, guessed);
  if (prompter === null) throw cannotTell(guess);
  const chosen = await prompter.choose(
    'Which mapping reads this file?',
    choices(recognised, known),
    best?.name ?? NEW_MAPPING,
  );
  if (chosen === NEW_MAPPING) return await askNew(asking, look, known, guessed);
  return { kind: 'known', ...found(known, chosen) };
}

function found(known: readonly MappingCandidate[], name: string): MappingCandidate {
  const mapping = known.find((one) => one.name === name);
  if (mapping !== undefined) return mapping;
  const names = known.map((one) => one.name);
  throw new UsageError(`There is no mapping '${name}'${didYouMean(name, names) || '.'}`, {
    hint: `Known mappings: ${names.join(', ')}; '${NEW_MAPPING}' proposes a new one.`,
  });
}

function given(name: string, header: readonly string[], known: readonly MappingCandidate[]): MappingAnswer {
  const mapping = found(known, name);
  const { obstacle } = fitHeader(mapping.spec, header);
  if (obstacle === null) return { kind: 'known', ...mapping };
  const others = guessMapping(header, known).fitting.map((fit) => fit.name);
  throw new UsageError(`The mapping ${name} does not fit the file: ${obstacle}.`, {
    hint:
      others.length === 0
        ? `No mapping fits its columns; --mapping ${NEW_MAPPING} proposes a new one.`
        : `Mappings that fit: ${others.join(', ')}.`,
  });
}

function choices({ guess, best, lost }: RecognisedFile, known: readonly MappingCandidate[]) {
  const about = (name: string) => {
    const left = (lost.get(name) ?? []).map(({ header, field }) => `'${header}' (${field})`);
    const without = left.length === 0 ? undefined : `Leaves out ${listed(left)}.`;
    return [known.find((one) => one.name === name)?.spec.description, without]
      .filter((text) => text !== undefined)
      .join('. ');
  };
  const choice = ({ name }: Pick<MappingFit, 'name'>, note: string) => ({
    value: name,
    name: `${name}${note}`,
    description: about(name),
  });
  return [
    ...guess.fitting.map((fit) => choice(fit, fit === best ? ' (the guess)' : ' (fits)')),
    {
      value: NEW_MAPPING,
      name: 'None of these: propose a new mapping',
      description: 'Uses the headers and values of the file, and asks what they leave open.',
    },
  ];
}

function cannotTell({ best, fitting }: MappingGuess): UsageError {
  const names = best === undefined ? fitting.map(({ name }) => name) : [best.name];
  return new UsageError('No mapping is given for the file.', {
    hint: `Give --mapping NAME${names.length === 0 ? '' : ` (${names.join(', ')})`}, or --mapping ${NEW_MAPPING} for one of your own.`,
  });
}

/** Proposes a mapping by what the file shows, and asks what the file leaves open. */
async function askNew(
  asking: Asking,
  look: SourceLook,
  known: readonly MappingCandidate[],
  guessed: SourceGuess,
): Promise<MappingAnswer> {
  const { options, prompter, say, signal } = asking;
  const imports = await askImport(asking, guessed.recognised.imports);
  const propose = (given: MappingAnswers) =>
    examineIsolated(look, signal, 'propose', imports, fileToGuess(look), given, known);
  const answers: Record<string, string> = { ...answersOf(options) };
  const isAnswered = guessed.refused === null && guessed.proposal?.imports === imports;
  let proposal = (isAnswered ? guessed.proposal : undefined) ?? (await propose(answers));
  for (;;) {
    const [question] = proposal.questions;
    if (question !== undefined && prompter !== null) {
      const whyNot = async (answer: string) => {
        try {
          await propose({ ...answers, [question.id]: answer });
          return undefined;
        } catch (error) {
          if (error instanceof UsageError) return explainError(error);
          throw error;
        }
      };
      answers[question.id] = await askQuestion(prompter, question, whyNot);
      proposal = await propose(answers);
      continue;
    }
    for (const line of describeProposal(proposal)) say(line);
    if (proposal.spec === null) throw leftOpen(proposal.questions);
    return { kind: 'new', spec: proposal.spec, proposal, currency: answers['currency'] };
  }
}

async function askImport(
  { options, prompter }: Asking,
  guessed: MappingSpec['import'] | undefined,
): Promise<MappingSpec['import']> {
  const wanted =
    options.import ??
    (options.yes || prompter === null
      ? guessed
      : await prompter.choose(
          'What is in the file?',
          [
            { value: 'products', name: 'Products' },
            { value: 'contacts', name: 'Contacts' },
          ],
          guessed,
        ));
  const read = readImport(wanted);
  if (read !== undefined) return read;
  throw new UsageError('It is not clear whether the file has products or contacts.', {
    hint: `Give --import products or --import contacts. ${OTHER_HEADER}`,
  });
}

function readImport(text: string | undefined): MappingSpec['import'] | undefined {
  return text === 'products' || text === 'contacts' ? text : undefined;
}

async function askQuestion(
  prompter: NonNullable<Asking['prompter']>,
  { text, reason, answers }: MappingQuestion,
  check: CheckAnswer,
): Promise<string> {
  const message = `${text} (${reason})`;
  if (answers.length === 0) return await prompter.text(message, { check });
  // A choice must have a value, and '' is one of the answers.
  const chosen = await prompter.choose(
    message,
    answers.map(({ value, label }) => ({ value: `=${value}`, name: label })),
  );
  return chosen.slice(1);
}

/** The questions that must be answered before there can be a mapping, each with the option that answers it. */
function leftOpen(questions: MappingProposal['questions']): UsageError {
  const lines = questions.map(({ text, reason, flag, answers }) => {
    const others = answers.slice(1).map(({ value }) => (value === '' ? "'' for none" : `'${value}'`));
    return `  ${text} ${sentence(reason)}.\n    ${flag}${others.length === 0 ? '' : ` (or ${others.join(', ')})`}`;
  });
  const open = questions.length === 1 ? 'a question' : `${questions.length} questions`;
  return new UsageError(`The file leaves ${open} open:\n${lines.join('\n')}`, {
    hint: `Answer with the options above, or run init at a terminal. ${OTHER_HEADER}`,
  });
}

const OTHER_HEADER = 'If the header is another row: --header-row NUMBER.';

const COLUMN_WIDTH = 24;
const SAMPLE_WIDTH = 24;

/** A line for each column: its field, a value and the evidence; then how cells are read. */
function describeProposal({ columns, notes }: MappingProposal): string[] {
  const row = (header: string, field: string, sample: string, evidence: string) =>
    `  ${truncate(header, COLUMN_WIDTH).padEnd(COLUMN_WIDTH)}  ${field.padEnd(14)}  ${truncate(sample, SAMPLE_WIDTH).padEnd(SAMPLE_WIDTH)}  ${evidence}`;
  return [
    'Proposed mapping, from the headers and the values of the file:',
    row('column', 'field', 'example', 'evidence'),
    ...columns.map(({ header, field, sample, evidence }) => row(header, field ?? '-', sample, evidence)),
    ...notes.map((note) => `  ${note}`),
  ];
}
