import { matchableFields } from '../config/job/job.ts';
import { baseUrlSchema, storeSchema } from '../config/store-config.ts';
import type { MappingSpec } from '../mapping/spec/mapping-spec.ts';
import { withoutAbsent } from '../model/json-object.ts';
import { originOf } from '../model/remote-address.ts';
import { explainError, InterruptedError, StoreferryError } from '../model/storeferry-error.ts';
import { looseName } from '../text/printable.ts';
import { isExactlyCalled } from './guess/guess.ts';
import { readContactHeader } from './guess/header-reading.ts';
import { isEmail, type SampledColumn, sampleColumns } from './guess/sampled-column.ts';
import { words } from './guess/words.ts';
import {
  askFile,
  askPlace,
  choicesOf,
  type DraftEffects,
  type DraftSetting,
  type Inquiry,
  type PreviewUnit,
  type StoreOfDraft,
} from './inquiry.ts';
import type { NewJob } from './job-text.ts';
import { STORE_VARIABLES } from './new-workspace.ts';
import { fileToGuess, type SourceGuess, type SourceLook, type SourcePreview } from './preview-source.ts';

/** The store that a job is for. */
export interface StoreAnswer {
  /** Undefined for a new one. */
  readonly known: StoreOfDraft | undefined;
  /** For `.env`. */
  readonly variables: Readonly<Record<string, string>>;
  readonly isSandbox: boolean;
}

