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
  /** The headers that the rejected rows stood under, each once. */
  headers: z.array(z.array(z.string())).min(1),
  /** Whether cells that a spreadsheet would run as formulas are marked (`inertCell`); absent in files of earlier versions. */
  inert: z.literal(true).exactOptional(),
  /** Every key that was rejected, with the fingerprint of what the store had acknowledged for it by then; absent in files of earlier versions. */
  keys: z.array(z.tuple([z.string(), z.string().nullable()])).exactOptional(),
  /** The `storeferry_line` of each row that was rejected without a key. */
  keyless: z.array(z.string()).exactOptional(),
  /** By `storeferry_line`: rows that were shorter or longer than their header, and rows under another than the first. */
  rows: z.record(z.string(), z.strictObject({ cells: z.int().optional(), header: z.int().optional() })),
});

/** What a rejects file itself does not say: how long rows were, which header they stood under, and which keys they had. */
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
      hint: 'Run the job again: it writes its rejects anew.',
    });
  }
}
