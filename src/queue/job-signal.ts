import { InterruptedError } from '../model/errors.ts';

/**
 * Aborts when the worker is told to stop, and when BullMQ takes the job away from it; always with an
 * InterruptedError, since BullMQ's own reasons are texts.
 */
export function jobSignal(worker: AbortSignal, cancelled: AbortSignal | undefined): AbortSignal {
  if (cancelled === undefined) return worker;
  const taken = new AbortController();
  const take = () => taken.abort(new InterruptedError('The queue has taken the job away from this worker.'));
  if (cancelled.aborted) take();
  else cancelled.addEventListener('abort', take, { once: true });
  return AbortSignal.any([worker, taken.signal]);
}
