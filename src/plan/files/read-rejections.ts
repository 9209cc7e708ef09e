import { createHash } from 'node:crypto';
import { StateError } from '../../model/errors.ts';
import type { Plan, PlannedRejection } from '../../model/plan.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { damagedLine, readLines } from './read-lines.ts';
import { parseRejectionLine } from './rejection-line.ts';
import { REJECTIONS_FILE } from './rejection-writer.ts';

/** StateError unless the file of rejections is byte by byte what the plan has written. */
export async function verifyRejections(folder: RunFolder, { rejectionsSha256 }: Plan): Promise<void> {
  const hash = createHash('sha256');
  for await (const chunk of await folder.read(REJECTIONS_FILE)) hash.update(chunk);
  if (hash.digest('hex') === rejectionsSha256) return;
  throw new StateError(`${folder.location}/${REJECTIONS_FILE} is not what the plan has written.`, {
    hint: 'The file was damaged or edited; run the job again to plan it again.',
  });
}

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
