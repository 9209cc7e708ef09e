import { InvalidArgumentError } from 'commander';
import { flag, parsed, text, type ValuesOf } from '../define-command.ts';

/** The options of `init`: each answers a question. */
export const INIT_OPTIONS = {
  storeUrl: text('url', 'the address of the store; its key comes from STORE_API_KEY or is asked for'),
  sandbox: flag('no store yet: use the sandbox'),
  store: text('name', 'the store, in a workspace with several'),
  weightUnit: text('unit', 'the unit the store shows: kg, g, lb or oz'),
  source: text('file', 'the file to import'),
  sheet: text('name', 'the sheet of a workbook, by its name or number; needed if several have content'),
  records: text('path', 'the path of the records of a JSON or XML file, such as shop.offers.offer'),
  headerRow: text('number', 'the row of the header, if it is not the first row'),
  encoding: text('charset', 'its charset, if it is not UTF-8'),
  delimiter: text('name', 'its delimiter, if it cannot be detected'),
  copy: flag('copy the file into the workspace'),
  mapping: text(
    'name',
    'the mapping for the file; default: recognised by its columns; `new` starts a mapping of your own',
  ),
  import: text('what', 'for a mapping of your own: products or contacts'),
  param: parsed<Readonly<Record<string, string>> | undefined>(
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

/** Parses one of several `NAME=VALUE` and adds it to the previous ones. */
function nameAndValue(
  typed: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(typed) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name]: value };
  throw new InvalidArgumentError('Expected NAME=VALUE.');
}
