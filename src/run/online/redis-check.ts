import { checkRedisServer, type RedisServerCheck } from '../../state/redis/redis-connection.ts';
import type { Facts, OnlineCheck } from '../run-context.ts';

/** Whether Redis can be reached, is new enough, and keeps written data. */
export const redisCheck: OnlineCheck = ({ settings }) => {
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
  const reached = { verdict: 'ok', message: `answers in ${ms} ms, version ${version ?? 'unknown'}` } as const;
  const findings: Facts[] = [reached];
  if (version !== null && isBelow(version, OLDEST)) {
    findings.push({
      verdict: 'error',
      message: `version ${version} is too old for the queues`,
      hint: 'Use Redis 6.2 or newer.',
    });
  } else if (version !== null && isBelow(version, ADVISED)) {
    findings.push({
      verdict: 'warning',
      message: `version ${version} is old`,
      hint: 'Use Redis 6.2 or newer.',
    });
  }
  for (const { message, hint, grave } of problems) {
    findings.push({ verdict: grave ? 'error' : 'warning', message, hint });
  }
  if (problems.length === 0) {
    findings.push({ verdict: 'ok', message: 'evicts nothing, and writes its append-only file' });
  }
  return findings;
}

function isBelow(version: string, [major = 0, minor = 0]: readonly number[]): boolean {
  const [ours = 0, ourMinor = 0] = version.split('.').map(Number);
  return ours < major || (ours === major && ourMinor < minor);
}
