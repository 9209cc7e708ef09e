import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { connectQueues, RUN_QUEUE, type RunJobData } from '../../src/queue/queues.ts';
import { openRunQueue, type RunQueue } from '../../src/queue/run-queue.ts';
import { openState } from '../../src/state/open-state.ts';
import { type State, type StateQueue, WORKER_LOCK } from '../../src/state/state.ts';
import { sampleRun } from '../state/samples.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const NIGHTLY = { does: 'run', job: 'nightly' } as const;

interface Opened extends AsyncDisposable {
  readonly state: State;
  readonly queue: RunQueue;
  /** A worker takes what waits, for a run of this id, and keeps it until it is asked to leave. */
  take(queued: string, run: string): Promise<void>;
  leave(): Promise<void>;
}

const newRunId = () => 'unused';

async function openEmbedded(): Promise<Opened> {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-run-queue-'));
  const state = await openState({ dir });
  const { queue: entries } = state;
  if (entries === undefined) throw new Error('An embedded state has a queue');
  let left = async () => {};
  return {
    state,
    queue: await openRunQueue({ redisUrl: undefined, context: { state, newRunId } }),
    async take(queued, run) {
      expect(await entries.takeEntry(queued)).toBe(true);
      await entries.beginEntry(queued, run);
      left = () => entries.endEntry(queued, { run, error: null });
    },
    leave: () => left(),
    async [Symbol.asyncDispose]() {
      await state[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function openShared(): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const redis = opening.use(await startRedis({ aof: false }));
  const state = opening.use(await openState({ dir: '', redisUrl: redis.url }));
  const queue = opening.use(await openRunQueue({ redisUrl: redis.url, context: { state, newRunId } }));
  const { connection, prefix } = opening.use(await connectQueues(redis.url, true));
  const left = Promise.withResolvers<null>();
  let worker: Worker<RunJobData, null> | undefined;
  opening.defer(async () => {
    left.resolve(null);
    await worker?.close();
  });
  const stack = opening.move();
  return {
    state,
    queue,
    async take(queued, run) {
      const process: ConstructorParameters<typeof Worker<RunJobData, null>>[1] = async (job) => {
        expect(job.id).toBe(queued);
        await job.updateData({ ...job.data, run });
        return await left.promise;
      };
      worker = new Worker<RunJobData, null>(RUN_QUEUE, process, { connection, prefix });
      await until(async () => (await queue.list()).some((one) => one.run === run));
    },
    async leave() {
      left.resolve(null);
      // What waits is not for this worker.
      await worker?.close();
    },
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

function suite(open: () => Promise<Opened>): void {
  const ENDS = [
    { status: 'interrupted', interruptAskedAt: 1 },
    { status: 'running', interruptAskedAt: 1 },
    { status: 'failed' },
    { status: 'stopped' },
    { status: 'done' },
  ] as const;
  for (const end of ENDS) {
    const words = `${end.status}${'interruptAskedAt' in end ? ', on request' : ''}`;
    it(`queues a job anew although a worker still has its last run, which is ${words}`, async () => {
      await using opened = await open();
      const { state, queue } = opened;
      await state.runs.create(sampleRun({ id: 'first', status: 'running' }));
      const { queued } = await queue.enqueue(NIGHTLY, 'first');
      await opened.take(queued, 'first');
      expect(await queue.enqueue(NIGHTLY, 'second')).toMatchObject({ id: 'first', added: false });

      await state.runs.update('first', end);
      expect(await queue.enqueue(NIGHTLY, 'second')).toMatchObject({ id: 'second', added: true });
      // The new one is the only one of its job, also after the worker has left the first.
      expect(await queue.enqueue(NIGHTLY, 'third')).toMatchObject({ id: 'second', added: false });
      await opened.leave();
      await until(async () => (await queue.find('first'))?.ended === true);
      expect(await queue.enqueue(NIGHTLY, 'third')).toMatchObject({ id: 'second', added: false });
      expect(await queue.waiting()).toEqual([{ run: 'second', job: 'nightly' }]);
    });
  }

  it('does not queue a job anew whose run returns to the queue, as when its worker stops', async () => {
    await using opened = await open();
    const { state, queue } = opened;
    await state.runs.create(sampleRun({ id: 'first', status: 'running' }));
    const { queued } = await queue.enqueue(NIGHTLY, 'first');
    await opened.take(queued, 'first');
    await state.runs.update('first', { status: 'interrupted' });
    expect(await queue.enqueue(NIGHTLY, 'second')).toMatchObject({ id: 'first', added: false });
  });
}

describe('the queue without Redis', () => {
  suite(openEmbedded);

  it.each([1, 2, 3, 4])(
    'removes what a dead worker had, unless another takes it: before call %d',
    async (at) => {
      await using opened = await openEmbedded();
      const { state, queue } = opened;
      const { queue: entries, locks } = state;
      if (entries === undefined) throw new Error('An embedded state has a queue');
      const { queued } = await queue.enqueue(NIGHTLY, 'first');
      await opened.take(queued, 'first');
      let [calls, isTaken] = [0, false];
      const startWorker = async () => {
        calls += 1;
        if (calls !== at) return;
        const lock = await locks.tryAcquire(WORKER_LOCK, { job: WORKER_LOCK, run: 'worker' });
        if ('heldBy' in lock) return;
        await entries.releaseEntry();
        isTaken = await entries.takeEntry('first');
      };
      const watched: StateQueue = Object.assign(Object.create(entries), {
        releaseEntry: (id: string) => startWorker().then(() => entries.releaseEntry(id)),
        removeEntry: (id: string) => startWorker().then(() => entries.removeEntry(id)),
      });
      const holderOf = (name: string) => startWorker().then(() => locks.holderOf(name));
      const context = { state: { ...state, queue: watched, locks: { ...locks, holderOf } }, newRunId };
      await using removing = await openRunQueue({ redisUrl: undefined, context });
      const entry = await removing.find('first');
      expect(await entry?.remove()).toBe(!isTaken);
      expect((await entries.entry('first'))?.taken ?? false).toBe(isTaken);
    },
  );
});

describeWithRedis('the queue in Redis', () => suite(openShared));
