import { InvalidArgumentError } from 'commander';
import { MAPPING_QUESTIONS, type MappingAnswers } from '../../onboarding/guess/propose-mapping.ts';
import { flag, parsedOption, text, type ValuesOf } from '../define-command.ts';

/** The options of `init`: each answers a question. */
export const INIT_OPTIONS = {
  storeUrl: text('url', 'the address of the store; its key comes from STORE_API_KEY or is asked for'),
  sandbox: flag('no store yet: use the sandbox'),
  store: text('name', 'the store, in a workspace with several'),
  weightUnit: text('unit', 'the unit the store shows: kg, g, lb or oz'),
  source: text('file', 'the file to import'),
  sheet: text('name', 'the sheet of a workbook, by its name or number; required if several have content'),
  records: text('path', 'the path of the records of a JSON or XML file, such as shop.offers.offer'),
  headerRow: text('number', 'the row of the header, if it is not the first row'),
  encoding: text('charset', 'the charset of the file, if it is not UTF-8'),
  delimiter: text('name', 'the delimiter of the file, if it cannot be detected'),
  quotes: text('how', 'none: the file never quotes cells, so a quote is an inch mark'),
  copy: flag('copy the file into the workspace'),
  mapping: text(
    'name',
    'the mapping for the file; default: recognised by its columns; `new` proposes a new mapping',
  ),
  import: text('what', 'new mapping: products or contacts'),
  column: parsedOption<Readonly<Record<string, string>> | undefined>(
    'field=header',
    'new mapping: the column of a field, such as price=Preis; sku= for none; may be repeated',
    undefined,
    nameAndValue,
  ),
  decimal: text('sign', 'new mapping: the decimal sign, "," or "."'),
  currency: text(
    'code',
    'what the store sells in, such as EUR; prices in other currencies are rejected, or left out by a new mapping',
  ),
  weightIn: text('unit', 'new mapping: the unit of weights, if the file does not name it'),
  group: text(
    'header',
    'new mapping: rows with the same value in this column are one product; none: each row is a product',
  ),
  fromPrices: text('what', 'new mapping: send or reject prices such as "from 9.90"'),
  imageBase: text('url', 'new mapping: the address of the images, if the file has only their names'),
  separator: text(
    'what',
    'new mapping: what the sign in a category separates: levels (path), categories (list) or nothing (none)',
  ),
  word: parsedOption<Readonly<Record<string, string>> | undefined>(
    'word=meaning',
    'new mapping: the meaning of a word in the stock or the status; may be repeated',
    undefined,
    nameAndValue,
  ),
  unused: parsedOption<Readonly<Record<string, string>> | undefined>(
    'header=answer',
    'new mapping: how to use a column that may change prices, stock or what is sold: leave-out, or an answer that the question offers; may be repeated',
    undefined,
    nameAndValue,
  ),
  param: parsedOption<Readonly<Record<string, string>> | undefined>(
    'name=value',
    'a parameter of the mapping; may be repeated',
    undefined,
    nameAndValue,
  ),
  crosswalk: text('file', 'for contacts: the CSV file with ids of the store and e-mails'),
  crosswalkMatch: text('column', 'the column of the crosswalk that identifies a contact'),
  crosswalkId: text('column', "the column of the crosswalk with the store's id"),
  job: text('name', 'the name of the job'),
  schedule: text('cron', 'when workers run it: minute, hour, day, month, weekday'),
  timezone: text('zone', 'the time zone of the schedule; default: the time zone of this machine'),
  yes: flag('accept guesses and defaults, and ask only for the rest'),
};

/** The answers that options give. */
export type InitOptions = ValuesOf<typeof INIT_OPTIONS>;

/** The answers that options give to the questions about a new mapping, by their ids (`MappingQuestion`). */
export function answersOf(options: InitOptions): MappingAnswers {
  const { once, byName } = MAPPING_QUESTIONS;
  return Object.fromEntries([
    ...once.flatMap((id) => {
      const answer = options[id];
      return answer === undefined ? [] : [[id, answer] as const];
    }),
    ...byName.flatMap((kind) =>
      Object.entries(options[kind] ?? {}).map(([name, answer]) => [`${kind}.${name}`, answer] as const),
    ),
  ]);
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
