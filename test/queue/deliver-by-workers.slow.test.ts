import { once } from 'node:events';
import { Worker } from 'bullmq';
import { expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { StateError, StateUnavailableError } from '../../src/model/storeferry-error.ts';
import { deliverByWorkers, shardProcessor } from '../../src/queue/deliver-by-workers.ts';
import { connectQueues, openQueues, type Queues, shardQueueName } from '../../src/queue/queues.ts';
import { executeRun } from '../../src/run/execute-run.ts';
import { askToInterrupt } from '../../src/run/report/read-stored-report.ts';
import { setupNightly } from '../support/nightly.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';

describeWithRedis('a run whose workers see the request to end first', () => {
  it.each(['before', 'while'])(
    'is interrupted, also where its own process sees it %s it looks at them',
    async (when) => {
      await using redis = await startRedis({ aof: false });
      await using setup = await setupNightly(10);
      const { workspace, store } = setup;
      await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\nREDIS_URL=${redis.url}\n`);
      await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
      const { context } = open;
      const request = await readImportRequest(open.workspace, 'nightly', false);

      await using connected = await connectQueues(redis.url, true);
      const { connection, prefix } = connected;
      const worker = new Worker(
        shardQueueName('main'),
        async ({ data }: { data: { run: string } }) => {
          await askToInterrupt(context, data.run);
          return { status: 'obsolete' };
        },
        { connection, prefix },
      );
      await using queues = await openQueues({ redisUrl: redis.url, patient: false, onError: () => {} });
      let signal: AbortSignal | undefined;
      /** The answer that a shard has ended comes only after this process has seen the request itself. */
      const ask: Queues['ask'] = async (answer) => {
        const answered = await queues.ask(answer);
        const isEnd = Object(answered).finishedOn !== undefined;
        if (when === 'while' && isEnd && signal?.aborted === false) await once(signal, 'abort');
        return answered;
      };
      const deliver = deliverByWorkers({ ...queues, ask });
      const { run } = await executeRun(context, {
        ...{ kind: 'run', request },
        workers: (own, ...rest) => {
          signal = own.signal;
          return deliver(own, ...rest);
        },
      });
      await worker.close();
      expect(run).toMatchObject({ status: 'interrupted', error: 'Interrupted on request.' });
    },
  );
});

describeWithRedis('a worker that cannot read the state before it sends', () => {
  it.each([
    ['takes the shard again once it can', new StateUnavailableError('Redis is away.'), 'done', null],
    [
      'fails the run where the state is damaged',
      new StateError('It is damaged.'),
      'failed',
      'It is damaged.',
    ],
  ])('%s', async (_, problem, status, error) => {
    await using redis = await startRedis({ aof: false });
    await using setup = await setupNightly(10);
    const { workspace, store } = setup;
    await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\nREDIS_URL=${redis.url}\n`);
    await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
    const { context } = open;
    const request = await readImportRequest(open.workspace, 'nightly', false);
    await using connected = await connectQueues(redis.url, true);
    const problems = [problem];
    const get = async (id: string) => {
      const met = problems.pop();
      if (met !== undefined) throw met;
      return await context.state.runs.get(id);
    };
    const runs = Object.create(context.state.runs, { get: { value: get } });
    const state = Object.create(context.state, { runs: { value: runs } });
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const worker = new Worker(
      shardQueueName('main'),
      shardProcessor({ context: { ...context, state }, readConfiguration: () => request, log }),
      connected,
    );
    await using queues = await openQueues({ redisUrl: redis.url, patient: false, onError: () => {} });
    const { run } = await executeRun(context, {
      ...{ kind: 'run', request },
      workers: deliverByWorkers(queues),
    });
    await worker.close();
    expect(run).toMatchObject({ status, error });
    expect(store.requests).toHaveLength(status === 'done' ? 10 : 0);
  });
});