/** Asks which store a job is for, or for a new one if the workspace has none. */
export function askStore(inquiry: Inquiry, setting: DraftSetting): StoreAnswer {
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

function whyNoKey(text: string) {
  if (text === '') return 'expected the API key of the store';
  return storeSchema.shape.apiKey.safeParse(text).error?.issues[0]?.message;
}

/** Asks for the unit of weight of a new store; undefined for a known one. */
export function askWeightUnit(
  inquiry: Inquiry,
  spec: MappingSpec,
  store: StoreAnswer,
): PreviewUnit | undefined {
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

/** Asks for the currency of a new store. A known store without a currency is refused if the file names several. */
export function askCurrency(
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

/** The currencies that prices of a file name; empty for a mapping with other tables, whose prices only a plan can read. */
function currenciesIn(preview: SourceGuess['preview']): Partial<SourcePreview['currencies']> {
  return typeof preview === 'object' ? preview.currencies : {};
}

/** A finding about prices in other currencies than that of the store. */
export function foreignPrices(
  { preview }: SourceGuess,
  inquiry: Inquiry,
  store: StoreAnswer,
): readonly string[] {
  const { foreign = [] } = currenciesIn(preview);
  const sold = soldIn(inquiry, store);
  return foreign.length === 0
    ? []
    : [`Prices in ${foreign.join(', ')} are rejected: the store sells in ${sold}.`];
}

/** The currency of a store; if it is not known, the one that the prices of the file name. */
export function soldIn(inquiry: Inquiry, { known }: StoreAnswer, guess?: SourceGuess): string | undefined {
  const { found } = currenciesIn(guess?.preview);
  const sold = known === undefined ? currencyOf(inquiry.given('currency')) : known.currency;
  return sold ?? currencyOf(found ?? undefined);
}

/** The code of a currency; undefined for any other text. */
export function currencyOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : storeSchema.shape.currency.safeParse(text).data;
}

/** The file that connects the ids of the store with a field of the source. */
export type CrosswalkAnswer =
  | 'store'
  | (Exclude<NonNullable<NewJob['crosswalk']>, 'store'> & { readonly copyOf: string | undefined });

/** Where a job looks for ids that it does not have yet. */
const CROSSWALK_PATH = 'contact-ids.csv';

/** Asks for the ids of contacts; null if the mapping takes them from the source, or while a question is open. */
export async function askCrosswalk(
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
      fields.includes('email') && {
        value: 'store',
        name: 'From the store itself, by e-mail address',
        description: 'If the store lists or finds contacts, as probe shows, or after contacts scan.',
      },
      isMapped && { value: 'source', name: 'From the file itself: the mapping has a column for them' },
      { value: 'later', name: `I do not have one yet (the job will look for ${CROSSWALK_PATH})` },
    ]),
    missing: 'Contacts are updated by the ids of the store, and this mapping has no column for them.',
  });
  if (from === 'later')
    return { path: CROSSWALK_PATH, match: preferred, field: undefined, id: 'id', copyOf: undefined };
  if (from === 'store') return 'store';
  if (from !== 'file') return null;
  const found = await askFile(inquiry, 'crosswalkFile', 'The crosswalk (CSV)', effects);
  if (found === undefined) return null;
  const columns = await effects.look(found.place, {}).then(namedColumns, (error: unknown) => {
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
  columns: readonly SampledColumn[],
  fields: readonly string[],
  preferred: string,
) {
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

function askId(inquiry: Inquiry, all: readonly SampledColumn[], match: string) {
  const columns = all.filter(({ header }) => looseName(header) !== looseName(match));
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

function headersOf(columns: readonly SampledColumn[]) {
  return columns.map(({ header }) => header).join(', ');
}

/** A few other cells, such as 'n/a', are allowed in a column of addresses. */
const MIN_EMAIL_SHARE = 0.8;

/** How a column identifies contacts: its header, and the field to compare it with, if its name differs; undefined if no field matches. */
function crosswalkMatch(column: SampledColumn, fields: readonly string[]) {
  const { header } = column;
  const alike = fields.find((field) => looseName(field) === looseName(header));
  if (alike !== undefined)
    return { match: header.toLowerCase() === alike.toLowerCase() ? alike : header, field: undefined };
  return fields.includes('email') && isEmailColumn(column) ? { match: header, field: 'email' } : undefined;
}

/** The named columns of a file. */
function namedColumns(look: SourceLook): readonly SampledColumn[] {
  const { header, rows } = fileToGuess(look);
  return sampleColumns(header, rows, readContactHeader).filter((column) => column.header !== '');
}

/** The cells with a text, also where that is an error of a spreadsheet. */
function filledCells({ cells }: SampledColumn): readonly string[] {
  return cells.filter((cell) => cell !== '');
}

/** The column of that name, matched exactly or else loosely. */
function crosswalkColumn(columns: readonly SampledColumn[], name: string) {
  return (
    columns.find(({ header }) => header === name.trim()) ??
    columns.find(({ header }) => looseName(header) === looseName(name))
  );
}

/** Whether a column has e-mail addresses: decided by its cells, or by its header if they are blank. */
function isEmailColumn(column: SampledColumn) {
  const values = filledCells(column);
  if (values.length === 0) return isCalledEmail(column);
  return values.filter(isEmail).length >= values.length * MIN_EMAIL_SHARE;
}

/**
 * The column of the contact's e-mail addresses: the only one with such a name, or the only one that does not belong
 * to another person.
 */
function emailColumn(columns: readonly SampledColumn[]) {
  const all = columns.filter(isEmailColumn);
  const called = all.filter(isCalledEmail);
  const [only, second] = called.length > 0 ? called : all;
  if (only === undefined || second !== undefined) return undefined;
  return called.length > 0 || mayBeOwnEmail(only) ? only : undefined;
}

/** Addresses of owners or referrers repeat, and their headers say so. */
function mayBeOwnEmail(column: SampledColumn) {
  const values = filledCells(column);
  const isDistinct = new Set(values).size >= values.length * MIN_EMAIL_SHARE;
  const { otherPeople } = words().headerParts;
  return isDistinct && !wordsOf(column.header).some((word) => otherPeople.has(word));
}

function isCalledEmail(column: SampledColumn) {
  return isExactlyCalled(column, 'email') && (column.reading.qualifiers.number ?? 1) === 1;
}

/**
 * The column of the store's ids among columns of unique whole numbers: the only one whose header names just the id of
 * a contact. Undefined in case of doubt: members, companies and phones have numbers too, and a wrong id would write
 * into another person's contact.
 */
function idColumn(columns: readonly SampledColumn[]) {
  const numbers = columns.filter((column) => {
    const values = filledCells(column);
    return values.every((value) => /^[0-9]+$/.test(value)) && new Set(values).size === values.length;
  });
  const { id, number } = words().crosswalk;
  const named = numbers.filter(({ header }) => isCalledId(header, id));
  const [only, second] =
    named.length > 0 ? named : numbers.filter(({ header }) => isCalledId(header, number));
  return second === undefined ? only : undefined;
}

/** Whether a header names the id, alone or of a contact: id, Customer ID, contact_id, Store contact id, Contact no. */
function isCalledId(header: string, idWords: ReadonlySet<string>) {
  const { contact, store } = words().crosswalk;
  const all = wordsOf(header);
  const others = all.filter((word) => !idWords.has(word));
  const isOfContact = others.some((word) => contact.has(word));
  return (
    others.length < all.length &&
    others.every((word) => contact.has(word) || (isOfContact && store.has(word)))
  );
}

/** The words of a header in lower case: `contactId`, `contact_id` and `CONTACTId` give the same words. */
function wordsOf(header: string) {
  return (header.match(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\d+/gu) ?? []).map((word) =>
    word.toLowerCase(),
  );
}
