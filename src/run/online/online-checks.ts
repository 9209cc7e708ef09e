import { access, constants } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExportJob } from '../../config/job/job.ts';
import { openExportFile } from '../../export/writing/export-file.ts';
import { rejectOnAbort } from '../../model/clock.ts';
import { type ArtifactsPlace, artifactsLocation } from '../../model/remote-address.ts';
import { messageOf, StoreferryError } from '../../model/storeferry-error.ts';
import { probeRemote } from '../../remote/fetch-file.ts';
import type { Finding } from '../../report/document-text.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { checkEmbeddedState, openArtifacts } from '../../state/open-state.ts';
import { checkRedisServer, type RedisServerCheck } from '../../state/redis/redis-connection.ts';
import { formatBytes } from '../../text/printable.ts';
import { probeCheck } from '../kept-probe.ts';
import {
  accessOf,
  type CheckedWorkspace,
  errorFinding,
  type Facts,
  type Look,
  type OnlineCheck,
  okFinding,
  warningFinding,
} from '../run-context.ts';
import { diskCheck, nearestFolder, sourceCheck, temporaryFolderCheck } from './source-check.ts';
import { storeCheck } from './store-check.ts';

export { probeCheck } from '../kept-probe.ts';

/** Whether the files of runs can be written, read and removed at ARTIFACTS_URL. */
const artifactsCheck: OnlineCheck = ({ settings, newRunId }) =>
  settings === undefined
    ? []
    : [{ subject: 'artifacts', look: () => tryArtifacts(settings.artifacts, `check-${newRunId()}`) }];

async function tryArtifacts(place: ArtifactsPlace, id: string) {
  const artifacts = openArtifacts(place);
  const folder = artifacts.run(id);
  try {
    await folder.write('probe.txt', ['written and read again']);
    await text(await folder.read('probe.txt'));
  } finally {
    await artifacts.remove(id).catch(() => {});
  }
  return [okFinding(`can be written and read in ${artifactsLocation(place)}`)];
}

/** Whether the destination folder of an export can be written. */
const destinationCheck: OnlineCheck = (workspace) =>
  workspace.jobs.flatMap((job) =>
    job.kind === 'export'
      ? [
          {
            subject: `job ${job.name}`,
            look: async (signal) => [await tryDestination(job, accessOf(workspace), signal)],
          },
        ]
      : [],
  );

async function tryDestination(job: ExportJob, files: FileAccess, signal: AbortSignal) {
  const { destination } = job;
  const { table, create } = destination;
  if (table === undefined && destination.path === undefined) {
    await probeRemote(destination.remote, signal);
    const message = `its destination ${destination.remote.location} is reached; writing is not tried`;
    return okFinding(message);
  }
  const { location, exists } = await openExportFile(files, job, new Date().toISOString());
  if (table !== undefined) {
    const isThere = await exists?.(signal);
    if (!isThere && create !== true)
      return errorFinding(
        `there is no ${location}`,
        'Set `create: true` under destination in the job, or create it.',
      );
    if (isThere || destination.path === undefined)
      return okFinding(`its destination ${location} is reached; writing is not tried`);
  }
  const folder = await nearestFolder(dirname(location));
  const writable = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  return writable
    ? okFinding(`its destination ${destination.path} can be written`)
    : errorFinding(
        `its destination ${destination.path} cannot be written: this user may not write into ${folder}`,
        'Give this user the right to write there, or name another place.',
      );
}

/** Whether Redis can be reached, is new enough, and keeps written data. */
const redisCheck: OnlineCheck = ({ settings }) => {
  const url = settings?.redisUrl;
  return url === undefined
    ? []
    : [{ subject: 'Redis', look: async () => judgeRedis(await checkRedisServer(url)) }];
};

/** The minimum version for BullMQ, and the version that its authors recommend. */
const OLDEST = [5, 0];
const ADVISED = [6, 2];

