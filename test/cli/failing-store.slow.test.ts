import { expect, it } from 'vitest';
import { watchRun } from '../../src/cli/watch-run.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { setupNightly } from '../support/nightly.ts';
import { errorAnswer } from '../support/store/faults.ts';

it('a run whose store fails says why nothing moves, and that it does again', async () => {
  await using night = await setupNightly(20);
  night.store.misbehave({ does: errorAnswer(503, 'Closed for lunch'), until: 11 });
  const running = night.workspace.start('run', 'nightly', '--json');
  await running.printed('The store main answers again, after ');
  running.process.kill('SIGINT');
  const { code, stdout, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(stderr).toContain('The store main fails (Closed for lunch): ');
  expect(stdout).not.toContain('The store main');
});

it('waits that the store asks for are told of when they are long', () => {
  const { terminal, err } = memoryTerminal();
  const watch = watchRun(terminal, () => 0);
  watch.onStoreEvent('main', { kind: 'paused', forMs: 2_000, reason: 'the store answered 429' });
  watch.onStoreEvent('main', { kind: 'rate-limited', requestsPerSecond: 20 });
  expect(err()).toBe('');
  watch.onStoreEvent('main', { kind: 'paused', forMs: 90_000, reason: 'the store answered 429' });
  expect(err()).toBe('The store main asks to wait for 90 s.\n');
});
