import type { MappingSpec, Transform, Value } from '../../mapping/spec/mapping-spec.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { looseName, truncate } from '../../text/printable.ts';
import { type Concept, fieldsOf } from '../column-fields.ts';
import type { HeaderReading, Meaning } from './header-reading.ts';
import type { SampledColumn } from './sampled-column.ts';

/** One of the answers that a question takes. */
export interface CandidateAnswer {
  readonly value: string;
  /** What it means, with the header or a sample. */
  readonly label: string;
}

/** The questions about a new mapping, as the options of `init` that answer them: once, or `NAME=ANSWER` for each column or word. */
export const MAPPING_QUESTIONS = {
  once: ['decimal', 'currency', 'weightIn', 'group', 'fromPrices', 'imageBase', 'separator'],
  byName: ['column', 'word', 'unused'],
} as const;

/** The id of a question: `decimal`, `column.price`. */
type QuestionId =
  | (typeof MAPPING_QUESTIONS.once)[number]
  | `${(typeof MAPPING_QUESTIONS.byName)[number]}.${string}`;

/** A question that the file does not answer; nothing is assumed. */
export interface MappingQuestion {
  /** The key of its answer in `MappingAnswers`. */
  readonly id: QuestionId;
  readonly text: string;
  /** Why it is asked, with figures and samples. */
  readonly reason: string;
  /** Empty where any text is an answer. */
  readonly answers: readonly CandidateAnswer[];
  /** The option of `init` that answers it, with the first answer as the example. */
  readonly flag: string;
}

/**
 * Answers to questions, and decisions that overrule guesses, by the ids of the questions. The answer to `column.FIELD` is a
 * header, `header#2` for the second of that name, or '' for none.
 */
export type MappingAnswers = Readonly<Record<string, string>>;

/** A column of the file, and how it is used. */
export type ProposedColumn = ReturnType<Guess['proposed']>[number];

/** The answer that columns which change prices, stock or what is sold have no other use. */
export const LEAVE_OUT: CandidateAnswer = {
  value: 'leave-out',
  label: 'leave out: it is not sent; this can be changed later',
};

/** What earlier mappings of the workspace did with a header: the mapping and the field, by loosened header. */
export type EarlierUse = ReadonlyMap<string, { readonly mapping: string; readonly field: string }>;

/** The choice of a column for a field. */
interface Choice {
  readonly fits: (column: SampledColumn) => boolean;
  /** What its values show, for the evidence: `118 of 120 values are amounts`. */
  readonly shown?: (column: SampledColumn) => string;
  /** Other meanings of the header than those of the field. */
  readonly concepts?: readonly Concept[];
  /** Which of several columns whose headers mean the same to prefer. If several remain, a question is asked. */
  readonly prefer?: (column: SampledColumn) => boolean;
  /** Whether some column must have it, so that none is no answer. */
  readonly isRequired?: boolean;
}

const SAMPLE_LENGTH = 30;

/** Collects the findings about the columns of a file. */
export class Guess {
  readonly columns: readonly SampledColumn[];
  readonly answers: MappingAnswers;
  /** Milliseconds since the epoch; undefined if no date is compared with it. */
  readonly now: number | undefined;
  /** Of each sampled row of a sheet, whether it is hidden or struck out. */
  readonly marked: readonly ('hidden' | 'struck' | undefined)[];
  /** How a sheet shows the numbers of a column: `# €/100 pcs`. */
  readonly shown: readonly (readonly [column: number, text: string])[];
  /** Lines above the header, and headings between or below the rows. */
  readonly lines: readonly string[];
  /** Values beside the records of JSON or XML, as columns that no field can take. */
  readonly beside: readonly SampledColumn[];
  readonly isJson: boolean;
  readonly questions: MappingQuestion[] = [];
  /** Sentences: how cells are read, and what is not sent. */
  readonly notes: string[] = [];
  /** The columns of the proposed mapping, by their names in it. */
  readonly used = new Map<
    string,
    {
      readonly column: SampledColumn;
      readonly evidence: string;
      /** Of a family: its headers, as the mapping writes them. */
      readonly headers?: string | string[];
    }
  >();
  readonly #fields: ReturnType<typeof fieldsOf>;
  readonly #earlier: EarlierUse;
  readonly #claims = new Map<number, Claim>();
  /** The languages of most headers. */
  readonly languages: readonly string[];

