/** A signal that aborts when the other does, with a reason of its own. */
export function abortingWith(signal: AbortSignal, reason: () => Error): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(reason());
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}
