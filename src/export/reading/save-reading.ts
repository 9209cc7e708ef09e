import { createHash } from 'node:crypto';
import { json, text } from 'node:stream/consumers';
import { z } from 'zod';
import { type Exported, exportedSchema } from '../../model/run.ts';
import { openSealed, type RunFolder, sealedJson } from '../../state/artifacts.ts';
import { textLines } from '../writing/text-lines.ts';
import type { Item } from './page-ahead.ts';

/** The items that were read from the store, one per line, as JSON. */
const READING_FILE = 'reading.jsonl';
/** Its checksum, and facts about the reading: another run may write it. */
const SEAL_FILE = 'reading-checksum.json';

/** All files of a reading. */
export const READING_FILES: readonly string[] = [READING_FILE, SEAL_FILE];

const sealSchema = z.object({ sha256: z.string(), notes: z.array(z.string()).default([]) });

/**
 * Writes items into the run's folder, completely or not at all, and returns their number; `notes` is called after the
 * last one.
 */
export async function saveReading(
  folder: RunFolder,
  batches: AsyncIterable<readonly Pick<Item, 'text'>[]>,
  notes: () => readonly string[],
): Promise<number> {
  let items = 0;
  const hash = createHash('sha256');
  await folder.write(READING_FILE, lines());
  await folder.write(SEAL_FILE, [sealedJson({ sha256: hash.digest('hex'), notes: notes() })]);
  return items;

  async function* lines(): AsyncGenerator<string> {
    for await (const batch of batches) {
      items += batch.length;
      if (batch.length === 0) continue;
      const lines = batch.map(({ text }) => `${text}\n`).join('');
      hash.update(lines);
      yield lines;
    }
  }
}

/** Whether the folder has a reading, unchanged since it was saved. Readings of earlier versions have no checksum. */
export async function hasWholeReading(folder: RunFolder): Promise<boolean> {
  if (!(await folder.exists(READING_FILE))) return false;
  if (!(await folder.exists(SEAL_FILE))) return true;
  const hash = createHash('sha256');
  for await (const chunk of await folder.read(READING_FILE)) hash.update(chunk);
  return (await readSeal(folder))?.sha256 === hash.digest('hex');
}

/** Facts that a person should know about the reading. */
export async function readReadingNotes(folder: RunFolder): Promise<readonly string[]> {
  if (!(await folder.exists(SEAL_FILE))) return [];
  return (await readSeal(folder))?.notes ?? [];
}

/** Undefined if it was changed since. */
async function readSeal(folder: RunFolder): Promise<z.infer<typeof sealSchema> | undefined> {
  const written = await text(await folder.read(SEAL_FILE));
  try {
    const { value, isSealed } = openSealed(written);
    return isSealed ? sealSchema.safeParse(value).data : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The items again, in batches. */
export async function* readReading(folder: RunFolder): AsyncGenerator<readonly string[]> {
  for await (const lines of textLines(await folder.read(READING_FILE), READING_FILE)) {
    yield lines.map(({ text }) => text);
  }
}

/** The facts about an export that are kept after its run. */
export const EXPORTED_FILE = 'exported.json';

/** Stores the facts about an export, for `storeferry runs`. */
export async function saveExported(folder: RunFolder, exported: Exported): Promise<void> {
  await folder.write(EXPORTED_FILE, [JSON.stringify(exported)]);
}

/** The facts about an export; null before it has written anything, and for other runs. */
export async function readExported(folder: RunFolder): Promise<Exported | null> {
  if (!(await folder.exists(EXPORTED_FILE))) return null;
  return exportedSchema.parse(await json(await folder.read(EXPORTED_FILE)));
}
