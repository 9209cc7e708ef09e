import { text } from 'node:stream/consumers';
import { StateError } from '../model/storeferry-error.ts';
import type { RunContext } from '../run/run-context.ts';
import { QUEUE_PREFIX, type Queues } from './queues.ts';
import type { WorkerLog } from './worker-log.ts';

/** A folder beside those of runs; no run has this name. */
const FOLDER = 'workers';
const markName = (value: string) => `mark-${value}.txt`;
const MARK_KEY = `${QUEUE_PREFIX}:artifacts`;

/** Sets a value if the present one is as expected; an empty text means no value. */
const REPLACE_COMMAND = 'storeferryReplace';
const REPLACE_SCRIPT = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`;

/**
 * Checks that all workers use the same artifacts: the first worker writes a mark there, and the name of the mark to
 * Redis. StateError if the artifacts cannot be written or read, or differ from those of the other workers.
 */
export async function checkArtifacts(
  { artifacts, newRunId }: RunContext,
  queues: Queues,
  log: WorkerLog,
): Promise<void> {
  const folder = artifacts.run(FOLDER);
  const own = markName(newRunId());
  await folder.write(own, ['Workers that find this share their artifacts.\n']);
  await text(await folder.read(own));

  const { ask, runs } = queues;
  const client = await ask(runs.getBackend().client);
  const compare = async () => {
    const expected = await ask(client.get(MARK_KEY));
    return { expected, same: expected !== null && (await folder.exists(expected)) };
  };
  // The mark is written before its name, so that workers that start together find each other's.
  const leaveOwn = async (expected: string | null): Promise<boolean> => {
    client.defineCommand(REPLACE_COMMAND, { numberOfKeys: 1, lua: REPLACE_SCRIPT });
    return (await ask(client.runCommand(REPLACE_COMMAND, [MARK_KEY, expected ?? '', own]))) === 1;
  };
  const { expected, same } = await compare();
  const first = expected === null || (!same && (await ask(runs.getWorkersCount())) === 0);
  const left = first && (await leaveOwn(expected));
  if (!left) await folder.remove([own]);
  if (!left && !same && !(await compare()).same) {
    throw new StateError(`${folder.location} is not where the other workers store artifacts.`, {
      hint: 'Give all workers the same ARTIFACTS_URL: a folder that all of them share, or s3://bucket/prefix with the same AWS_ENDPOINT_URL.',
    });
  }
  log.info({ artifacts: folder.location }, 'artifacts can be written and read');
}