  constructor(
    imports: MappingSpec['import'],
    sampled: readonly SampledColumn[],
    answers: MappingAnswers,
    earlier: EarlierUse,
    {
      now,
      marked = [],
      shown = [],
      lines = [],
      beside = [],
      isJson = false,
    }: {
      readonly [Key in 'now' | 'marked' | 'shown' | 'lines' | 'beside' | 'isJson']?: Guess[Key] | undefined;
    },
  ) {
    this.languages = mainLanguages(sampled);
    this.columns = sampled.map((column) => ({ ...column, reading: within(column.reading, this.languages) }));
    this.answers = answers;
    this.now = now;
    this.marked = marked;
    this.shown = shown;
    this.lines = lines;
    this.beside = beside;
    this.isJson = isJson;
    this.#fields = fieldsOf(imports);
    this.#earlier = earlier;
  }

  /** The column that an answer names for a field, or that an earlier mapping used for it; `none` if the answer is that there is none. */
  settled(field: string, fits: Choice['fits']): SampledColumn | 'none' | undefined {
    const given = this.given(field);
    if (given !== undefined)
      return given === 'none' ? given : this.claim(field, given, 'your answer', 'certain');
    const before = this.#undecided.find(
      ({ header }) => this.#earlier.get(looseName(header))?.field === field,
    );
    if (before === undefined || (before.values.length > 0 && !fits(before))) return undefined;
    const mapping = this.#earlier.get(looseName(before.header))?.mapping ?? '';
    return this.claim(
      field,
      before,
      `the mapping ${mapping} uses it for ${this.#what(field)} too`,
      'certain',
    );
  }

  /** The column for a field; undefined if there is none, or if a question was asked about it. */
  pick(field: string, choice: Choice): SampledColumn | undefined {
    const { concepts = this.#fields[field]?.concepts ?? [], fits, prefer, shown = () => '' } = choice;
    const settled = this.settled(field, fits);
    if (settled !== undefined) return settled === 'none' ? undefined : settled;
    const undecided = this.#undecided;
    for (const how of ['exact', 'near'] as const) {
      const called = undecided.filter((column) => {
        const meaning = meaningOf(column, concepts);
        return meaning?.how === how && (column.values.length === 0 || fits(column));
      });
      const filled = called.filter(({ values }) => values.length > 0);
      const open = filled.length > 0 ? filled : called;
      const preferred = prefer === undefined ? [] : open.filter(prefer);
      const among = preferred.length > 0 ? preferred : open;
      const [only, second] = among;
      if (only === undefined) continue;
      if (second !== undefined) {
        const names = quotedHeaders(among, ' and ');
        const none = choice.isRequired === true ? null : undefined;
        this.askColumn(field, among, `${names} may both have it`, none);
        return undefined;
      }
      const evidence = this.evidence(only, concepts, this.#what(field), shown(only));
      return this.claim(field, only, evidence, how === 'exact' ? 'certain' : 'likely');
    }
    return undefined;
  }

  /** The column that an answer names for a field, or `none`; undefined without an answer. UsageError for no column. */
  given(field: string): SampledColumn | 'none' | undefined {
    const written = this.answers[`column.${field}`];
    if (written === undefined) return undefined;
    return written.trim() === '' ? 'none' : this.called(written);
  }

  /** The column of that header. UsageError where there is none, or more than one. */
  called(written: string): SampledColumn {
    const [, name = written, nth] = /^(.*)#(\d+)$/s.exec(written.trim()) ?? [];
    const wanted = name.trim();
    const exact = this.columns.filter(({ header }) => header === written.trim());
    const alike = exact.length > 0 ? exact : this.columns.filter(({ header }) => header === wanted);
    const found =
      alike.length > 0 ? alike : this.columns.filter(({ header }) => looseName(header) === looseName(wanted));
    const column = nth === undefined || exact.length > 0 ? found[0] : found[Number(nth) - 1];
    if (column !== undefined && (found.length === 1 || nth !== undefined)) return column;
    const names = this.columns.filter(({ header }) => header !== '').map(({ header }) => header);
    throw new UsageError(
      column === undefined
        ? `The file has no column '${written}'; it has ${names.join(', ')}.`
        : `The file has ${found.length} columns '${wanted}'.`,
      column === undefined ? {} : { hint: `Name one as '${wanted}#1', '${wanted}#2' and so on.` },
    );
  }

  /** Takes a column for a field. */
  claim(
    field: string,
    column: SampledColumn,
    evidence: string,
    confidence: Claim['confidence'],
  ): SampledColumn {
    this.#claims.set(column.index, { field, evidence, confidence });
    return column;
  }

  /** Takes no field for a column after all, and names it as not sent. */
  leaveOut({ header, index }: SampledColumn, why: string): void {
    this.#claims.delete(index);
    this.notes.push(`'${header}' is not sent: ${why}.`);
  }

  isFree(column: SampledColumn): boolean {
    return !this.#claims.has(column.index);
  }

  /** The columns with a header that no field has taken. */
  get free(): readonly SampledColumn[] {
    return this.columns.filter((column) => column.header !== '' && this.isFree(column));
  }

  /** Those of them that no answer gives to a field. */
  get #undecided(): readonly SampledColumn[] {
    const given = Object.keys(this.#fields).map((field) => this.given(field));
    return this.free.filter((column) => !given.includes(column));
  }

  /** The free columns whose headers mean one of some concepts, and are not misspelt. */
  freeCalled(...concepts: readonly Concept[]): readonly SampledColumn[] {
    return this.free.filter((column) => isExactlyCalled(column, ...concepts));
  }

  /** Whether there is a question which column fills the field. */
  isAsked(field: string): boolean {
    return this.questions.some(({ id }) => id === `column.${field}`);
  }

  /** Whether an answer says which column fills the field, or it is asked. */
  isDecided(field: string): boolean {
    return this.answers[`column.${field}`] !== undefined || this.isAsked(field);
  }

  /** Whether a question names the column. */
  isNamed(header: string): boolean {
    return this.questions.some(
      ({ text, reason, answers }) =>
        `${text} ${reason}`.includes(`'${header}'`) || answers.some(({ value }) => value === header),
    );
  }

  /** The fields that have a column, as `--column` names them. */
  fields(): readonly string[] {
    return [...this.#claims.values()].map(({ field }) => field);
  }

  /** Adds a column to the mapping, under this name or the name with a number. Returns its name there. */
  use(name: string, column: SampledColumn): string {
    const [taken] = [...this.used].find(([, used]) => used.column.index === column.index) ?? [];
    if (taken !== undefined) return taken;
    let free = name;
    for (let number = 2; this.used.has(free); number++) free = `${name}${number}`;
    this.used.set(free, { column, evidence: this.#claims.get(column.index)?.evidence ?? '' });
    return free;
  }

  /** Adds a column that an answer gives this use. Returns its name in the mapping. */
  useAnswered(name: string, column: SampledColumn): string {
    return this.use(name, this.claim(name, column, 'your answer', 'certain'));
  }

  /** Adds a family of columns to the mapping; `pattern`: how all headers are written. Returns its name there. */
  useFamily(name: string, columns: readonly SampledColumn[], pattern: string | undefined): string {
    const [first] = columns;
    if (first === undefined) throw new TypeError('a family has no columns');
    const evidence = this.#claims.get(first.index)?.evidence ?? '';
    this.used.set(name, { column: first, evidence, headers: pattern ?? columns.map(({ header }) => header) });
    return name;
  }

  /** `columns` of the mapping. */
  columnSpecs(): MappingSpec['columns'] {
    const inOrder = [...this.used].sort(([, a], [, b]) => a.column.index - b.column.index);
    return Object.fromEntries(
      inOrder.map(([name, { column, headers }]) => {
        const { header, occurrence } = column;
        if (headers !== undefined)
          return [name, name.includes('{n}') ? headers : { header: headers, occurrence: 'all' }];
        return [name, occurrence === 0 ? header : { header, occurrence }];
      }),
    );
  }

  #what(field: string) {
    return this.#fields[field]?.what ?? field;
  }

  /** Asks what columns hold that change the price of a product, its stock or whether it is sold; undefined without an answer. */
  askUnused(
    columns: readonly SampledColumn[],
    why: string,
    answers: readonly CandidateAnswer[] = [LEAVE_OUT],
  ): string | undefined {
    const isOne = columns.length === 1;
    const noun = columns.some((one) => this.beside.includes(one)) ? 'value' : 'column';
    const what = `the ${noun}${isOne ? '' : 's'} ${quotedHeaders(columns)}`;
    const contains = `What do${isOne ? 'es' : ''} ${what} contain?`;
    return this.ask({
      id: `unused.${columns[0]?.header}`,
      text: answers.length === 1 ? `May ${what} be left out?` : contains,
      reason: `${isOne ? 'it' : 'they'} ${why}`,
      answers,
    });
  }

  /** Asks which column fills a field. `none`: what it means that no column does; null where one must. */
  askColumn(
    field: string,
    candidates: readonly SampledColumn[],
    reason: string,
    none: string | null = 'none of them',
    what = this.#what(field),
  ): void {
    const answers = candidates.map((column) => ({
      value: nameOf(column),
      label: `${column.header}: ${sampleOf(column)}`,
    }));
    this.ask({
      id: `column.${field}`,
      text: `Which column ${what.startsWith('whether') ? 'says' : 'has'} ${what}?`,
      reason,
      answers: none === null ? answers : [...answers, { value: '', label: none }],
    });
  }

  /** Asks whether one of some columns fills a field that is not decided; nothing without columns. */
  askUnclear(field: string, candidates: readonly SampledColumn[], reason: string, what?: string): void {
    if (candidates.length > 0 && !this.isDecided(field))
      this.askColumn(field, candidates, reason, undefined, what);
  }

  /** What a word of a column means: one of the answers, which have labels; undefined while that is asked. */
  askWord(
    word: string,
    { header, values }: SampledColumn,
    labels: Readonly<Record<string, string>>,
  ): string | undefined {
    const count = values.filter((value) => value.toLowerCase() === word.toLowerCase()).length;
    return this.ask({
      id: `word.${word}`,
      text: `What does '${word}' mean in '${header}'?`,
      reason: `${count} of ${values.length} values are '${word}'`,
      answers: Object.entries(labels).map(([value, label]) => ({ value, label })),
    });
  }

  /** The answer to a question, as it is offered; without one, adds the question. UsageError for any other answer. */
  ask({ id, text, reason, answers }: Omit<MappingQuestion, 'flag'>): string | undefined {
    const given = this.answers[id];
    if (given !== undefined && !id.startsWith('column.')) {
      if (answers.length === 0) return given;
      const values = answers.map(({ value }) => value);
      const alike = values.find((value) => value.toLowerCase() === given.toLowerCase());
      if (alike !== undefined) return values.includes(given) ? given : alike;
      throw new UsageError(
        `${flagOf(id, given)}: expected ${values.map((value) => `'${value}'`).join(' or ')}.`,
      );
    }
    if (!this.questions.some((question) => question.id === id))
      this.questions.push({ id, text, reason, answers, flag: flagOf(id, answers[0]?.value ?? 'VALUE') });
    return undefined;
  }

  /** Why a column is taken for a field: what its header is called, and what its values show. */
  evidence(column: SampledColumn, concepts: readonly Concept[], what: string, shown: string): string {
    const meaning = meaningOf(column, concepts);
    if (meaning === undefined) return shown;
    const language =
      meaning.languages.find((one) => this.languages.includes(one)) ?? meaning.languages[0] ?? '';
    const bare = what.replace(/^the /, '');
    const called =
      meaning.how === 'near'
        ? `header resembles ${language} for ${bare}`
        : `header is ${language} for ${bare}`;
    return shown === '' ? called : `${called}; ${shown}`;
  }

  /** All columns in their order, with their use. */
  proposed() {
    return this.columns.map((column) => {
      const claim = this.#claims.get(column.index);
      const isOpen = claim === undefined && this.#mayBeUsed(column);
      const meanings = column.reading.meanings
        .map(({ concept }) => concept)
        .filter((concept) => concept !== claim?.field);
      return {
        header: column.header,
        /** As `--column` names it: with its number where several have the header. */
        name: nameOf(column),
        index: column.index,
        /** The field it fills, as `--column` names it; null where it is not used. */
        field: claim?.field ?? null,
        /** Whether its use depends on an open question. */
        isOpen,
        /** `certain`: header and values agree, or an answer says so; `likely`: only one of them shows it. */
        confidence: claim?.confidence ?? null,
        /** The evidence in words; for an unused column, the reason. */
        evidence: claim?.evidence ?? (isOpen ? 'open: it depends on an answer' : this.#whyUnused(column)),
        sample: sampleOf(column),
        /** Other fields that it could fill. */
        alternatives: meanings.filter((concept) => concept !== 'none'),
      };
    });
  }

  /** Whether the answer to an open question may use a column: the question names it, or its header has a meaning. */
  #mayBeUsed({ header, reading }: SampledColumn) {
    const isKnown = reading.meanings.some(({ concept }) => concept !== 'none');
    return header !== '' && this.questions.length > 0 && (this.isNamed(header) || isKnown);
  }

  #whyUnused({ header, reading, values }: SampledColumn) {
    if (header === '') return 'it has no header';
    if (values.length === 0) return 'it is blank';
    const [first] = reading.meanings;
    if (first === undefined) return 'its header is not known';
    if (first.concept === 'none') return 'it has no field in the store';
    return `known as ${first.concept.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}, not used`;
  }
}

interface Claim {
  readonly field: string;
  readonly evidence: string;
  readonly confidence: 'certain' | 'likely';
}

/** The meaning of a header among some concepts. */
export function meaningOf({ reading }: SampledColumn, concepts: readonly Concept[]): Meaning | undefined {
  return reading.meanings.find(({ concept }) => concepts.includes(concept));
}

/** Whether a word of a header that is not understood means one of some concepts. */
export function isMentioned({ reading }: SampledColumn, ...concepts: readonly Concept[]): boolean {
  return concepts.some((concept) => reading.mentions.has(concept));
}

/** Whether a header may mean one of some concepts. */
export function isCalled(column: SampledColumn, ...concepts: readonly Concept[]): boolean {
  return meaningOf(column, concepts) !== undefined;
}

/** Whether a header means one of some concepts, and is not misspelt. */
export function isExactlyCalled(column: SampledColumn, ...concepts: readonly Concept[]): boolean {
  return meaningOf(column, concepts)?.how === 'exact';
}

/** Whether a column has values of a list within each record, as variants in JSON. */
export function isOfList({ header }: Pick<SampledColumn, 'header'>): boolean {
  return header.includes('[].');
}

/** The headers of columns, as sentences have them. */
export function quotedHeaders(columns: readonly SampledColumn[], between = ', '): string {
  return columns.map(({ header }) => `'${header}'`).join(between);
}

/** What a header means in the languages of the file, if it has a meaning there: CP is a postal code beside Ville. */
function within(reading: HeaderReading, main: readonly string[]) {
  const meanings = reading.meanings.filter(({ languages }) => languages.some((one) => main.includes(one)));
  return meanings.length === 0 ? reading : { ...reading, meanings };
}

/** The languages of most headers. */
function mainLanguages(columns: readonly SampledColumn[]): readonly string[] {
  const named = columns.flatMap(({ reading }) => [
    ...new Set(reading.meanings.flatMap(({ languages }) => languages)),
  ]);
  const all = [...Map.groupBy(named, (language) => language)];
  const most = Math.max(...all.map(([, { length }]) => length));
  return all.flatMap(([language, { length }]) => (length === most ? [language] : []));
}

/** A column as `--column` names it. */
export function nameOf({ header, occurrence }: SampledColumn): string {
  return occurrence === 0 ? header : `${header}#${occurrence}`;
}

/** The first value of a column, shortened. */
export function sampleOf({ values }: SampledColumn): string {
  const text = (values[0] ?? '').replaceAll(/\s+/g, ' ');
  return truncate(text, SAMPLE_LENGTH);
}

/** `118 of 120 values are amounts`; `all 120 …`. */
export function countedShare(
  { values }: SampledColumn,
  test: (value: string) => boolean,
  what: string,
): string {
  const count = values.filter(test).length;
  return values.length === 0
    ? 'no values'
    : `${count === values.length ? `all ${count}` : `${count} of ${values.length}`} values ${what}`;
}

/** A column of the mapping, read by steps. */
export function readBy(name: string, steps: readonly Transform[]): Value {
  return steps.length === 0 ? name : [name, ...steps];
}

/** The option of `init` that gives an answer. */
function flagOf(id: string, value: string) {
  const [kind = '', ...rest] = id.split('.');
  const name = rest.join('.');
  const quoted = (text: string) =>
    /^[\p{L}\p{N}_.=:/-]+$/u.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
  const option = kind.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${option} ${quoted(name === '' ? value : `${name}=${value}`)}`;
}
