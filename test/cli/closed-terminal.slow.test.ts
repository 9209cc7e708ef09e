import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { setupNightly } from '../support/nightly.ts';
import { hasPseudoTerminal, startAtTerminal } from '../support/pseudo-terminal.ts';
import { until } from '../support/until.ts';

const PRODUCTS = 400;

/** A nightly import under way, slow enough to be interrupted in its middle. */
async function underWay() {
  const setup = await setupNightly(PRODUCTS);
  setup.store.misbehave({ does: { kind: 'delay', ms: 20 } });
  const inTheMiddle = async (): Promise<void> => {
    await until(() => setup.store.figures().requests >= 50);
  };
  return { ...setup, inTheMiddle };
}

describe('a run whose terminal is closed', () => {
  it('ends as by SIGTERM at SIGHUP: what was in flight is recorded, and not sent again', async () => {
    await using setup = await underWay();
    const { store, workspace, inTheMiddle } = setup;
    const running = workspace.start('run', 'nightly', '--json');
    await inTheMiddle();
    running.process.kill('SIGHUP');
    const interrupted = await running.ended;
    expect(interrupted.code).toBe(130);
    expect(interrupted.json()).toMatchObject({ status: 'interrupted', error: 'Interrupted by SIGHUP.' });
    expect(interrupted.json()['applied']).toBe(store.figures().requests);
    store.behave();
    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.json()).toMatchObject({ status: 'done', applied: PRODUCTS });
    expect(store.figures()).toMatchObject({ requests: PRODUCTS, duplicates: 0 });
  });

  it('does the same at a second SIGHUP, which kernel and shell send together', async () => {
    await using setup = await underWay();
    const { store, workspace, inTheMiddle } = setup;
    const running = workspace.start('run', 'nightly', '--json');
    await inTheMiddle();
    running.process.kill('SIGHUP');
    running.process.kill('SIGHUP');
    await running.printed('SIGHUP');
    running.process.kill('SIGHUP');
    const interrupted = await running.ended;
    expect(interrupted.code).toBe(130);
    expect(interrupted.json()).toMatchObject({ status: 'interrupted', applied: store.figures().requests });
  });

  it.skipIf(!hasPseudoTerminal)('is recorded when nothing can be printed any more', async () => {
    await using setup = await underWay();
    const { store, workspace, inTheMiddle } = setup;
    await using session = startAtTerminal(['run', 'nightly'], {
      cwd: workspace.dir,
      env: { STORE_API_KEY: store.apiKey },
    });
    await session.sees('Run ');
    await inTheMiddle();
    session.process.kill('SIGKILL');
    for (;;) {
      const { stdout } = await workspace.storeferry('runs', '--job', 'nightly');
      if (stdout.includes('interrupted')) break;
      expect(stdout).toContain('running');
      await sleep(50);
    }
    store.behave();
    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.json()).toMatchObject({ status: 'done', applied: PRODUCTS });
    expect(store.figures()).toMatchObject({ requests: PRODUCTS, duplicates: 0 });
  });
});
