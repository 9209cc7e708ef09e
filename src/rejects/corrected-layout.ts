import { garbled } from './judge-cell.ts';
import {
  columnKeys,
  extraColumn,
  LINE_COLUMN,
  REASON_COLUMN,
  type RejectsIndex,
  uniteColumns,
  withoutBlankSurplus,
} from './rejects-file.ts';

/**
 * The position of each column of a rejects file in its corrected form. Rows are arranged as before: the columns of
 * all headers, then surplus cells, then columns that the user added.
 */
export type CorrectedLayout = ReturnType<typeof layOut>;

/** Finds the columns of a corrected file among the columns of its copy. */
export function layOut(corrected: readonly string[], index: RejectsIndex) {
  const trimmed = corrected.map((name) => name.replace(/^\ufeff/, ''));
  const ours = new Map<string, number>();
  const ourNames = new Set([REASON_COLUMN, LINE_COLUMN]);
  for (let number = 1; number <= index.extras; number += 1) ourNames.add(extraColumn(number));
  // Ours are the last columns with these names: the source itself may have been a rejects file.
  for (const [place, name] of trimmed.entries()) if (ourNames.has(name)) ours.set(name, place);

  const hasLines = ours.has(LINE_COLUMN);
  // Without line numbers the header of a row is unknown, so all rows have all columns.
  const headers = hasLines ? index.headers : [uniteColumns(index.headers).header];
  const union = uniteColumns(headers);
  const columns = union.header.length;

  const placeOf = new Map<string, number>();
  const names = new Set(union.header);
  const theirs = trimmed.map((name, place) => {
    if (ours.get(name) === place) return undefined;
    return names.has(name) ? name : (union.header.find((old) => garbled(old, name)) ?? name);
  });
  for (const [place, key] of columnKeys(theirs.map((name) => name ?? '\0')).entries()) {
    if (theirs[place] !== undefined) placeOf.set(key, place);
  }
  const unionKeys = columnKeys(union.header);
  const known = new Set(unionKeys);
  const added = [...placeOf].filter(([key, place]) => !known.has(key) && theirs[place] !== '');
  const present = unionKeys.map((key) => placeOf.has(key));

  const from = [
    ...unionKeys.map((key) => placeOf.get(key) ?? -1),
    ...Array.from({ length: index.extras }, (_, number) => ours.get(extraColumn(number + 1)) ?? -1),
    ...added.map(([, place]) => place),
  ];
  const addedStart = columns + index.extras;
  const linePlace = ours.get(LINE_COLUMN) ?? -1;
  const reasonPlace = ours.get(REASON_COLUMN) ?? -1;
  const named = present.flatMap((there, place) => (there ? [place] : []));
  const extraPlaces = Array.from({ length: index.extras }, (_, number) => columns + number);

  return {
    /** The headers for mapping the rows: those of the copy, followed by added columns. */
    headers: union.positions.map((places) => [
      ...places.map((place) => union.header[place] ?? ''),
      ...added.map(([, place]) => trimmed[place] ?? ''),
    ]),
    hasLines,
    removedColumns: union.header.filter((_, place) => present[place] === false),
    addedColumns: added.map(([, place]) => trimmed[place] ?? ''),
    /** Positions in an arranged row that the untouched copy has as well. */
    comparable: [...named, ...extraPlaces],
    /** Those of them that have a header. Correcting surplus cells means clearing them. */
    named,
    /** Positions whose columns were removed: only the copy has their cells. */
    removed: present.flatMap((there, place) => (there ? [] : [place])),
    columnName: (place: number) => union.header[place] ?? extraColumn(place - columns + 1),
    /** The cells of a row of the corrected file, arranged. */
    arrange: (cells: readonly string[]): string[] => {
      const arranged = from.map((place) => (place < 0 ? '' : (cells[place] ?? '')));
      // Cells beyond the header of the corrected file are surplus cells, too.
      return arranged.concat(withoutBlankSurplus(cells, corrected.length).slice(corrected.length));
    },
    /** The `storeferry_line` of a row of the corrected file. */
    lineOf: (cells: readonly string[]) => (cells[linePlace] ?? '').trim(),
    /** The `storeferry_reason` of a row of the corrected file. */
    reasonOf: (cells: readonly string[]) => cells[reasonPlace] ?? '',
    /** Which of `headers` the rows of this header have. */
    headerOf: (header: number | undefined) => (hasLines ? (header ?? 0) : 0),
    /** An arranged row under one of `headers`, with its original length if one is given. */
    cut: (arranged: readonly string[], header: number, length: number | undefined): string[] => {
      const positions = union.positions[header] ?? [];
      if (length !== undefined && length < positions.length) {
        return positions.slice(0, length).map((place) => arranged[place] ?? '');
      }
      const whole = [
        ...positions.map((place) => arranged[place] ?? ''),
        ...added.map((_, number) => arranged[addedStart + number] ?? ''),
      ];
      const surplus = [
        ...extraPlaces.map((place) => arranged[place] ?? ''),
        ...arranged.slice(addedStart + added.length),
      ];
      if (length !== undefined) return whole.concat(surplus.slice(0, length - positions.length));
      return withoutBlankSurplus(whole.concat(surplus), whole.length).slice();
    },
  };
}
