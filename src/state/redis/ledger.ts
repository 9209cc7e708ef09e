import { decodeBody } from '../body-codec.ts';
import { targetTag } from '../lock-names.ts';
import type { Ledger, LedgerTarget } from '../state.ts';
import type { RedisConnection } from './connect.ts';
import type { RedisKeys } from './keys.ts';
import { parseMark } from './mark-text.ts';

/** Keys an HMGET: Redis serves others in between. */
const CHUNK = 1_000;

/** The ledger of a target in Redis. An emptied Redis gives an empty ledger. */
export function redisLedger({ client, ask }: RedisConnection, keys: RedisKeys, target: LedgerTarget): Ledger {
  const tag = targetTag(target);
  const marks = keys.marks(tag);
  const bodies = keys.bodies(tag);
  const jobKeys = keys.jobKeys(tag);

  const readMarks = async (wanted: readonly string[]) => {
    const texts = await ask(inChunks(wanted, (chunk) => client.hmget(marks, ...chunk)));
    return texts.map((text) => (text === null ? undefined : parseMark(text)));
  };
  return {
    marks: readMarks,
    async bodies(wanted) {
      const stored = await ask(inChunks(wanted, (chunk) => client.hmgetBuffer(bodies, ...chunk)));
      return stored.map((body) => (body === null ? undefined : decodeBody(body)));
    },
    count: (job) => ask(client.zlexcount(jobKeys, ...rangeOf(job))),
    async *keysOf(job) {
      const [first, end] = rangeOf(job);
      for (let from = first; ; ) {
        const members = await ask(client.zrangebylex(jobKeys, from, end, 'LIMIT', 0, CHUNK));
        const last = members.at(-1);
        if (last === undefined) return;
        const page = members.map((member) => member.slice(job.length + 1));
        const found = await readMarks(page);
        yield page.map((key, position) => ({ key, id: found[position]?.id ?? null }));
        from = `(${last}`;
      }
    },
  };
}

/** The members `job NUL key` of a job, of which none contains a NUL of its own before the key. */
function rangeOf(job: string): readonly [from: string, end: string] {
  return [`[${job}\0`, `(${job}\u0001`];
}

async function inChunks<Value>(
  keys: readonly string[],
  read: (chunk: string[]) => Promise<Value[]>,
): Promise<Value[]> {
  if (keys.length === 0) return [];
  const chunks: Promise<Value[]>[] = [];
  for (let start = 0; start < keys.length; start += CHUNK) {
    chunks.push(read(keys.slice(start, start + CHUNK)));
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : (await Promise.all(chunks)).flat();
}
