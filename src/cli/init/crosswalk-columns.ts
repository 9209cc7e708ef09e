import { loosened } from '../../model/loosened.ts';
import type { SourceLook } from '../../run/look/look-at-source.ts';

const ADDRESS = /^[^\s@<>,;"]+@[^\s@<>,;"]+\.[^\s@<>,;"]+$/;
/** What the column of the e-mail is called where a file has only one; without accents, loosened. */
const CALLED_EMAIL =
  /^(?:(?:contact|customer|user|primary|work|business)?(?:e?mail)(?:address|adresse|adres|id|1|1value)?|adresse(?:e|de)?(?:mail|messagerie)|correo(?:electronico)?|direcciondecorreo(?:electronico)?|courriel|postaelettronica|indirizzo(?:di)?email|enderecodeemail|epost(?:adress|a|aadresi)?|sahkoposti|электроннаяпочта|почта|メール(?:アドレス)?|邮箱|电子邮件|電子郵件|이메일)$/;
/** A few cells that are none, such as 'n/a', do not make another column of it. */
const MOSTLY = 0.8;

/** A column of the crosswalk, as its header writes it. */
export interface CrosswalkColumn {
  readonly header: string;
  readonly values: readonly string[];
}

/** The columns of a file that have a name, each with what stands in it. */
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

/** The column of that name, exactly or else loosely. */
export function columnCalled(columns: readonly CrosswalkColumn[], name: string): CrosswalkColumn | undefined {
  return (
    columns.find(({ header }) => header === name.trim()) ??
    columns.find(({ header }) => loosened(header) === loosened(name))
  );
}

/** Whether a column holds e-mail addresses: by what stands in it, and by its header where nothing does. */
export function isEmailColumn({ header, values }: CrosswalkColumn): boolean {
  if (values.length === 0) return isCalledEmail(header);
  return values.filter((value) => ADDRESS.test(value)).length >= values.length * MOSTLY;
}

/** The column of e-mail addresses: the only one, or the only one of several that is called so. */
export function emailColumn(columns: readonly CrosswalkColumn[]): CrosswalkColumn | undefined {
  const all = columns.filter(isEmailColumn);
  const called = all.filter(({ header }) => isCalledEmail(header));
  const [only, second] = called.length > 0 ? called : all;
  return second === undefined ? only : undefined;
}

function isCalledEmail(header: string): boolean {
  return CALLED_EMAIL.test(
    loosened(header)
      .normalize('NFD')
      .replaceAll(/[\u0300-\u036f]/g, '')
      .normalize('NFC'),
  );
}

/**
 * The column of the store's ids: one called id, or the only one whose name holds the word, or the only one at all where its
 * name holds a word for number, among those of whole numbers that do not repeat. Undefined where that leaves a doubt: points, zip codes and invoices are numbers as well, and a wrong
 * id writes into a stranger's contact.
 */
export function idColumn(columns: readonly CrosswalkColumn[]): CrosswalkColumn | undefined {
  const numbers = columns.filter(
    ({ values }) => values.every((value) => /^[0-9]+$/.test(value)) && new Set(values).size === values.length,
  );
  const exact = numbers.find(({ header }) => loosened(header) === 'id');
  if (exact !== undefined) return exact;
  const filled = numbers.filter(({ values }) => values.length > 0);
  const named = filled.filter(({ header }) => saysOneOf(header, ID_WORDS));
  const [only, second] = named.length > 0 ? named : filled;
  if (only === undefined || second !== undefined) return undefined;
  return saysOneOf(only.header, [...ID_WORDS, ...NUMBER_WORDS]) ? only : undefined;
}

const ID_WORDS = ['id'];
const NUMBER_WORDS = ['no', 'nr', 'num', 'number', 'nummer', 'numero'];

/** Ids of other things than contacts. */
const OTHER_THINGS = /^(?:order|invoice|product|item|transaction|payment|sku|list|tag|store|shop|tax|vat)s?$/;

/** Whether one of the words of a header is among those given, and none another thing's: Customer ID, contact_id, Contact no. */
function saysOneOf(header: string, wanted: readonly string[]): boolean {
  const words = (header.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((word) => word.toLowerCase());
  return words.some((word) => wanted.includes(word)) && !words.some((word) => OTHER_THINGS.test(word));
}
