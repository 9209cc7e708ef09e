import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { StateError } from '../../model/errors.ts';
import type { RunContext } from '../../run/context.ts';
import { QUEUE_PREFIX, type Queues } from '../open-queues.ts';
import type { WorkerLog } from '../worker-log.ts';

/** Kept beside the runs; the name is none a run could have. */
const FOLDER = 'workers';
const MARK = 'mark.txt';
const MARK_KEY = `${QUEUE_PREFIX}:artifacts`;

const LEAVING_MS = 500;

/**
 * Holds the artifacts against those of the other workers: whoever comes first leaves a mark there and its value in
 * Redis. StateError when they cannot be written or read, or are others.
 */
export async function checkArtifacts(
  { artifacts, newRunId }: RunContext,
  queues: Queues,
  log: WorkerLog,
): Promise<void> {
  const folder = artifacts.run(FOLDER);
  const probe = `probe-${newRunId()}.txt`;
  await folder.write(probe, ['written and read again']);
  await text(await folder.read(probe));
  await folder.remove([probe]);

  const client = await queues.runs.getBackend().client;
  const compare = async () => {
    const expected = await client.get(MARK_KEY);
    const found = (await folder.exists(MARK)) ? await text(await folder.read(MARK)) : null;
    return { expected, same: expected !== null && expected === found };
  };
  let { expected, same } = await compare();
  if (expected !== null && !same) {
    // Perhaps another worker is leaving its mark at this moment.
    await sleep(LEAVING_MS);
    ({ expected, same } = await compare());
  }
  if (!same) {
    if (expected !== null && (await queues.runs.getWorkersCount()) > 0) {
      throw new StateError(`${folder.location} is not where the other workers keep artifacts.`, {
        hint: 'Give all workers the same ARTIFACTS_URL: a folder that all of them share.',
      });
    }
    const mark = newRunId();
    await client.set(MARK_KEY, mark);
    await folder.write(MARK, [mark]);
  }
  log.info({ artifacts: folder.location }, 'artifacts can be written and read');
}
