import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { RunFolder } from '../../state/artifacts.ts';
import { openSealed, sealedJson } from '../../state/sealed-json.ts';
import { textLines } from '../writing/text-lines.ts';

/** Holds what was read of the store: an item a line, as JSON. */
const READING_FILE = 'reading.jsonl';
/** Its checksum. */
const SEAL_FILE = 'reading-checksum.json';
/** All that a reading consists of. */
export const READING_FILES: readonly string[] = [READING_FILE, SEAL_FILE];

/** Writes items into the run's folder, whole or not at all, and gives how many there were. */
export async function saveReading(
  folder: RunFolder,
  batches: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
): Promise<number> {
  let items = 0;
  const hash = createHash('sha256');
  await folder.write(READING_FILE, lines());
  await folder.write(SEAL_FILE, [sealedJson({ sha256: hash.digest('hex') })]);
  return items;

  async function* lines(): AsyncGenerator<string> {
    for await (const batch of batches) {
      items += batch.length;
      if (batch.length === 0) continue;
      const lines = `${batch.join('\n')}\n`;
      hash.update(lines);
      yield lines;
    }
  }
}

/** Whether the folder has a reading, byte by byte as it was saved. Readings of earlier versions have no checksum. */
export async function hasWholeReading(folder: RunFolder): Promise<boolean> {
  if (!(await folder.exists(READING_FILE))) return false;
  if (!(await folder.exists(SEAL_FILE))) return true;
  const hash = createHash('sha256');
  for await (const chunk of await folder.read(READING_FILE)) hash.update(chunk);
  const sha256 = hash.digest('hex');
  try {
    const { value, isSealed } = openSealed(await text(await folder.read(SEAL_FILE)));
    return isSealed && JSON.stringify(value) === JSON.stringify({ sha256 });
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** The items again, in batches. */
export async function* readReading(folder: RunFolder): AsyncGenerator<readonly string[]> {
  for await (const lines of textLines(await folder.read(READING_FILE), READING_FILE)) {
    yield lines.map(({ text }) => text);
  }
}
