import { InterruptedError } from '../model/errors.ts';
import { abortingWith } from '../run/aborting-with.ts';

/**
 * Aborts when the worker is to stop, and when BullMQ takes the job away from it; always with an
 * InterruptedError, since BullMQ's own reasons are texts.
 */
export function jobSignal(worker: AbortSignal, cancelled: AbortSignal | undefined): AbortSignal {
  if (cancelled === undefined) return worker;
  const taken = () => new InterruptedError('The queue has taken the job away from this worker.');
  return AbortSignal.any([worker, abortingWith(cancelled, taken)]);
}
