import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { StateError } from '../../model/errors.ts';
import type { RunFolder } from '../../state/artifacts.ts';

/** What the user corrects, the copy that stays as it was, and what neither of them can say. */
export const REJECTS_FILE = 'rejects.csv';
/** The copy of the rejects file that stays as it was. */
export const UNTOUCHED_FILE = 'rejects-untouched.csv';
/** Of the rejected rows, those whose contact the crosswalk does not know. */
export const UNMATCHED_FILE = 'unmatched.csv';
const INDEX_FILE = 'rejects.json';

const indexSchema = z.strictObject({
  delimiter: z.string(),
  /** How many `storeferry_extra_n` columns there are. */
  extras: z.int().min(0),
  /** The headers of the rejected rows, each once. */
  headers: z.array(z.array(z.string())).min(1),
  /** Whether cells that a spreadsheet would run as formulas are marked (`inertCell`); absent in files of earlier versions. */
  inert: z.literal(true).exactOptional(),
  /** Every key that was rejected, with the fingerprint of what the store had acknowledged for it at that time; absent in files of earlier versions. */
  keys: z.array(z.tuple([z.string(), z.string().nullable()])).exactOptional(),
  /** The `storeferry_line` of each row that was rejected without a key. */
  keyless: z.array(z.string()).exactOptional(),
  /** By `storeferry_line`: rows that were shorter or longer than their header, and rows under another than the first. */
  rows: z.record(z.string(), z.strictObject({ cells: z.int().optional(), header: z.int().optional() })),
});

/** What a rejects file itself does not say: how long rows were, and which header and keys they had. */
export type RejectsIndex = z.infer<typeof indexSchema>;

/** A rejected key, and the fingerprint of what the store had acknowledged for it when it was rejected. */
export type RejectedKey = NonNullable<RejectsIndex['keys']>[number];

/** Writes the index beside the rejects file. */
export async function writeRejectsIndex(folder: RunFolder, index: RejectsIndex): Promise<void> {
  await folder.write(INDEX_FILE, [JSON.stringify(index)]);
}

/** StateError when the run has no rejects, or they are from another version. */
export async function readRejectsIndex(folder: RunFolder): Promise<RejectsIndex> {
  try {
    return indexSchema.parse(JSON.parse(await text(await folder.read(INDEX_FILE))));
  } catch (cause) {
    if (cause instanceof StateError) throw cause;
    throw new StateError(`${folder.location}: ${INDEX_FILE} is damaged.`, {
      cause,
      hint: 'Run the job again: it writes new rejects.',
    });
  }
}

/** The columns that a rejects file adds behind those of the source. */
export const REASON_COLUMN = 'storeferry_reason';
/** The place of the row in its source. */
export const LINE_COLUMN = 'storeferry_line';

/** The column for the n-th cell, from 1, that a too long row has beyond its header. */
export function extraColumn(number: number): string {
  return `storeferry_extra_${number}`;
}

/** Several headers as one: every column of each, those of the first before those that only later ones have. */
interface ColumnUnion {
  readonly header: readonly string[];
  /** For each of the headers, where its columns are in the union. */
  readonly positions: readonly (readonly number[])[];
}

/** Unites headers by name; a name that a header repeats is distinguished by its occurrence, never lost. */
export function uniteColumns(headers: readonly (readonly string[])[]): ColumnUnion {
  const places = new Map<string, number>();
  const union: string[] = [];
  const positions = headers.map((header) =>
    columnKeys(header).map((key, index) => {
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, union.length);
      union.push(header[index] ?? '');
      return union.length - 1;
    }),
  );
  return { header: union, positions };
}

/** A key for each column: its name, and which of the columns of that name it is. */
export function columnKeys(header: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return header.map((name) => {
    const occurrence = (seen.get(name) ?? 0) + 1;
    seen.set(name, occurrence);
    return `${occurrence}:${name}`;
  });
}

/** The cells without blank ones at the end that have no column in the header. */
export function withoutBlankSurplus(cells: readonly string[], columns: number): readonly string[] {
  let length = cells.length;
  while (length > columns && cells[length - 1]?.trim() === '') length -= 1;
  return length === cells.length ? cells : cells.slice(0, length);
}