/** The findings, one line per topic. */
export function judgeRedis({ version, ms, problems }: RedisServerCheck): Facts[] {
  const findings = [okFinding(`answers in ${ms} ms, version ${version ?? 'unknown'}`)];
  if (version !== null && isBelow(version, OLDEST)) {
    findings.push(errorFinding(`version ${version} is too old for the queues`, 'Use Redis 6.2 or newer.'));
  } else if (version !== null && isBelow(version, ADVISED)) {
    findings.push(warningFinding(`version ${version} is old`, 'Use Redis 6.2 or newer.'));
  }
  for (const { message, hint, grave } of problems) {
    findings.push({ verdict: grave ? 'error' : 'warning', message, hint });
  }
  if (problems.length === 0) {
    findings.push(okFinding('evicts nothing, and writes its append-only file'));
  }
  return findings;
}

function isBelow(version: string, [major = 0, minor = 0]: readonly number[]) {
  const [ours = 0, ourMinor = 0] = version.split('.').map(Number);
  return ours < major || (ours === major && ourMinor < minor);
}

/** Whether the embedded state can be used and is intact. */
const stateCheck: OnlineCheck = ({ settings, dir }) =>
  settings === undefined || settings.redisUrl !== undefined
    ? []
    : [{ subject: 'state', look: async () => [await judgeState(join(dir, '.storeferry'))] }];

async function judgeState(folder: string) {
  const found = await checkEmbeddedState(folder);
  switch (found.kind) {
    case 'absent':
      return okFinding('no state yet: the first run creates it');
    case 'empty':
      return warningFinding(
        `${folder}/state.db is empty: it has no record of what the store acknowledged`,
        'Restore it from a backup; otherwise the next run of each job sends everything again and deletes nothing.',
      );
    case 'sound':
      return okFinding(`state.db can be read and is intact (${formatBytes(found.bytes)})`);
    default:
      return found satisfies never;
  }
}

/** The online checks but the last ones, in the order of their findings. */
export const ONLINE_CHECKS: readonly OnlineCheck[] = [
  storeCheck,
  probeCheck,
  sourceCheck,
  destinationCheck,
  artifactsCheck,
  diskCheck,
  temporaryFolderCheck,
  redisCheck,
];

/** Checks that run after all others: they keep the process busy, which would delay the answers of stores. */
const LAST_CHECKS: readonly OnlineCheck[] = [stateCheck];

const TIMEOUT_MS = 10_000;

/** Runs the checks of a workspace, then the last ones. Never rejects, unless interrupted. */
export async function runOnlineChecks(
  checks: readonly OnlineCheck[],
  workspace: CheckedWorkspace,
  signal: AbortSignal,
): Promise<Finding[]> {
  const looksOf = (some: readonly OnlineCheck[]) => some.flatMap((check) => check(workspace));
  const findings = await runChecks(looksOf(checks), signal);
  return [...findings, ...(await runChecks(looksOf(LAST_CHECKS), signal))];
}

/**
 * Looks at everything at the same time, each at most ten seconds. The findings are in the order of `looks`. Never rejects,
 * unless interrupted.
 */
export async function runChecks(
  looks: readonly Look[],
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<Finding[]> {
  const found = await Promise.all(looks.map((look) => attempt(look, signal, timeoutMs)));
  signal.throwIfAborted();
  return found.flat();
}

async function attempt({ subject, look }: Look, interrupted: AbortSignal, ms: number): Promise<Finding[]> {
  const timeout = AbortSignal.timeout(ms);
  const signal = AbortSignal.any([interrupted, timeout]);
  try {
    const findings = await rejectOnAbort(look(signal), signal);
    return findings.map((finding) => ({ subject, ...finding }));
  } catch (error) {
    return [{ subject, verdict: 'error', ...explain(error, timeout.aborted, ms) }];
  }
}

function explain(error: unknown, late: boolean, ms: number): Pick<Finding, 'message' | 'hint'> {
  if (late)
    return { message: `no answer within ${ms / 1000} seconds`, hint: 'Is it reachable from this machine?' };
  if (error instanceof StoreferryError) return { message: error.message, hint: error.hint };
  return { message: messageOf(error) };
}
