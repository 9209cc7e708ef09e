import { isAbsolute, relative, sep } from 'node:path';
import { matchableFields } from '../../config/job/job.ts';
import type { ContactMappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { explainError, InterruptedError, StoreferryError, UsageError } from '../../model/storeferry-error.ts';
import { isEmail } from '../../onboarding/guess/propose-mapping.ts';
import { describeLook, lookAtSource, type SourceLook } from '../../onboarding/preview-source.ts';
import { loosened } from '../../text/nearest.ts';
import { askPath } from './ask-source.ts';
import type { Asking } from './asking.ts';

/** Names of the e-mail column if a file has only one; without accents, loosened. */
const CALLED_EMAIL =
  /^(?:(?:contact|customer|user|primary|work|business)?(?:e?mail)(?:address|adresse|adres|id|1|1value)?|adresse(?:e|de)?(?:mail|messagerie)|correo(?:electronico)?|direcciondecorreo(?:electronico)?|courriel|postaelettronica|indirizzo(?:di)?email|enderecodeemail|epost(?:adress|a|aadresi)?|sahkoposti|электроннаяпочта|почта|メール(?:アドレス)?|邮箱|电子邮件|電子郵件|이메일)$/;
/** A few other cells, such as 'n/a', are allowed in a column of addresses. */
const MOSTLY = 0.8;

/** A column of the crosswalk, as its header writes it. */
interface CrosswalkColumn {
  readonly header: string;
  readonly values: readonly string[];
}

/** The named columns of a file with their contents. */
function columnsOf({ header, rows }: SourceLook): readonly CrosswalkColumn[] {
  return header.flatMap((text, index) =>
    text.trim() === ''
      ? []
      : [
          {
            header: text.trim(),
            values: rows.flatMap(({ cells }) => {
              const value = (cells[index] ?? '').trim();
              return value === '' ? [] : [value];
            }),
          },
        ],
  );
}

/** The column of that name, matched exactly or else loosely. */
function columnCalled(columns: readonly CrosswalkColumn[], name: string): CrosswalkColumn | undefined {
  return (
    columns.find(({ header }) => header === name.trim()) ??
    columns.find(({ header }) => loosened(header) === loosened(name))
  );
}

/** Whether a column has e-mail addresses: decided by its cells, or by its header if they are blank. */
function isEmailColumn({ header, values }: CrosswalkColumn): boolean {
  if (values.length === 0) return isCalledEmail(header);
  return values.filter(isEmail).length >= values.length * MOSTLY;
}

/**
 * The column of the contact's e-mail addresses: the only one with such a name, or the only one that does not belong
 * to another person.
 */
function emailColumn(columns: readonly CrosswalkColumn[]): CrosswalkColumn | undefined {
  const all = columns.filter(isEmailColumn);
  const called = all.filter(({ header }) => isCalledEmail(header));
  const [only, second] = called.length > 0 ? called : all;
  if (only === undefined || second !== undefined) return undefined;
  return called.length > 0 || mayBeOwnEmail(only) ? only : undefined;
}

/** Addresses of owners or referrers repeat, and their headers say so. */
function mayBeOwnEmail({ header, values }: CrosswalkColumn): boolean {
  const isDistinct = new Set(values).size >= values.length * MOSTLY;
  return isDistinct && !wordsOf(header).some((word) => OTHER_PEOPLE.test(word));
}

const OTHER_PEOPLE =
  /^(?:owner|referr?er|referred|agent|manager|sponsor|inviter|invited|sales|seller|rep|assignee|assigned|creator|created|parent|partner|emergency|second|secondary|other|alternative|old|previous|by|cc|bcc)$/;

function isCalledEmail(header: string): boolean {
  return CALLED_EMAIL.test(
    loosened(header)
      .normalize('NFD')
      .replaceAll(/[\u0300-\u036f]/g, '')
      .normalize('NFC'),
  );
}

/**
 * The column of the store's ids among columns of unique whole numbers: the only one whose header names just the id of
 * a contact. Undefined in case of doubt: members, companies and phones have numbers too, and a wrong id would write
 * into another person's contact.
 */
function idColumn(columns: readonly CrosswalkColumn[]): CrosswalkColumn | undefined {
  const numbers = columns.filter(
    ({ values }) => values.every((value) => /^[0-9]+$/.test(value)) && new Set(values).size === values.length,
  );
  const named = numbers.filter(({ header }) => isCalledId(header, ID_WORDS));
  const [only, second] =
    named.length > 0 ? named : numbers.filter(({ header }) => isCalledId(header, NUMBER_WORDS));
  return second === undefined ? only : undefined;
}

const ID_WORDS = ['id', 'ids'];
const NUMBER_WORDS = ['no', 'nr', 'num', 'number', 'nummer', 'numero'];
const CONTACT_WORDS = ['contact', 'contacts', 'kontakt', 'customer', 'client', 'cliente', 'kunde', 'kunden'];
/** `Store ID` alone is the id of a store. */
const STORE_WORDS = ['store', 'storefront', 'shop', 'site', 'website'];

/** Whether a header names the id, alone or of a contact: id, Customer ID, contact_id, Store contact id, Contact no. */
function isCalledId(header: string, idWords: readonly string[]): boolean {
  const words = wordsOf(header);
  const others = words.filter((word) => !idWords.includes(word));
  const isOfContact = others.some((word) => CONTACT_WORDS.includes(word));
  return (
    others.length < words.length &&
    others.every((word) => CONTACT_WORDS.includes(word) || (isOfContact && STORE_WORDS.includes(word)))
  );
}

/** The words of a header in lower case: `contactId` and `contact_id` give the same words. */
function wordsOf(header: string): string[] {
  return (header.match(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\d+/gu) ?? []).map((word) =>
    word.toLowerCase(),
  );
}

/** The file that connects the ids of the store with a field of the source; undefined if there is none yet. */
export interface CrosswalkAnswer {
  readonly path: string;
  readonly match: string;
  /** The field to compare the column with, if its name differs. */
  readonly field: string | undefined;
  readonly id: string;
  /** Whether the file exists. */
  readonly there: boolean;
}

/** A crosswalk that does not exist yet. */
const TO_COME: CrosswalkAnswer = {
  path: 'contact-ids.csv',
  match: 'email',
  field: undefined,
  id: 'id',
  there: false,
};

/**
 * Asks for the crosswalk of contacts and for its columns. Undefined if the mapping takes the store's ids from the
 * source. `contact` is the contact part of the mapping; undefined for an incomplete mapping.
 */
export async function askCrosswalk(
  asking: Asking,
  contact: ContactMappingSpec['contact'] | undefined,
): Promise<CrosswalkAnswer | undefined> {
  const { options, prompter } = asking;
  const fields = contact === undefined ? ['email'] : matchableFields(contact);
  const idMapped = contact?.id !== undefined;
  if (options.crosswalk === undefined) {
    const has = await prompter?.choose(
      'The store updates contacts by its own ids. Where do they come from?',
      [
        {
          value: 'file',
          name: 'A second CSV file with ids and e-mails of the store',
          description: 'A crosswalk, such as an export of the contacts of the store.',
        },
        ...(idMapped
          ? [{ value: 'source', name: 'From the file itself: the mapping has a column for them' }]
          : []),
        { value: 'later', name: `I do not have one yet (the job will look for ${TO_COME.path})` },
      ],
      idMapped ? 'source' : 'file',
    );
    if (has === 'later') return { ...TO_COME, match: preferred(fields) };
    if (has === 'source' || (has === undefined && idMapped)) return undefined;
    if (has === undefined) {
      throw new UsageError(
        'Contacts are updated by the ids of the store, and this mapping has no column for them.',
        {
          hint: 'Give --crosswalk FILE: a CSV file with the columns id and email.',
        },
      );
    }
  }
  for (;;) {
    try {
      return await readCrosswalk(asking, fields);
    } catch (error) {
      const mayAskAgain = prompter !== null && options.crosswalk === undefined;
      if (!mayAskAgain || !(error instanceof StoreferryError) || error instanceof InterruptedError)
        throw error;
      asking.say(`This file cannot be used as the crosswalk. ${explainError(error)}`);
    }
  }
}

async function readCrosswalk(asking: Asking, fields: readonly string[]): Promise<CrosswalkAnswer> {
  const file = await askPath(asking, asking.options.crosswalk, 'The crosswalk (CSV):');
  const look = await lookAtSource(file, { signal: asking.signal });
  asking.say(describeLook(look, file));
  const columns = columnsOf(look);
  const { match, field } = await askMatch(asking, columns, fields);
  const id = await askId(asking, columns, match);
  const inside = relative(asking.dir, file);
  const path = inside.startsWith('..') || isAbsolute(inside) ? file : inside;
  return { path: path.split(sep).join('/'), match, field, id, there: true };
}

function preferred(fields: readonly string[]): string {
  return fields.includes('email') ? 'email' : (fields[0] ?? 'email');
}

/**
 * The column that identifies a contact, and the field to compare it with. A column of names is never chosen
 * automatically.
 */
async function askMatch(
  { options, prompter }: Asking,
  columns: readonly CrosswalkColumn[],
  fields: readonly string[],
): Promise<Match> {
  const emails = fields.includes('email') ? emailColumn(columns) : undefined;
  if (options.crosswalkMatch !== undefined) {
    const found =
      columnCalled(columns, options.crosswalkMatch) ??
      (loosened(options.crosswalkMatch) === 'email' ? emails : undefined);
    const match = found && matchBy(found, fields);
    if (match !== undefined) return match;
    throw new UsageError(
      found === undefined
        ? `--crosswalk-match: the crosswalk has no column '${options.crosswalkMatch}'; it has ${named(columns)}.`
        : `--crosswalk-match: the column '${found.header}' has no e-mail addresses, and its name is not a field that the mapping fills (${fields.join(', ')}).`,
    );
  }
  const match = emails && matchBy(emails, fields);
  if (match !== undefined) return match;
  const usable = columns.filter((column) => matchBy(column, fields) !== undefined);
  if (usable.length === 0) {
    throw new UsageError(
      `The crosswalk cannot be matched: it needs a column of e-mail addresses, or one with the name of a field that the mapping fills (${fields.join(', ')}); it has ${named(columns)}.`,
      { hint: `In its first line, give the column to match the name ${preferred(fields)}.` },
    );
  }
  if (prompter === null) {
    throw new UsageError(
      'It is not clear which column of the crosswalk has the e-mail addresses of the contacts.',
      {
        hint: `Give --crosswalk-match with one of ${named(usable)}; do not match by name: two people may have the same name.`,
      },
    );
  }
  const chosen = await prompter.choose(
    'Which of its columns identifies a contact? (two people may have the same name)',
    usable.map(({ header }) => ({ value: header, name: header })),
  );
  const column = columnCalled(columns, chosen);
  return (column && matchBy(column, fields)) ?? { match: chosen, field: undefined };
}

type Match = Pick<CrosswalkAnswer, 'match' | 'field'>;

/** A column that can identify contacts, with its field; undefined if no field matches. */
function matchBy(column: CrosswalkColumn, fields: readonly string[]): Match | undefined {
  const { header } = column;
  const alike = fields.find((field) => loosened(field) === loosened(header));
  if (alike !== undefined) {
    return { match: header.toLowerCase() === alike.toLowerCase() ? alike : header, field: undefined };
  }
  return fields.includes('email') && isEmailColumn(column) ? { match: header, field: 'email' } : undefined;
}

function named(columns: readonly CrosswalkColumn[]): string {
  return columns.map(({ header }) => header).join(', ');
}

/** The column with the ids of the store. */
async function askId(
  { options, prompter }: Asking,
  all: readonly CrosswalkColumn[],
  match: string,
): Promise<string> {
  if (options.crosswalkId !== undefined) {
    const found = columnCalled(all, options.crosswalkId);
    if (found !== undefined) return found.header;
    throw new UsageError(`The crosswalk has no column '${options.crosswalkId}'; it has ${named(all)}.`);
  }
  const columns = all.filter(({ header }) => loosened(header) !== loosened(match));
  const likely = idColumn(columns);
  if (likely !== undefined) return likely.header;
  if (prompter === null) {
    throw new UsageError('It is not clear which column of the crosswalk has the ids of the store.', {
      hint: `Give --crosswalk-id with one of ${named(columns)}.`,
    });
  }
  return await prompter.choose(
    'Which of its columns has the id of the store?',
    columns.map(({ header }) => ({ value: header, name: header })),
  );
}
