import { InvalidArgumentError } from 'commander';
import { delimiterSchema, encodingSchema, tableFields } from '../../model/row.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import {
  answerDraft,
  EMPTY_DRAFT,
  type JobDraft,
  type JobQuestionId,
  type JobQuestionKind,
  questionKind,
} from '../../onboarding/job-draft.ts';
import { flag, flagsOf, optionalOption, text, type ValuesOf } from '../define-command.ts';

/** The options of `init`: each answers a question. */
export const INIT_OPTIONS = {
  storeUrl: text('url', 'the address of the store; its key comes from STORE_API_KEY'),
  sandbox: flag('no store yet: use the sandbox'),
  store: text('name', 'the store, if there are several'),
  weightUnit: text('unit', 'of the store: kg, g, lb or oz'),
  source: text('file', 'the file to import, or its address'),
  hostKey: text('fingerprint', 'of the SSH server; its password comes from SFTP_PASSWORD'),
  allowPrivateAddresses: flag('also in private networks'),
  sheet: text('name', 'the sheet, by name or number; required if several have content'),
  records: text('path', 'the path of records in JSON or XML, such as shop.offers.offer'),
  headerRow: text('number', 'the row of the header, if not the first'),
  encoding: text('charset', 'the charset, if not UTF-8'),
  delimiter: text('name', 'the delimiter, if it cannot be detected'),
  quotes: text('how', 'none: a quote is an inch mark'),
  copy: flag('copy the file into the workspace'),
  mapping: text('name', 'the mapping; default: recognised by the columns; `new` proposes one'),
  import: text('what', 'new mapping: products or contacts'),
  column: optionalOption(
    'field=header',
    'new mapping: the column of a field: price=Preis, or sku= for none; may be repeated',
    nameAndValue,
  ),
  decimal: text('sign', 'new mapping: the decimal sign, "," or "."'),
  currency: text(
    'code',
    'of the store, such as EUR; other prices are rejected, or left out by a new mapping',
  ),
  weightIn: text('unit', 'new mapping: the unit of weights, if the file does not name it'),
  group: text('header', 'new mapping: rows with the same value here are one product; none: each row is'),
  fromPrices: text('what', 'new mapping: send or reject prices such as "from 9.90"'),
  imageBase: text('url', 'new mapping: the address of images that the file only names'),
  separator: text(
    'what',
    'new mapping: the sign in a category separates levels (path), categories (list) or nothing (none)',
  ),
  word: optionalOption(
    'word=meaning',
    'new mapping: the meaning of a word in stock or status; may be repeated',
    nameAndValue,
  ),
  unused: optionalOption(
    'header=answer',
    'new mapping: how to use a column that may change prices, stock or what is sold: leave-out, or an offered answer; may be repeated',
    nameAndValue,
  ),
  param: optionalOption('name=value', 'a parameter of the mapping; may be repeated', nameAndValue),
  crosswalk: text('file', 'for contacts: the CSV file with ids and e-mails, or `store`'),
  crosswalkMatch: text('column', 'its column that identifies a contact'),
  crosswalkId: text('column', "its column with the store's id"),
  job: text('name', 'the name of the job'),
  schedule: text('cron', 'minute, hour, day, month, weekday'),
  timezone: text('zone', 'of the schedule; default: that of this machine'),
  yes: flag('accept guesses and defaults; ask for the rest'),
};

/** The answers that options give. */
export type InitOptions = ValuesOf<typeof INIT_OPTIONS>;

/** The option that answers each kind of question; null where none does. */
const OPTION_OF: Readonly<Record<JobQuestionKind, keyof InitOptions | null>> = {
  storeKind: 'sandbox',
  url: 'storeUrl',
  apiKey: null,
  store: 'store',
  file: 'source',
  hostKey: 'hostKey',
  password: null,
  place: 'copy',
  sheet: 'sheet',
  records: 'records',
  headerRow: 'headerRow',
  encoding: 'encoding',
  delimiter: 'delimiter',
  mapping: 'mapping',
  imports: 'import',
  decimal: 'decimal',
  currency: 'currency',
  weightIn: 'weightIn',
  group: 'group',
  fromPrices: 'fromPrices',
  imageBase: 'imageBase',
  separator: 'separator',
  crosswalk: 'crosswalk',
  crosswalkFile: 'crosswalk',
  crosswalkMatch: 'crosswalkMatch',
  crosswalkId: 'crosswalkId',
  picturesTo: null,
  weightUnit: 'weightUnit',
  name: 'job',
  schedule: 'schedule',
  weekday: null,
  monthDay: null,
  time: null,
  every: null,
  cron: 'schedule',
  timezone: 'timezone',
  column: 'column',
  word: 'word',
  unused: 'unused',
  param: 'param',
  variable: null,
};

/** The option that answers a question, as it is typed. */
export function optionFor(id: JobQuestionId): string {
  const key = OPTION_OF[questionKind(id)];
  return key === null ? id : flagsOf(key, { value: null });
}

/** The draft of a job that options describe. UsageError for one that no file is read by. */
export function draftOf(options: InitOptions): JobDraft {
  const answers = Object.entries(OPTION_OF).flatMap(([kind, key]): (readonly [string, string])[] => {
    const value = key === null ? undefined : options[key];
    if (typeof value === 'string') return [[kind, value]];
    if (typeof value !== 'object') return [];
    return Object.entries(value).map(([name, answer]) => [`${kind}.${name}`, answer]);
  });
  const { sandbox, storeUrl, copy, crosswalk, schedule } = options;
  const chosen = {
    storeKind: sandbox ? 'sandbox' : storeUrl && 'own',
    place: copy ? 'copy' : undefined,
    crosswalk: crosswalk === 'store' ? 'store' : crosswalk && 'file',
    schedule: schedule && 'other',
  };
  return answerDraft(
    { ...EMPTY_DRAFT, reading: readingOf(options) },
    { ...Object.fromEntries(answers), ...chosen },
  );
}

function readingOf(options: InitOptions): JobDraft['reading'] {
  const { headerRow, quotes } = options;
  if (quotes !== undefined && quotes !== 'none') throw new UsageError('--quotes: expected none.');
  return {
    sheet: readBy(tableFields.sheet, '--sheet', options.sheet)?.toString(),
    records: readBy(tableFields.records, '--records', options.records),
    headerRow: readBy(tableFields.headerRow, '--header-row', headerRow && Number(headerRow)),
    encoding: readBy(encodingSchema, '--encoding', options.encoding),
    delimiter: readBy(delimiterSchema, '--delimiter', options.delimiter),
    quotes,
  };
}

interface Schema<Value> {
  safeParse(given: unknown):
    | { readonly success: true; readonly data: Value }
    | {
        readonly success: false;
        readonly error: { readonly issues: readonly { readonly message: string }[] };
      };
}

/** An option read by the schema of the key that it is for. */
function readBy<Value>(schema: Schema<Value>, option: string, given: unknown) {
  if (given === undefined) return undefined;
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  throw new UsageError(`${option}: ${read.error.issues[0]?.message ?? 'not valid'}.`);
}

/** Parses one of several `NAME=VALUE` and adds it to the previous ones. */
function nameAndValue(
  typed: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(typed) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name]: value };
  throw new InvalidArgumentError('Expected NAME=VALUE.');
}
