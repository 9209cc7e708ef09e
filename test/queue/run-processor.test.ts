import { expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import type { Notify } from '../../src/config/job/job.ts';
import { StateError, StateUnavailableError } from '../../src/model/storeferry-error.ts';
import { runProcessor } from '../../src/queue/run-processor.ts';
import { jobLockName, type Runs, type State } from '../../src/state/state.ts';
import { setupNightly } from '../support/nightly.ts';
import { startWebhook } from '../support/webhook.ts';

const FULL = new StateUnavailableError('The disk is full.');

/** The state, with runs of which some calls are replaced. */
function withRuns(state: State, replaced: (runs: Runs) => Partial<Runs>): State {
  const calls = Object.entries(replaced(state.runs)).map(([name, value]) => [name, { value }]);
  return Object.create(state, {
    runs: { value: Object.create(state.runs, Object.fromEntries(calls)) },
  });
}

/** A job that waits in a queue, its log, and its recipient. */
async function queuedNightly() {
  const stack = new AsyncDisposableStack();
  const { workspace, store } = stack.use(await setupNightly(5));
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  const hook = stack.use(await startWebhook());
  const { signal } = new AbortController();
  const open = stack.use(await openContext(workspace.dir, () => {}, signal));
  const request = await readImportRequest(open.workspace, 'nightly', false);
  const logged: string[] = [];
  const note = (_: object, text?: string) => void logged.push(String(text));
  const recipient: Notify = { kind: 'url', address: hook.url, on: ['failed'], when: 'always' };
  let begun: string | null = null;
  const processor = (state: State) =>
    runProcessor({
      context: { ...open.context, state },
      taskFor: async () => ({ kind: 'run', request }),
      readRecipients: () => [recipient],
      onEnd: () => {},
      log: { debug: note, info: note, warn: note, error: note },
    });
  /** Takes it once; a second time it has the run that it became. */
  const take = (processRun: ReturnType<typeof processor>) =>
    processRun({
      action: { does: 'run', job: 'nightly' },
      run: begun,
      announcedId: 'announced1',
      isFirst: begun === null,
      signal,
      remember: async (run) => {
        begun = run;
      },
    });
  return {
    store,
    logged,
    state: open.context.state,
    messages: () => hook.calls.map(({ body }) => JSON.stringify(body)),
    processor,
    take,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Runs whose end is not recorded. */
function endingWith(error: Error) {
  return ({ update }: Runs): Partial<Runs> => ({
    update: async (id, changes) => {
      if (changes.status === 'done') throw error;
      return await update(id, changes);
    },
  });
}

it('a run whose end could not be recorded on a full disk is taken again, and sends nothing twice', async () => {
  await using queued = await queuedNightly();
  const { state, store, logged } = queued;
  const delayed = await queued.take(queued.processor(withRuns(state, endingWith(FULL))));
  expect(delayed).toEqual({ kind: 'delayed', ms: expect.any(Number) });
  expect(logged).toContain('run waits for the state');
  expect(queued.messages()).toEqual([]);
  expect(store.requests).toHaveLength(5);

  expect(await queued.take(queued.processor(state))).toEqual({
    kind: 'ended',
    run: 'announced1',
    error: null,
  });
  expect(store.requests).toHaveLength(5);
  expect(queued.messages()).toEqual([]);
});

it('a run that meets a full disk before it begins is taken again', async () => {
  await using queued = await queuedNightly();
  const { state } = queued;
  const get = () => Promise.reject(FULL);
  expect(await queued.take(queued.processor(withRuns(state, () => ({ get }))))).toMatchObject({
    kind: 'delayed',
  });
  expect(await queued.take(queued.processor(state))).toEqual({
    kind: 'ended',
    run: 'announced1',
    error: null,
  });
});

it('a run whose end a damaged state does not take ends its entry, under its own id', async () => {
  await using queued = await queuedNightly();
  const damaged = withRuns(queued.state, endingWith(new StateError('The state is damaged.')));
  const ended = await queued.take(queued.processor(damaged));
  expect(ended).toEqual({ kind: 'ended', run: 'announced1', error: 'The state is damaged.' });
  expect(queued.logged).toContain('run ended without a record');
  expect(queued.messages()).toEqual([expect.stringContaining('run announced1 ended without a record')]);
});

it('a run that waits for the state for ten minutes is told of once', async () => {
  await using queued = await queuedNightly();
  const get = () => Promise.reject(FULL);
  const processRun = queued.processor(withRuns(queued.state, () => ({ get })));
  for (let taken = 0; taken < 39; taken += 1) await queued.take(processRun);
  expect(queued.messages()).toEqual([]);
  for (let taken = 0; taken < 10; taken += 1) await queued.take(processRun);
  expect(queued.messages()).toEqual([expect.stringContaining('The disk is full.')]);
});

it('a run that was asked to end is not continued when the lease of its dead worker ends meanwhile', async () => {
  await using queued = await queuedNightly();
  const { state, store } = queued;
  const dying = withRuns(state, endingWith(FULL));
  await queued.take(queued.processor(dying));
  await state.runs.update('announced1', { interruptAskedAt: Date.now() });
  const holder = { job: 'nightly', run: 'announced1' };
  const lease = await state.locks.acquire(jobLockName('nightly'), holder, {
    signal: AbortSignal.timeout(60_000),
    onWait: () => {},
  });
  const holderOf: State['locks']['holderOf'] = async (name) => {
    const held = await state.locks.holderOf(name);
    if (name === jobLockName('nightly')) await lease.release();
    return held;
  };
  const locks = Object.create(state.locks, { holderOf: { value: holderOf } });
  const processRun = queued.processor(Object.create(state, { locks: { value: locks } }));
  expect(await queued.take(processRun)).toMatchObject({ kind: 'delayed' });

  expect(await queued.take(processRun)).toMatchObject({ kind: 'ended', run: 'announced1' });
  expect(await state.runs.get('announced1')).toMatchObject({ status: 'interrupted' });
  expect(store.requests).toHaveLength(5);
});

it('a request to end a run is kept when it comes while another worker is about to continue it', async () => {
  await using queued = await queuedNightly();
  const { state } = queued;
  await queued.take(queued.processor(withRuns(state, endingWith(FULL))));
  const asked = withRuns(state, ({ create, update }) => ({
    create: async (run) => {
      await create(run);
      await update('announced1', { interruptAskedAt: run.startedAt + 5_000 });
    },
  }));
  await queued.take(queued.processor(asked));
  expect((await state.runs.get('announced1'))?.interruptAskedAt).toEqual(expect.any(Number));
});

it('a run clears requests to end of no other run than the one that it continues', async () => {
  await using queued = await queuedNightly();
  const { state } = queued;
  await queued.take(queued.processor(withRuns(state, endingWith(FULL))));
  const dead = await state.runs.get('announced1');
  if (dead === undefined) throw new Error('no run has begun');
  await state.runs.create({ ...dead, id: 'a-plan', kind: 'plan', status: 'running', digest: 'other' });
  for (const id of ['announced1', 'a-plan']) await state.runs.update(id, { interruptAskedAt: 1 });
  // As a person does who runs the job again: only the queue takes a run that was asked to end for ended.
  const unasked = withRuns(state, ({ get }) => ({
    get: async (id) => {
      const run = await get(id);
      return run && { ...run, ...(run.interruptAskedAt === 1 && { interruptAskedAt: null }) };
    },
  }));
  await queued.take(queued.processor(unasked));
  expect((await state.runs.get('a-plan'))?.interruptAskedAt).toBe(1);
});
