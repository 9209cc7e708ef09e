import type { Value } from '../../mapping/spec/mapping-spec.ts';
import { countedShare, type Guess, isCalled, isMentioned, isOfList, readBy } from './guess.ts';
import { isCode, isGtin, isMostly, isText, type SampledColumn } from './sampled-column.ts';

/** The SKU; if no header means that, the EAN. */
export function pickSku(guess: Guess): SampledColumn | undefined {
  const shown = (column: SampledColumn) =>
    `${column.distinct} of ${column.values.length} values are different, as codes are`;
  const isPadded = (value: string) =>
    /^(?:\d+\.0|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./](?:19|20)\d{2}|\d{1,2}[. -](?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)|\d{1,3}(?:,\d{3})+|\d(?:[.,]\d+)?E\+\d+)$/i.test(
      value,
    );
  const padded = guess.freeCalled('sku').filter(({ values }) => values.some(isPadded));
  const [first] = padded;
  if (first !== undefined && guess.given('sku') === undefined) {
    const reason = `'${first.header}' has numbers such as '${first.values.find(isPadded)}', which a program may have changed`;
    guess.askColumn('sku', padded, reason);
    return undefined;
  }
  const sku = guess.pick('sku', {
    fits: (column) =>
      (isMostly(column, (value) => isCode(unquoted(value))) || isOnlySku(column)) &&
      !(isCalled(column, 'position') && isSequence(column)),
    shown,
    prefer: (column) =>
      isOfList(column) ||
      (!guess.freeCalled('sku').some(isOfList) &&
        /^(?:product |variant )?sku$/i.test(column.header.replaceAll('_', ' ').trim())),
  });
  if (sku !== undefined || guess.answers['column.sku'] !== undefined) return sku;
  if (guess.isAsked('sku')) return undefined;
  if (guess.freeCalled('sku').some(isCodes)) return undefined;
  const ean = guess.columns.filter((column) => isCalled(column, 'gtin') && isMostly(column, isGtin));
  const [only, second] = ean;
  if (only === undefined || second !== undefined) return undefined;
  const unclear = guess.free.filter((column) => isMentioned(column, 'sku') && isMostly(column, isCode));
  if (unclear.length > 0) {
    guess.askColumn('sku', [...unclear, only], `'${unclear[0]?.header}' may be the SKU`);
    return undefined;
  }
  const evidence = `${countedShare(only, isGtin, 'are EANs')}, and no other column has the SKU`;
  return guess.claim('sku', only, evidence, 'likely');
}

/** A code without the signs that keep a spreadsheet from reading a number: '00123, ="00123". */
function unquoted(value: string): string {
  return value.replace(/^(?:'|=")/, '').replace(/"$/, '');
}

/** Whether a column that can only be the SKU has other values than codes, each once: mug-blue, or below the word SKU also Mug - Blue. */
function isOnlySku({ header, values, distinct, reading }: SampledColumn): boolean {
  const mayHaveBlanks = /(?:^|[ _])sku$/i.test(header);
  const areShort = values.every(
    (value) => value.length <= 40 && (mayHaveBlanks || /^[\p{L}\p{N}._/+-]+$/u.test(value)),
  );
  return reading.meanings.length === 1 && areShort && distinct === values.length;
}

export function skuValue(guess: Guess, sku: SampledColumn): Value {
  const isQuoted = sku.values.some((value) => unquoted(value) !== value);
  return readBy(guess.use('sku', sku), isQuoted ? ['unquote'] : []);
}

function isCodes(column: SampledColumn): boolean {
  return column.values.length > 0 && !isSequence(column) && !isText(column);
}

/** Whether values count the rows: 1, 2, 3. */
export function isSequence({ values }: SampledColumn): boolean {
  return values.length > 1 && values.every((value, index) => Number(value) === index + Number(values[0]));
}
