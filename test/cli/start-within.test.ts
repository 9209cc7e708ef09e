import { expect, it } from 'vitest';
import { startWithin } from '../../src/cli/commands/worker-command.ts';
import { InterruptedError, StateError } from '../../src/model/storeferry-error.ts';

const never = () => new Promise<never>(() => {});

it('gives what has started', async () => {
  const { signal } = new AbortController();
  await expect(startWithin(60_000, signal, Promise.resolve('started'))).resolves.toBe('started');
});

it('does not wait for a start that hangs', async () => {
  const { signal } = new AbortController();
  const failure = startWithin(1, signal, never());
  await expect(failure).rejects.toBeInstanceOf(StateError);
  await expect(failure).rejects.toThrow('Redis does not answer');
});

it('does not wait beyond the signal, before or during the start', async () => {
  const controller = new AbortController();
  const during = startWithin(60_000, controller.signal, never());
  controller.abort(new InterruptedError('Interrupted by SIGTERM.'));
  await expect(during).rejects.toBeInstanceOf(InterruptedError);
  await expect(startWithin(60_000, controller.signal, never())).rejects.toBeInstanceOf(InterruptedError);
});

it('fails as the start does', async () => {
  const { signal } = new AbortController();
  await expect(startWithin(60_000, signal, Promise.reject(new StateError('no')))).rejects.toThrow('no');
});
