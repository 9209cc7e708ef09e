import type { Operation } from '../../model/operation.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { damagedLine, readLines } from './read-lines.ts';
import { parseShardLine } from './shard-line.ts';

/** The operations of a shard file, in order, each with its index; StateError when it is absent or damaged. */
export async function readShard(folder: RunFolder, name: string): Promise<Operation[]> {
  const operations: Operation[] = [];
  for await (const lines of readLines(folder, name)) {
    for (const line of lines) {
      try {
        operations.push(parseShardLine(line, operations.length));
      } catch (cause) {
        throw damagedLine(folder, name, operations.length + 1, cause);
      }
    }
  }
  return operations;
}
