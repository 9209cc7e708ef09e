import { loosened } from '../../model/nearest.ts';
import type { SourceLook } from '../../run/look-at-source.ts';

const ADDRESS = /^[^\s@<>,;"]+@[^\s@<>,;"]+\.[^\s@<>,;"]+$/;
/** Names of the e-mail column if a file has only one; without accents, loosened. */
const CALLED_EMAIL =
  /^(?:(?:contact|customer|user|primary|work|business)?(?:e?mail)(?:address|adresse|adres|id|1|1value)?|adresse(?:e|de)?(?:mail|messagerie)|correo(?:electronico)?|direcciondecorreo(?:electronico)?|courriel|postaelettronica|indirizzo(?:di)?email|enderecodeemail|epost(?:adress|a|aadresi)?|sahkoposti|электроннаяпочта|почта|メール(?:アドレス)?|邮箱|电子邮件|電子郵件|이메일)$/;
/** A few other cells, such as 'n/a', are allowed in a column of addresses. */
const MOSTLY = 0.8;

/** A column of the crosswalk, as its header writes it. */
export interface CrosswalkColumn {
  readonly header: string;
  readonly values: readonly string[];
}

/** The named columns of a file with their contents. */
export function columnsOf({ header, rows }: SourceLook): readonly CrosswalkColumn[] {
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
export function columnCalled(columns: readonly CrosswalkColumn[], name: string): CrosswalkColumn | undefined {
  return (
    columns.find(({ header }) => header === name.trim()) ??
    columns.find(({ header }) => loosened(header) === loosened(name))
  );
}

/** Whether a column has e-mail addresses: decided by its cells, or by its header if they are blank. */
export function isEmailColumn({ header, values }: CrosswalkColumn): boolean {
  if (values.length === 0) return isCalledEmail(header);
  return values.filter((value) => ADDRESS.test(value)).length >= values.length * MOSTLY;
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
export function idColumn(columns: readonly CrosswalkColumn[]): CrosswalkColumn | undefined {
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
