import { expect, it } from 'vitest';
import { watchRun } from '../../src/cli/watch-run.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { setupNightly } from '../support/nightly.ts';
import { delay, errorAnswer, hang } from '../support/store/faults.ts';
import { until } from '../support/until.ts';

it('a run whose store fails says why nothing moves, and that it does again', async () => {
  await using setup = await setupNightly(20);
  setup.store.misbehave({ does: errorAnswer(503, 'Closed for lunch'), until: 11 });
  // So slow from then on that the run is not over before it is interrupted.
  setup.store.misbehave({ does: delay(1_000), from: 12 });
  const running = setup.workspace.start('run', 'nightly', '--json');
  await running.printed('The store main answers again after ');
  running.process.kill('SIGINT');
  const { code, stdout, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(stderr).toContain('The store main fails (Closed for lunch): ');
  expect(stdout).not.toContain('The store main');
});

it('a run that is stopped at once by a second Ctrl-C says how to go on', async () => {
  await using setup = await setupNightly(20);
  const { workspace, store } = setup;
  store.misbehave({ does: hang });
  const running = workspace.start('run', 'nightly');
  await until(() => store.requests.length > 0);
  running.process.kill('SIGINT');
  await running.printed('press again to stop at once');
  running.process.kill('SIGINT');
  const { code, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(stderr.trimEnd().split('\n').at(-1)).toBe(
    `Stopped at once; requests in flight may still reach the store. To continue where it stopped: storeferry -C ${workspace.dir} run nightly`,
  );
});

it('a wait for earlier requests names no death, and is not counted into the speed', () => {
  const { terminal, err } = memoryTerminal();
  let now = 0;
  const watch = watchRun(terminal, () => now);
  const progress = (done: number) =>
    watch.onEvent({ type: 'progress', step: 'apply', done, total: 116, unit: 'requests' });
  progress(0);
  now = 6_000;
  progress(100);
  expect(err()).toContain('100 of 116 requests (86%), 17/s, 1 s left');
  watch.onEvent({ type: 'waiting-for-requests', operations: 16, ms: 38_000 });
  expect(err()).toContain(
    'Waiting 38 s before 16 records are sent: the results of earlier requests for them are unknown, and the store may still be processing those requests.\n',
  );
  now = 44_100;
  progress(101);
  expect(err().split('\n').at(-2)).toBe('apply: 101 of 116 requests (87%)');
  now = 50_000;
  progress(115);
  expect(err().split('\n').at(-2)).toBe('apply: 115 of 116 requests (99%), 2.4/s, 1 s left');
});

it('long waits that the store asks for are printed', () => {
  const { terminal, err } = memoryTerminal();
  const watch = watchRun(terminal, () => 0);
  watch.onStoreEvent('main', { kind: 'paused', forMs: 2_000, reason: 'the store answered 429' });
  watch.onStoreEvent('main', { kind: 'rate-limited', requestsPerSecond: 20 });
  expect(err()).toBe('');
  watch.onStoreEvent('main', { kind: 'paused', forMs: 90_000, reason: 'the store answered 429' });
  expect(err()).toBe('The store main asks to wait for 90 s.\n');
});

it('a run that is stopped by answers of something else than the API says so, with one figure', async () => {
  await using setup = await setupNightly(60);
  const body = '<html><title>Not found</title><p>gateway</p></html>';
  setup.store.misbehave({ does: { kind: 'answer', status: 404, body, applied: false } });
  const stopped = await setup.workspace.storeferry('run', 'nightly');
  expect(stopped.code).toBe(4);
  const said = stopped.stdout.replaceAll(/\s+/g, ' ');
  const [, figure] = /exceeded: (\d+) of 60 records are rejected/.exec(said) ?? [];
  expect(figure, said).toBeDefined();
  expect(said).toContain(` rejected ${figure} `);
  expect(said).toContain(
    'answered 404, but not in the format of its API; a proxy in front of the store may have answered',
  );
  expect(said).toContain('the answer begins: <html><title>Not found</title>');
  expect(said).toContain('Correct the cause of the refusals, then:');
  expect(said).not.toContain('If the source is not');
});
