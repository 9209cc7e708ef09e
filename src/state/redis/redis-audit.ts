import { randomUUID } from 'node:crypto';
import { AUDIT_KEPT_MS, type AuditLog, MOST_AUDITED, storedAuditEntries } from '../state.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

/** The audit log in Redis: a sorted set by time. */
export function redisAudit({ client, ask }: RedisConnection, keys: RedisKeys): AuditLog {
  const key = keys.audit();
  return {
    async append(entry) {
      // Equal members of a set would be one.
      await ask(client.zadd(key, entry.at, JSON.stringify({ ...entry, id: randomUUID() })));
      await ask(client.zremrangebyscore(key, '-inf', `(${entry.at - AUDIT_KEPT_MS}`));
      await ask(client.zremrangebyrank(key, 0, -MOST_AUDITED - 1));
    },
    async newest(offset, count) {
      return storedAuditEntries(await ask(client.zrevrange(key, offset, offset + count - 1)));
    },
  };
}
