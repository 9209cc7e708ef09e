import { StateError } from '../../model/errors.ts';
import type { RunFolder } from '../../state/artifacts.ts';

/** The lines of an artifact that holds one JSON value a line, in batches; StateError when it cannot be read. */
export async function* readLines(folder: RunFolder, name: string): AsyncGenerator<readonly string[]> {
  const stream = await folder.read(name);
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines;
  }
  if (rest !== '') {
    throw new StateError(`${folder.location}/${name} ends in the middle of a line.`, {
      hint: 'The file was cut off or edited; run the job again.',
    });
  }
}

/** The error for a line of an artifact that is not what was written. */
export function damagedLine(folder: RunFolder, name: string, line: number, cause: unknown): StateError {
  return new StateError(`Line ${line} of ${folder.location}/${name} is not what a plan writes.`, {
    cause,
    hint: 'The file was damaged or edited; run the job again.',
  });
}
