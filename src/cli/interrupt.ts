import { InterruptedError } from '../model/errors.ts';

const EXIT_INTERRUPTED = 130;

/** Resolves when the signal aborts, or has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * A signal that aborts on the first SIGINT or SIGTERM, so that what is in flight can be finished and written down;
 * a second one ends the process at once.
 */
export function interruptSignal(onFirst: (name: NodeJS.Signals) => void): AbortSignal {
  const controller = new AbortController();
  const interrupt = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(EXIT_INTERRUPTED);
    onFirst(name);
    controller.abort(new InterruptedError(`Interrupted by ${name}.`));
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return controller.signal;
}
