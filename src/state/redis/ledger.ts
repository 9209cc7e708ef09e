import { StateError } from '../../model/errors.ts';
import { decodeBody } from '../body-codec.ts';
import { targetTag } from '../lock-names.ts';
import {
  IN_DOUBT,
  type Ledger,
  type LedgerMark,
  type LedgerTarget,
  type MemoFact,
  type MemoQuestion,
} from '../state.ts';
import type { RedisConnection } from './connect.ts';
import type { RedisKeys } from './keys.ts';
import { parseMark } from './mark-text.ts';
import { COMPARE_SCRIPT, REMEMBER_SCRIPT } from './memo-scripts.ts';

/** Keys an HMGET: Redis serves others in between. */
const CHUNK = 1_000;

/** The ledger of a target in Redis. An emptied Redis gives an empty ledger. */
export function redisLedger(
  connection: RedisConnection,
  keys: RedisKeys,
  target: LedgerTarget,
  doubts: Pick<
    Ledger,
    'unconfirmed' | 'sharedIds' | 'proveIdsAgain' | 'hasDoubts' | 'lostSince' | 'reconcile'
  >,
): Ledger {
  const { client, ask } = connection;
  const tag = targetTag(target);
  const marks = keys.marks(tag);
  const bodies = keys.bodies(tag);
  const jobKeys = keys.jobKeys(tag);

  const compareChunk = async ({ job, keys: wanted, memos }: MemoQuestion) => {
    const args = wanted.flatMap((key, position) => [memos[position] ?? '', key]);
    const answer = await client.eval(COMPARE_SCRIPT, 2, marks, keys.doubts(tag), job, IN_DOUBT, ...args);
    return readComparison(answer, wanted.length);
  };
  const compare = ({ job, keys: wanted, memos }: MemoQuestion) =>
    ask(
      inChunks(wanted, (chunk, from) =>
        compareChunk({ job, keys: chunk, memos: memos.slice(from, from + chunk.length) }),
      ),
    );
  const readMarks = async (wanted: readonly string[]) => {
    const found = await compare({ job: '', keys: wanted, memos: [] });
    return found.map((mark) => (mark === 'same' ? undefined : mark));
  };
  return {
    ...doubts,
    marks: readMarks,
    compare,
    async remember(facts) {
      const write = async (chunk: readonly MemoFact[]) => {
        const args = chunk.flatMap(({ key, fingerprint, memo }) => [key, fingerprint, memo]);
        await client.eval(REMEMBER_SCRIPT, 1, marks, ...args);
        return [];
      };
      await ask(inChunks(facts, write));
    },
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
        yield page.map((key, position) => {
          const { id = null, idProof } = found[position] ?? {};
          return { key, id, ...(idProof === undefined ? {} : { idProof }) };
        });
        from = `(${last}`;
      }
    },
  };
}

/** The members `job NUL key` of a job, of which none contains a NUL of its own before the key. */
function rangeOf(job: string): readonly [from: string, end: string] {
  return [`[${job}\0`, `(${job}\u0001`];
}

/** What COMPARE_SCRIPT answers. */
function readComparison(answer: unknown, count: number): (LedgerMark | 'same' | undefined)[] {
  const [letters, ...others]: unknown[] = Array.isArray(answer) ? answer : [];
  if (typeof letters !== 'string' || letters.length !== count) {
    throw new StateError('Redis answered a comparison with something else.');
  }
  let next = 0;
  return Array.from(letters, (letter) => {
    if (letter === '=') return 'same';
    return letter === '-' ? undefined : parseMark(String(others[next++]));
  });
}

async function inChunks<Item, Value>(
  items: readonly Item[],
  read: (chunk: Item[], from: number) => Promise<Value[]>,
): Promise<Value[]> {
  if (items.length === 0) return [];
  const chunks: Promise<Value[]>[] = [];
  for (let start = 0; start < items.length; start += CHUNK) {
    chunks.push(read(items.slice(start, start + CHUNK), start));
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : (await Promise.all(chunks)).flat();
}
