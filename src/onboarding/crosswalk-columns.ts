import { loosened } from '../text/printable.ts';
import { readContactHeader } from './guess/header-reading.ts';
import { isEmail } from './guess/sampled-column.ts';
import { words } from './guess/words.ts';
import type { SourceLook } from './preview-source.ts';

/** A few other cells, such as 'n/a', are allowed in a column of addresses. */
const MIN_EMAIL_SHARE = 0.8;

/** A column of the crosswalk, as its header writes it. */
export interface CrosswalkColumn {
  readonly header: string;
  readonly values: readonly string[];
}

/** How a column of the crosswalk identifies contacts: its header, and the field to compare it with, if its name differs. */
export interface CrosswalkMatch {
  readonly match: string;
  readonly field: string | undefined;
}

/** A column that can identify contacts, with its field; undefined if no field matches. */
export function crosswalkMatch(
  column: CrosswalkColumn,
  fields: readonly string[],
): CrosswalkMatch | undefined {
  const { header } = column;
  const alike = fields.find((field) => loosened(field) === loosened(header));
  if (alike !== undefined)
    return { match: header.toLowerCase() === alike.toLowerCase() ? alike : header, field: undefined };
  return fields.includes('email') && isEmailColumn(column) ? { match: header, field: 'email' } : undefined;
}

/** The named columns of a file with their contents. */
export function crosswalkColumns({ header, rows }: SourceLook): readonly CrosswalkColumn[] {
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
export function crosswalkColumn(
  columns: readonly CrosswalkColumn[],
  name: string,
): CrosswalkColumn | undefined {
  return (
    columns.find(({ header }) => header === name.trim()) ??
    columns.find(({ header }) => loosened(header) === loosened(name))
  );
}

/** Whether a column has e-mail addresses: decided by its cells, or by its header if they are blank. */
function isEmailColumn({ header, values }: CrosswalkColumn): boolean {
  if (values.length === 0) return isCalledEmail(header);
  return values.filter((value) => isEmail(value)).length >= values.length * MIN_EMAIL_SHARE;
}

/**
 * The column of the contact's e-mail addresses: the only one with such a name, or the only one that does not belong
 * to another person.
 */
export function emailColumn(columns: readonly CrosswalkColumn[]): CrosswalkColumn | undefined {
  const all = columns.filter(isEmailColumn);
  const called = all.filter(({ header }) => isCalledEmail(header));
  const [only, second] = called.length > 0 ? called : all;
  if (only === undefined || second !== undefined) return undefined;
  return called.length > 0 || mayBeOwnEmail(only) ? only : undefined;
}

/** Addresses of owners or referrers repeat, and their headers say so. */
function mayBeOwnEmail({ header, values }: CrosswalkColumn): boolean {
  const isDistinct = new Set(values).size >= values.length * MIN_EMAIL_SHARE;
  const { otherPeople } = words().crosswalk;
  return isDistinct && !wordsOf(header).some((word) => otherPeople.has(word));
}

function isCalledEmail(header: string): boolean {
  const { meanings, qualifiers } = readContactHeader(header);
  const isNamed = meanings.some(({ concept, how }) => concept === 'email' && how === 'exact');
  return isNamed && (qualifiers.number ?? 1) === 1;
}

/**
 * The column of the store's ids among columns of unique whole numbers: the only one whose header names just the id of
 * a contact. Undefined in case of doubt: members, companies and phones have numbers too, and a wrong id would write
 * into another person's contact.
 */
export function idColumn(columns: readonly CrosswalkColumn[]): CrosswalkColumn | undefined {
  const numbers = columns.filter(
    ({ values }) => values.every((value) => /^[0-9]+$/.test(value)) && new Set(values).size === values.length,
  );
  const { id, number } = words().crosswalk;
  const named = numbers.filter(({ header }) => isCalledId(header, id));
  const [only, second] =
    named.length > 0 ? named : numbers.filter(({ header }) => isCalledId(header, number));
  return second === undefined ? only : undefined;
}

/** Whether a header names the id, alone or of a contact: id, Customer ID, contact_id, Store contact id, Contact no. */
function isCalledId(header: string, idWords: ReadonlySet<string>): boolean {
  const { contact, store } = words().crosswalk;
  const all = wordsOf(header);
  const others = all.filter((word) => !idWords.has(word));
  const isOfContact = others.some((word) => contact.has(word));
  return (
    others.length < all.length &&
    others.every((word) => contact.has(word) || (isOfContact && store.has(word)))
  );
}

/** The words of a header in lower case: `contactId` and `contact_id` give the same words. */
function wordsOf(header: string): string[] {
  return (header.match(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\d+/gu) ?? []).map((word) =>
    word.toLowerCase(),
  );
}
