import type { PlannedRejection } from '../../model/plan.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { damagedLine, readLines } from './read-lines.ts';
import { parseRejectionLine } from './rejection-line.ts';
import { REJECTIONS_FILE } from './rejection-writer.ts';

/** Every rejection of a plan in batches, in the order found; StateError when the file is absent or damaged. */
export async function* readRejections(folder: RunFolder): AsyncGenerator<readonly PlannedRejection[]> {
  let line = 0;
  for await (const lines of readLines(folder, REJECTIONS_FILE)) {
    yield lines.map((text) => {
      line++;
      try {
        return parseRejectionLine(text);
      } catch (cause) {
        throw damagedLine(folder, REJECTIONS_FILE, line, cause);
      }
    });
  }
}
