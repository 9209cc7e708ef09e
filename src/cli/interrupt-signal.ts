import { InterruptedError } from '../model/storeferry-error.ts';

const EXIT_INTERRUPTED = 130;
/** Requests in flight end within 5 s, and a call to the state fails within 10 s: anything that takes longer hangs. */
const GRACE_MS = 30_000;

/** How a process ends after a signal. */
interface InterruptOptions {
  /** The time limit for finishing work in progress, in milliseconds. */
  readonly graceMs?: number;
  /** Called when that time is over, before the process exits; returns its exit code. */
  readonly onOverdue?: () => number;
  /** Called when a second signal ends the process at once. */
  readonly onAgain?: () => void;
}

/** Resolves when the signal aborts, or at once if it has aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** The signals that ask a process to end; SIGHUP: its terminal was closed. */
export const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly NodeJS.Signals[];

/** Makes the interrupt signal of a command. `onFirst` is called when it aborts, with the name of the signal. */
export type InterruptSignal = (
  onFirst?: (name: NodeJS.Signals) => void,
  options?: InterruptOptions,
) => AbortSignal;

/**
 * A signal that aborts on the first of `INTERRUPTS`, so that requests in flight can be finished and recorded. A second
 * SIGINT or SIGTERM ends the process at once; the end of the grace period always ends it. `over` aborts at the end of the
 * command: a process may run many, and each listens only until then.
 */
export function interruptSignal(
  over: AbortSignal,
  onFirst: (name: NodeJS.Signals) => void = () => {},
  { graceMs = GRACE_MS, onOverdue = () => EXIT_INTERRUPTED, onAgain = () => {} }: InterruptOptions = {},
): AbortSignal {
  const controller = new AbortController();
  const interrupt = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) {
      // The kernel and the shell each send SIGHUP when a terminal closes, so a second one means nothing new.
      if (name === 'SIGHUP') return;
      onAgain();
      process.exit(EXIT_INTERRUPTED);
    }
    const overdue = setTimeout(() => process.exit(onOverdue()), graceMs).unref();
    over.addEventListener('abort', () => clearTimeout(overdue), { once: true });
    onFirst(name);
    controller.abort(new InterruptedError(`Interrupted by ${name}.`));
  };
  for (const name of INTERRUPTS) {
    process.on(name, interrupt);
    over.addEventListener('abort', () => process.off(name, interrupt), { once: true });
  }
  return controller.signal;
}
