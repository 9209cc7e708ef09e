import { afterEach, expect, it, vi } from 'vitest';
import { interruptSignal } from '../../src/cli/interrupt-signal.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('ends no process after the command is over, however long its grace period is', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const over = new AbortController();
  const signal = interruptSignal(over.signal, () => {}, {
    graceMs: 1_000,
    onOverdue: () => {
      throw new Error('overdue');
    },
  });
  process.emit('SIGHUP', 'SIGHUP');
  expect(signal.aborted).toBe(true);
  over.abort();
  expect(() => vi.advanceTimersByTime(2_000)).not.toThrow();
});
