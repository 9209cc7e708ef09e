import type { ProductSpec } from '../../mapping/spec/mapping-spec.ts';
import { partOf } from './draft-spread.ts';
import { readOptionPart } from './draft-variants.ts';
import { countedShare, type Guess, isCalled, isExactlyCalled, isMentioned } from './guess.ts';
import { hasBeginning, hasWord } from './header-reading.ts';
import {
  areDates,
  areFlags,
  areUnnamedDates,
  booleanOf,
  DAY_MS,
  isMark,
  isMissingValue,
  isMostly,
  MAX_STATES,
  momentsOf,
  readerOfFlags,
  type SampledColumn,
  shareOf,
  visibilityOf,
  wordsIn,
} from './sampled-column.ts';
import { isCellWord, words } from './words.ts';

/** Proposes the mapping of `hidden`; unknown words are asked about, because a wrong guess could publish a product that is not ready. */
export function draftHidden(
  guess: Guess,
  title: SampledColumn | undefined,
  isGrouped: boolean,
): ProductSpec['hidden'] {
  const isWord = (value: string) => visibilityOf(value) !== undefined;
  const isBlank = (cell: string, row: number) => cell === '' && title?.cells[row] !== '';
  const marked = guess
    .freeCalled('visible', 'hidden')
    .find(
      (column) =>
        column.values.length > 0 &&
        (column.values.every(isMark) ||
          (column.cells.some(isBlank) &&
            column.values.every((value) => saysShown(column, value, false) === true))),
    );
  if (marked !== undefined && guess.answers['column.visible'] === undefined) {
    const isVisible = isCalled(marked, 'visible');
    const field = isVisible ? 'visible' : 'hidden';
    guess.claim(
      field,
      marked,
      countedShare(marked, () => true, `are marks; a blank means ${isVisible ? 'hidden' : 'shown'}`),
      'certain',
    );
    askHiding(guess, marked, (cell) => (cell !== '') === isVisible);
    askDates(guess, (row) => (marked.cells[row] !== '') === isVisible);
    return { [guess.use(field, marked)]: isVisible ? 'blank' : 'present' };
  }
  const choice = {
    fits: (column: SampledColumn) => shareOf(column, isWord) >= 0.5,
    shown: (column: SampledColumn) => countedShare(column, isWord, 'are words for shown or hidden'),
  };
  const visible = guess.pick('visible', choice);
  const hidden = visible === undefined ? guess.pick('hidden', choice) : undefined;
  const column = visible ?? hidden;
  if (column === undefined) {
    askDates(guess, () => true);
    const marks = unknownMarks(guess, (row) => title?.cells[row] !== '');
    const unclear = guess.free.filter(
      (one) =>
        one.values.length > 0 &&
        (marks.includes(one) ||
          (isExactlyCalled(one, 'visible', 'hidden') && (!isStatus(one) || mayHide(one))) ||
          (isMentioned(one, 'visible', 'hidden') &&
            readOptionPart(one.header) === undefined &&
            (isMostly(one, isWord) || mayHide(one)))),
    );
    guess.askUnclear('visible', unclear, `'${unclear[0]?.header}' may say it`);
    return undefined;
  }
  const isNegative = hidden !== undefined;
  const meanings = wordsIn(column).map((word) => ({
    word,
    isShown: shownOf(guess, column, word, isNegative),
  }));
  if (meanings.some(({ isShown }) => isShown === undefined)) return undefined;
  const shownBy = new Map(meanings.map(({ word, isShown }) => [word, isShown]));
  askHiding(guess, column, (cell) => shownBy.get(cell.toLowerCase()) === true);
  askDates(guess, (row) => shownBy.get(column.cells[row]?.toLowerCase() ?? '') !== false);
  const isCoded = meanings.some(({ word }) => readerOfFlags(column)(word) !== booleanOf(word));
  /** The words of the column that say so; those of yes and no by their meaning. */
  const found = (isShown: boolean) =>
    meanings
      .filter((one) => one.isShown === isShown)
      .map(({ word }) => {
        const yes = isCoded ? undefined : booleanOf(word);
        return yes === undefined ? word : yes ? 'yes' : 'no';
      });
  /** The words for it in the mapping; where the column has none, a usual one that does not say the other. */
  const wordsFor = (isShown: boolean) => {
    const own = found(isShown);
    const usual = (isNegative === isShown) !== found(!isShown).includes('no') ? 'no' : 'yes';
    return [...new Set(own.length > 0 ? own : [isCoded ? (isShown ? 'shown' : 'hidden') : usual])];
  };
  const blankCells = column.cells.filter(isBlank).length;
  const blanks = isGrouped ? 0 : blankCells;
  const isMixed = blanks > 0 && found(true).length > 0 && found(false).length > 0;
  // The header does not say what the words are about: a blank says what they do not.
  const unsaid = found(true).length === 0 ? 'shown' : 'hidden';
  const blankOfUnknown = blankCells > 0 && isUnknown(column) ? unsaid : undefined;
  const blank = isMixed ? askBlank(guess, column, blanks) : blankOfUnknown;
  if (isMixed && blank === undefined) return undefined;
  return [
    guess.use(visible === undefined ? 'hidden' : 'visible', column),
    ...(blank === undefined ? [] : [{ default: wordsFor(blank === 'shown')[0] ?? '' }]),
    { boolean: { yes: wordsFor(false), no: wordsFor(true) } },
  ];
}

