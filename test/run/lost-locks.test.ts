import { expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { storeIdentity } from '../../src/model/remote-address.ts';
import { InterruptedError, LockedError, StateError } from '../../src/model/storeferry-error.ts';
import { PLAN_FILE } from '../../src/plan/plan-file.ts';
import { executeRun } from '../../src/run/execute-run.ts';
import type { RunContext } from '../../src/run/run-context.ts';
import { jobLockName, type State, targetLockName } from '../../src/state/state.ts';
import { setupNightly } from '../support/nightly.ts';

/** The state, with one lock that is lost when the signal says so. */
function losing(state: State, lockName: string, lost: AbortSignal): State {
  const tryAcquire: typeof state.locks.tryAcquire = async (name, ...rest) =>
    withLoss(name, await state.locks.tryAcquire(name, ...rest));
  const acquire: typeof state.locks.acquire = async (name, ...rest) =>
    withLoss(name, await state.locks.acquire(name, ...rest));
  function withLoss<Answer>(name: string, answer: Answer): Answer {
    if (name !== lockName) return answer;
    return Object.create(Object(answer), { lost: { value: lost }, isHeld: { value: () => !lost.aborted } });
  }
  const locks = Object.create(state.locks, {
    tryAcquire: { value: tryAcquire },
    acquire: { value: acquire },
  });
  return Object.create(state, { locks: { value: locks } });
}

it.each(['job', 'store'])(
  'a plan whose %s another process has taken over is not written any further',
  async (which) => {
    await using setup = await setupNightly(3_000);
    const { workspace, store } = setup;
    await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
    const lost = new AbortController();
    const onEvent: RunContext['onEvent'] = (event) => {
      if (event.type === 'progress' && event.step === 'plan') lost.abort(new LockedError('taken over'));
    };
    await using open = await openContext(workspace.dir, onEvent, new AbortController().signal);
    const { context } = open;
    const request = await readImportRequest(open.workspace, 'nightly', false);
    const target = { storeId: storeIdentity(request.store), resource: 'products' as const };
    const name = which === 'job' ? jobLockName('nightly') : targetLockName(target);
    const own = { ...context, state: losing(context.state, name, lost.signal) };
    await expect(executeRun(own, { kind: 'run', request, workers: async () => {} })).rejects.toThrow(
      'taken over',
    );
    const [run] = await context.state.runs.list({ limit: 1 });
    expect(run?.status).toBe('running');
    expect(await context.artifacts.run(run?.id ?? '').exists(PLAN_FILE)).toBe(false);
    expect(store.requests).toHaveLength(0);
  },
);

it('a run that another process has taken over is not ended by the one that was asked to stop meanwhile', async () => {
  await using setup = await setupNightly(3_000);
  const { workspace, store } = setup;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  const lost = new AbortController();
  const stop = new AbortController();
  const onEvent: RunContext['onEvent'] = (event) => {
    if (event.type !== 'progress' || event.step !== 'plan') return;
    // The queue takes the job away first; that the lock is lost as well is seen a moment later.
    stop.abort(new InterruptedError('taken away'));
    lost.abort(new LockedError('taken over'));
  };
  await using open = await openContext(workspace.dir, onEvent, stop.signal);
  const { context } = open;
  const request = await readImportRequest(open.workspace, 'nightly', false);
  const own = { ...context, state: losing(context.state, jobLockName('nightly'), lost.signal) };
  await expect(executeRun(own, { kind: 'run', request, workers: async () => {} })).rejects.toThrow(
    'taken over',
  );
  const [run] = await context.state.runs.list({ limit: 1 });
  expect(run).toMatchObject({ status: 'running', finishedAt: null, step: 'plan' });
});

it('a run whose store another process has taken over after its last request keeps no blocks', async () => {
  await using setup = await setupNightly(5);
  const { workspace, store } = setup;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
  const { context } = open;
  const request = await readImportRequest(open.workspace, 'nightly', false);
  const target = { storeId: storeIdentity(request.store), resource: 'products' as const };
  const lost = new AbortController();
  let isOver = false;
  const refusals: typeof context.state.runs.refusals = (id) => {
    if (isOver) lost.abort(new LockedError('taken over'));
    return context.state.runs.refusals(id);
  };
  const state = losing(context.state, targetLockName(target), lost.signal);
  const runs = Object.create(context.state.runs, { refusals: { value: refusals } });
  const own = { ...context, state: Object.create(state, { runs: { value: runs } }) };
  const blocks = context.artifacts.run('blocks');
  for (const keeps of [true, false]) {
    isOver = !keeps;
    await executeRun(own, { kind: 'run', request: { ...request, resend: true } });
    expect(await blocks.exists('nightly.json')).toBe(keeps);
    await blocks.remove(['nightly.json']);
  }
});

it('a run sends nothing when the state loses data while it waits for the store', async () => {
  await using setup = await setupNightly(5);
  const { workspace, store } = setup;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  await workspace.storeferry('run', 'nightly');
  const before = store.requests.length;
  const waiting = Promise.withResolvers<void>();
  const onEvent: RunContext['onEvent'] = (event) => {
    if (event.type === 'waiting') waiting.resolve();
  };
  await using open = await openContext(workspace.dir, onEvent, new AbortController().signal);
  const { state, artifacts } = open.context;
  const request = await readImportRequest(open.workspace, 'nightly', true);
  const target = { storeId: storeIdentity(request.store), resource: 'products' as const };
  const other = await state.locks.tryAcquire(targetLockName(target), { job: 'weekly', run: 'other' });
  const ended = executeRun(open.context, { kind: 'run', request, workers: async () => {} });
  await waiting.promise;
  const sent = artifacts.run('sent');
  for (const name of await sent.list()) await sent.write(name, ['damaged']);
  if ('release' in other) await other.release();
  expect((await ended).run).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('lost data'),
  });
  expect(store.requests).toHaveLength(before);
});

it('a run that is continued and ends before it has looked at its shards leaves the store to the workers that send', async () => {
  await using setup = await setupNightly(5);
  const { workspace, store } = setup;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
  const { context } = open;
  const { state } = context;
  const request = await readImportRequest(open.workspace, 'nightly', false);
  const stopped = async () => {
    throw new InterruptedError('stopped');
  };
  const { run } = await executeRun(context, { kind: 'run', request, workers: stopped });
  expect(run.status).toBe('interrupted');

  const target = { storeId: storeIdentity(request.store), resource: 'products' as const };
  const name = targetLockName(target);
  const worker = await state.locks.tryAcquire(name, { job: run.job, run: run.id }, { together: true });
  if ('heldBy' in worker) throw new Error('the store is locked');
  const update: typeof state.runs.update = async (id, changes) => {
    if (changes.step === 'apply') throw new StateError('damaged');
    return await state.runs.update(id, changes);
  };
  const runs = Object.create(state.runs, { update: { value: update } });
  const failing = Object.create(state, { runs: { value: runs } });
  const again = await executeRun({ ...context, state: failing }, { kind: 'run', request, workers: stopped });
  expect(again.run).toMatchObject({ id: run.id, status: 'failed', error: 'damaged' });
  expect(await state.locks.tryAcquire(name, { job: 'weekly', run: 'other' })).toEqual({
    heldBy: { job: run.job, run: run.id },
  });
  expect(worker.isHeld()).toBe(true);
  await worker.release();
});
