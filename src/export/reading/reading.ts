import type { RunFolder } from '../../state/artifacts.ts';
import { textLines } from '../writing/text-lines.ts';

/** Holds what was read of the store: an item a line, as JSON. */
export const READING_FILE = 'reading.jsonl';

/** Writes items into the run's folder, whole or not at all, and gives how many there were. */
export async function saveReading(
  folder: RunFolder,
  batches: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
): Promise<number> {
  let items = 0;
  await folder.write(READING_FILE, lines());
  return items;

  async function* lines(): AsyncGenerator<string> {
    for await (const batch of batches) {
      items += batch.length;
      if (batch.length > 0) yield `${batch.join('\n')}\n`;
    }
  }
}

/** The items again, in batches. */
export async function* readReading(folder: RunFolder): AsyncGenerator<readonly string[]> {
  for await (const lines of textLines(await folder.read(READING_FILE), READING_FILE)) {
    yield lines.map(({ text }) => text);
  }
}