const SHOWN_OR_HIDDEN = { shown: 'the store shows the product', hidden: 'the store hides the product' };

/** What a blank means beside words for shown and for hidden; undefined while that is asked. */
function askBlank(guess: Guess, { header, values }: SampledColumn, count: number) {
  return guess.ask({
    id: `unused.${header}`,
    text: `What does a blank mean in '${header}'?`,
    reason: `${count} products have one, beside '${[...new Set(values)].slice(0, 3).join("', '")}'`,
    answers: Object.entries(SHOWN_OR_HIDDEN).map(([value, label]) => ({ value, label })),
  });
}

/** Asks about other columns that say of products which a column shows that they are hidden, or no longer sold. */
function askHiding(guess: Guess, column: SampledColumn, isShown: (cell: string) => boolean) {
  const shownRows = column.cells.map(isShown);
  for (const other of guess.free) {
    const isNegative = isExactlyCalled(other, 'hidden') || isWithdrawal(other);
    if (other === column || !(isNegative || isExactlyCalled(other, 'visible'))) continue;
    if (isStatus(other) && !other.values.some(isUnpublished)) continue;
    const hiding = other.cells.find(
      (cell, row) =>
        shownRows[row] === true &&
        cell !== '' &&
        !isMissingValue(cell) &&
        saysShown(other, cell, isNegative) !== true,
    );
    if (hiding !== undefined)
      guess.askUnused([other], `has '${hiding}' for a product that '${column.header}' shows`);
  }
  const marks = unknownMarks(guess, (row) => shownRows[row] === true || column.cells[row] !== '');
  if (marks.length > 0) guess.askUnused(marks, `may hide products that '${column.header}' shows`);
}

/** Asks about dates from which on products are offered, or until which, where the store would offer them now. */
export function askDates(guess: Guess, isShown: (row: number) => boolean): void {
  const { now } = guess;
  if (now === undefined) return;
  for (const column of guess.freeCalled('begins', 'ends')) {
    if (guess.fields().includes('sale') && isCalled(column, 'saleDate')) continue;
    const begins = isExactlyCalled(column, 'begins');
    const isOutside = (moment: number) => (begins ? moment > now : moment < now - DAY_MS);
    const mayBe = (cell: string) => {
      const moments = momentsOf(cell);
      return moments.length === 0 ? /\d/.test(cell) : moments.some(isOutside);
    };
    const found = column.cells.find((cell, row) => isShown(row) && mayBe(cell));
    if (found !== undefined)
      guess.askUnused([column], `has '${found}', and the store would offer the product now`);
  }
  // If all dates are past, they are dates of changes; others may begin or end something.
  const open = guess.free.filter(
    (column) =>
      isUnknown(column) &&
      areUnnamedDates(column) &&
      !isWithdrawal(column) &&
      !hasBeginning(column.header, 'properties') &&
      column.cells.some((cell, row) => isShown(row) && (cell === '' || mayCome(cell, now))),
  );
  if (open.length > 0)
    guess.askUnused(open, `may say when products are offered, by dates such as '${open[0]?.values[0]}'`);
}

/** Whether a date is, or may be, in the future; months of other languages are not known. */
function mayCome(cell: string, now: number) {
  const moments = momentsOf(cell);
  if (moments.length > 0) return moments.some((moment) => moment > now);
  const years = cell.match(/\b(?:19|20)\d\d\b/g) ?? [];
  return years.length === 0 || years.some((year) => Number(year) >= new Date(now).getUTCFullYear());
}

