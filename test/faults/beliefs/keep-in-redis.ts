import type { Redis } from 'ioredis';
import { openRedisState } from '../../../src/state/redis/open-redis-state.ts';
import type { State } from '../../../src/state/state.ts';
import type { FaultyProcess } from './process.ts';
import type { Keeping } from './world.ts';

type Copy = readonly { readonly key: string; readonly dump: Buffer }[];

/** The shared state in a Redis of the test alone, which is emptied first. Without `keepsCopies` nothing is restored. */
export async function keepInRedis(url: string, client: Redis, keepsCopies: boolean): Promise<Keeping> {
  await client.flushall();
  const copies: Copy[] = [];
  const copy = async (): Promise<Copy> => {
    const keys = await client.keys('*');
    const dumps = await Promise.all(keys.map((key) => client.dumpBuffer(key)));
    return keys.map((key, at) => ({ key, dump: dumps[at] ?? Buffer.alloc(0) }));
  };
  const putBack = async (copied: Copy): Promise<void> => {
    await client.flushall();
    await Promise.all(copied.map(({ key, dump }) => client.restore(key, 0, dump)));
  };
  /** A write that may fail, before and after which the process may die. */
  const written = async <Answer>(
    process: FaultyProcess,
    name: string,
    write: () => Promise<Answer>,
  ): Promise<Answer> => {
    process.strike();
    process.refuse(name);
    if (keepsCopies) copies.push(await copy());
    const answer = await write();
    process.strikeAfterWrite();
    return answer;
  };
  return {
    async open(process, artifacts) {
      const state = await openRedisState({ url, prefix: 'model', artifacts });
      return faulty(state, process, written);
    },
    async restore(writes) {
      const [copied] = copies.splice(Math.max(0, copies.length - writes));
      if (copied !== undefined) await putBack(copied);
    },
    async empty() {
      if (keepsCopies) copies.push(await copy());
      await putBack([]);
    },
  };
}

type Written = <Answer>(
  process: FaultyProcess,
  name: string,
  write: () => Promise<Answer>,
) => Promise<Answer>;

/** The writes of a state as a faulty process makes them; Redis cannot be made to fail at a certain one. */
function faulty(state: State, process: FaultyProcess, written: Written): State {
  const { runs } = state;
  const write = <Answer>(name: string, call: () => Promise<Answer>) => written(process, name, call);
  return {
    ...state,
    ledger(target) {
      const ledger = state.ledger(target);
      return {
        ...ledger,
        reconcile: () => write('reconcile', () => ledger.reconcile()),
        confirm: (keys) => write('confirm', () => ledger.confirm(keys)),
        proveIdsAgain: () => write('proveIdsAgain', () => ledger.proveIdsAgain()),
        observe: (observed) => write('observe', () => ledger.observe(observed)),
      };
    },
    runs: {
      ...runs,
      create: (run) => write('create', () => runs.create(run)),
      update: (id, changes) => write('update', () => runs.update(id, changes)),
      record: ({ ...run }, shard, results, requests, _fence, versionAt) =>
        write('record', () => runs.record(run, shard, results, requests, undefined, versionAt)),
    },
    async sending({ run, attemptMs }) {
      process.refuseDead();
      const sending = await state.sending({ run, attemptMs });
      return {
        begin: (operations) => write('begin', () => sending.begin(operations)),
        withdraw: (operations) => write('withdraw', () => sending.withdraw(operations)),
        permit() {
          process.refuseDead();
          return sending.permit();
        },
        // Of a process that has died nothing is written any more, but its timers must end.
        [Symbol.asyncDispose]: () => sending[Symbol.asyncDispose](),
      };
    },
    [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
  };
}
