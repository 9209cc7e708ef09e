import { buffer } from 'node:stream/consumers';
import { StateError } from '../../model/errors.ts';
import type { Operation } from '../../model/operation.ts';
import type { PlannedShard } from '../../model/plan.ts';
import { type RunFolder, sha256Of } from '../../state/artifacts.ts';
import { damagedLine } from './read-lines.ts';
import { parseShardLine } from './shard-line.ts';

/**
 * The operations of a shard, in order, each with its index. StateError when its file is absent, or is not byte by byte
 * what the plan has written: nothing of it is given then.
 */
export async function readShard(folder: RunFolder, shard: PlannedShard): Promise<Operation[]> {
  const text = (await verifiedShard(folder, shard)).toString('utf8');
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line, index) => {
    try {
      return parseShardLine(line, index);
    } catch (cause) {
      throw damagedLine(folder, shard.name, index + 1, cause);
    }
  });
}

/** The bytes of a shard's file; StateError unless they are those that the plan has written. */
export async function verifiedShard(folder: RunFolder, { name, sha256 }: PlannedShard): Promise<Buffer> {
  const content = await buffer(await folder.read(name));
  if (sha256 === sha256Of(content)) return content;
  const file = `${folder.location}/${name}`;
  throw new StateError(
    sha256 === undefined
      ? `An earlier version has planned ${file}, without the checksum that shows whether it is whole.`
      : `${file} is not what the plan has written: its checksum is another one.`,
    { hint: 'Run the job again: it is planned again.' },
  );
}