/** Columns whose headers do not say what they mark, and which mark some products only. */
function unknownMarks(guess: Guess, isProduct: (row: number) => boolean): readonly SampledColumn[] {
  if (guess.answers['column.visible'] !== undefined) return [];
  return guess.free.filter(
    (column) =>
      (isUnknown(column) || mayMarkDamaged(column)) &&
      marksSome(column, isProduct) &&
      !isWithdrawal(column) &&
      !hasBeginning(column.header, 'properties') &&
      readOptionPart(column.header) === undefined &&
      partOf(column) === undefined &&
      !guess.isNamed(column.header),
  );
}

/** Whether a column called reserved or damaged has words, not counts. */
function mayMarkDamaged(column: SampledColumn) {
  return isExactlyCalled(column, 'reserved') && !column.values.some((value) => /\d/.test(value));
}

/** Whether a column marks some rows, and others not: yes and no, x and blank, or letters such as J and N. */
function marksSome(column: SampledColumn, isProduct: (row: number) => boolean) {
  const { cells, values, distinct } = column;
  // One of them may say no or deleted, in several languages: other pairs of letters may be sizes.
  const letters =
    distinct <= 2 &&
    values.every((value) => /^\p{L}$/u.test(value)) &&
    values.some((value) => /^[dlnн]$/i.test(value));
  return (
    new Set(cells.filter((_, row) => isProduct(row)).map((cell) => cell.toLowerCase())).size > 1 &&
    isMostly(
      column,
      (value) => letters || booleanOf(value) !== undefined || isMark(value) || isMissingValue(value),
    )
  );
}

/** Whether a header has no meaning, or nearly one. */
export function isUnknown({ reading }: SampledColumn): boolean {
  return reading.meanings.every(({ how }) => how === 'near');
}

/** Whether a word says that a product is not ready: it must not be published. */
export function isUnpublished(value: string): boolean {
  const isRemoved = isCellWord(value, 'removed') || isCellWord(value, 'removedAlone');
  return booleanOf(value) === undefined && (visibilityOf(value) === false || isRemoved);
}

/** Whether a status may say which products are shown: in words for that, or that negate, or in codes such as A and I. */
function mayHide({ values, distinct }: SampledColumn) {
  const areCodes = distinct > 1 && distinct <= MAX_STATES && values.every(({ length }) => length <= 2);
  const negates = (value: string) => booleanOf(value) === undefined && hasWord(value, 'negations');
  return areCodes || values.some(isUnpublished) || values.some(negates);
}

/** Whether a header is a word for a status, which can belong to anything, such as an order. */
function isStatus({ header }: SampledColumn) {
  const text = header.toLowerCase();
  return [...words().headerParts.status].some((word) => text.includes(word));
}

/** Whether a word says that a product is shown, in a column that says this or the opposite; undefined for other words. */
function saysShown(column: SampledColumn, word: string, isNegative: boolean) {
  const yes = readerOfFlags(column)(word);
  if (yes !== undefined) return yes !== isNegative;
  return booleanOf(word) === undefined ? visibilityOf(word) : undefined;
}

function shownOf(guess: Guess, column: SampledColumn, word: string, isHiddenColumn: boolean) {
  // Not published, invisible, suspended: what yes says there is not known.
  const known = isUnknown(column) ? undefined : saysShown(column, word, isHiddenColumn);
  if (known !== undefined) return known;
  const answer = guess.askWord(word, column, SHOWN_OR_HIDDEN);
  return answer === undefined ? undefined : answer === 'shown';
}

/**
 * A column that says which products are sold no more, or since when; also one of marks below an unknown header that negates, or keeps
 * within the shop: Nicht im Shop, Intern.
 */
export function isWithdrawal(column: SampledColumn): boolean {
  // What products are without is a property: without sugar.
  const mayWithhold =
    isUnknown(column) &&
    (hasWord(column.header, 'internal') ||
      (hasWord(column.header, 'negations') && !hasWord(column.header, 'beforeVatNet')));
  return (
    isExactlyCalled(column, 'discontinued') ||
    (isMentioned(column, 'discontinued') && areDates(column)) ||
    (mayWithhold && (areFlags(column) || areUnnamedDates(column)))
  );
}
