import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { askToInterrupt } from '../../src/run/report/read-stored-report.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { setupNightly } from '../support/nightly.ts';
import { delay } from '../support/store/faults.ts';
import { until } from '../support/until.ts';

const PRODUCTS = 3_000;

describe('a run that another process asks to end', () => {
  it('says how far it is, ends as if interrupted, and is continued by the next run', async () => {
    await using setup = await setupNightly(PRODUCTS, {}, { latencyMs: { min: 10, max: 20 } });
    const { workspace, store } = setup;
    const running = workspace.start('run', 'nightly', '--json');
    await until(() => store.requests.length > 100);
    // So slow that the run would not end by itself.
    store.misbehave({ does: delay(1_000) });
    await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
    const context = { state, clock: Date.now };
    const [run] = await state.runs.list({ limit: 1 });
    if (run === undefined) throw new Error('no run has begun');

    const progress = await until(async () => {
      const seen = (await context.state.runs.get(run.id))?.progress;
      return seen?.step === 'apply' && seen.applied > 0 ? seen : null;
    });
    expect(progress).toMatchObject({ unit: 'requests', total: PRODUCTS, rejected: 0 });

    await askToInterrupt(context, run.id);
    const ended = await running.ended;
    store.behave();
    expect(ended.code).toBe(130);
    expect(ended.json()).toMatchObject({ status: 'interrupted', error: 'Interrupted on request.' });
    expect(store.requests.length).toBeLessThan(PRODUCTS);
    expect((await state.runs.get(run.id))?.progress).toBeNull();
    await expect(askToInterrupt(context, run.id)).rejects.toThrow('only a running run can be interrupted');

    const again = await workspace.storeferry('run', 'nightly', '--json');
    expect(again.json()).toMatchObject({ run: run.id, status: 'done', applied: PRODUCTS });
    expect((await state.runs.get(run.id))?.interruptAskedAt).toBeNull();
    expect(store.figures()).toMatchObject({ requests: PRODUCTS, duplicates: 0 });
  });

  it('ends when `cancel` is typed in another terminal, and says what is left', async () => {
    await using setup = await setupNightly(PRODUCTS, {}, { latencyMs: { min: 10, max: 20 } });
    const { workspace, store } = setup;
    const running = workspace.start('run', 'nightly', '--json');
    await until(() => store.requests.length > 100);
    store.misbehave({ does: delay(1_000) });
    const { runs } = (await workspace.storeferry('runs', '--json')).json();
    const id = Array.isArray(runs) ? String(runs[0]?.run) : '';
    const cancelled = await workspace.storeferry('cancel', id);
    expect(cancelled.stdout).toMatch(
      new RegExp(`^Run ${id} of nightly is interrupted: [\\d,]+ records sent, [\\d,]+ records left\\.`),
    );
    expect((await running.ended).json()).toMatchObject({ run: id, status: 'interrupted' });
    const over = await workspace.storeferry('cancel', id);
    expect([over.code, over.stderr]).toEqual([2, expect.stringContaining('is interrupted')]);
  });

  it('cannot be asked once its process has died', async () => {
    await using setup = await setupNightly(200, {}, { latencyMs: { min: 50, max: 60 } });
    const { workspace, store } = setup;
    const running = workspace.start('run', 'nightly');
    await until(() => store.requests.length > 5);
    running.process.kill('SIGKILL');
    await running.ended;
    await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
    const context = { state, clock: Date.now };
    const [run] = await state.runs.list({ limit: 1 });
    await expect(askToInterrupt(context, run?.id ?? '')).rejects.toThrow('has died');
    await expect(askToInterrupt(context, 'nosuchid')).rejects.toThrow('There is no run nosuchid');
  });
});
