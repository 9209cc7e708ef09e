import { getCompileCacheDir } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import * as errors from '../model/storeferry-error.ts';

/** What the thread sends. `stream` numbers the content that it reads. */
type FromThread<Item, Result> =
  | { readonly kind: 'pull'; readonly stream: number; readonly part: string }
  | { readonly kind: 'close'; readonly stream: number }
  | { readonly kind: 'item'; readonly item: Item }
  | { readonly kind: 'result'; readonly result: Result }
  | { readonly kind: 'failed'; readonly error: PlainError };

/** What the thread gets: the next piece of content, or the request for the next item. */
type ToThread =
  | { readonly kind: 'chunk'; readonly stream: number; readonly chunk: Uint8Array<ArrayBuffer> | null }
  | { readonly kind: 'next' };

/** An error of the project as plain data, by the name of its class; any other error is a bug. */
export type PlainError = ReturnType<typeof plainError>;

/** The work of a task that goes on with every piece of its content is not endless; each MiB of content may take this long. */
const CPU_MS_PER_MIB = 2_000;
const MIB = 1024 ** 2;
/**
 * Input up to this size needs no thread: starting one takes longer, and an algorithm that is quadratic in so few bytes takes a
 * second.
 */
export const SMALL_INPUT_BYTES = 32 * 1024;
const POLL_MS = 100;
/** V8 may end the whole process if a thread reaches V8's own limit of memory; so that limit is this many times ours. */
const BACKSTOP = 4;
/** Buffers, and texts of more than a megabyte, are outside of the heap. They may take this many times the limit. */
const MAX_EXTERNAL = 2;

export interface IsolationOptions {
  /** Time of the processor, without what its content may take. Other processes of the machine do not count. */
  readonly cpuMs: number;
  readonly heapMib: number;
  readonly signal?: AbortSignal | undefined;
  /** Content that the task asks for by name. */
  readonly open?: ((part: string) => AsyncIterable<Uint8Array>) | undefined;
  /** The error for a task beyond a limit; `beyond` says which, such as `60 s of processor time`. */
  readonly refused: (beyond: string) => errors.StoreferryError;
}

/**
 * Runs a task in a thread of its own, so that nothing in its input can block this process or fill its memory: beyond a limit,
 * or when the signal aborts, the thread is ended. Gives the items that the task yields, and then its result. The errors of
 * the task, and of the content that it reads, are thrown here.
 *
 * @param module of the thread, beside the module with this URL, without extension; it calls `serveIsolated`.
 */
export async function* runIsolated<Item, Result>(
  [module, base]: readonly [module: string, base: string],
  input: unknown,
  { cpuMs, heapMib, signal, open, refused }: IsolationOptions,
): AsyncGenerator<Item, Result> {
  signal?.throwIfAborted();
  const worker = new Worker(threadScript(module, base), {
    eval: true,
    workerData: input,
    // The flags of the process are not passed to the thread: `--input-type` alone would prevent its start.
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: BACKSTOP * heapMib },
  });
  const contents = new Map<number, AsyncIterator<Uint8Array>>();
  let bytes = 0;
  let failure: { readonly error: unknown } | undefined;
  let arrived = Promise.withResolvers<FromThread<Item, Result>>();
  const fail = (error: unknown) => {
    failure ??= { error };
    // Nobody may be waiting for it: the caller may still work on the item before.
    arrived.promise.catch(() => undefined);
    arrived.reject(error);
  };
  const send = (message: ToThread) =>
    worker.postMessage(message, 'chunk' in message && message.chunk ? [message.chunk.buffer] : []);

  const pull = async (stream: number, part: string) => {
    const content = contents.get(stream) ?? open?.(part)[Symbol.asyncIterator]();
    if (content === undefined) throw new TypeError('the task has no content to read');
    contents.set(stream, content);
    const { done, value } = await content.next();
    if (done !== true) bytes += value.length;
    send({ kind: 'chunk', stream, chunk: done === true ? null : new Uint8Array(value) });
  };
  worker.on('message', (message: FromThread<Item, Result>) => {
    if (message.kind === 'pull') pull(message.stream, message.part).catch(fail);
    else if (message.kind === 'close') contents.get(message.stream)?.return?.().catch(fail);
    else arrived.resolve(message);
  });
  worker.on('error', (error) => {
    fail(errors.codeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY' ? refused(`${heapMib} MiB of memory`) : error);
  });
  worker.on('exit', () => fail(new TypeError('the thread of a task ended without a result')));
  const onAbort = () => fail(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const watch = async () => {
    const [{ user, system }, { total_heap_size: heap, external_memory: external }] = await Promise.all([
      worker.cpuUsage(),
      worker.getHeapStatistics(),
    ]);
    const allowedMs = cpuMs + (bytes / MIB) * CPU_MS_PER_MIB;
    if ((user + system) / 1000 > allowedMs)
      fail(refused(`${Math.round(allowedMs / 1000)} s of processor time`));
    if (heap > heapMib * MIB || external > MAX_EXTERNAL * heapMib * MIB)
      fail(refused(`${heapMib} MiB of memory`));
  };
  let watching = false;
  const polling = setInterval(() => {
    if (watching) return;
    watching = true;
    // It fails when the thread has ended, which `exit` reports.
    watch()
      .catch(() => undefined)
      .finally(() => {
        watching = false;
      });
  }, POLL_MS);
  try {
    for (;;) {
      const message = await arrived.promise;
      if (failure !== undefined) throw failure.error;
      if (message.kind === 'failed') throw raisedError(message.error);
      if (message.kind === 'result') return message.result;
      if (message.kind !== 'item') continue;
      arrived = Promise.withResolvers();
      send({ kind: 'next' });
      yield message.item;
    }
  } finally {
    clearInterval(polling);
    signal?.removeEventListener('abort', onAbort);
    await worker.terminate();
    for (const content of contents.values()) await content.return?.();
  }
}

/** The result of a task without items. */
export async function isolatedResult<Result>(
  ...[module, input, options]: Parameters<typeof runIsolated>
): Promise<Result> {
  const { value } = await runIsolated<never, Result>(module, input, options).next();
  return value;
}

/**
 * The program of a thread: its module, with the compile cache if the process has one. Otherwise the thread would
 * strip the types of a dozen modules again: 110 ms instead of 40. Plain JavaScript, because the type stripper alone
 * takes half of that.
 */
export function threadScript(module: string, base: string): string {
  const path = fileURLToPath(new URL(`./${module}${extname(base)}`, base));
  const cache = getCompileCacheDir() === undefined ? '' : "require('node:module').enableCompileCache();";
  return `${cache} require(${JSON.stringify(path)});`;
}

/** The error that was made plain in another thread. */
export function raisedError({ name, message, stack, details }: PlainError): Error {
  const kinds: Readonly<Record<string, unknown>> = errors;
  const kind = kinds[name];
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  if (typeof kind !== 'function') return error;
  return Object.setPrototypeOf(Object.assign(error, { name }, details), kind.prototype);
}

/** Content by its name; each call reads it from its beginning. */
type OpenContent = (part: string) => AsyncIterable<Uint8Array>;

/**
 * Runs the task of this thread, which `runIsolated` has started: sends what it yields, and then its result or its error. A
 * task without items is a promise.
 */
export function serveIsolated<Input>(
  task: (input: Input, open: OpenContent) => AsyncGenerator<unknown, unknown> | Promise<unknown>,
): void {
  if (parentPort === null) return;
  const port = parentPort;
  const send = (message: FromThread<unknown, unknown>) => port.postMessage(message);
  const chunks = new Map<number, (chunk: Uint8Array | null) => void>();
  let next = Promise.withResolvers<void>();
  port.on('message', (message: ToThread) => {
    if (message.kind === 'next') next.resolve();
    else chunks.get(message.stream)?.(message.chunk);
  });
  let streams = 0;
  const open: OpenContent = async function* (part) {
    streams += 1;
    const stream = streams;
    let ended = false;
    try {
      for (;;) {
        const chunk = await new Promise<Uint8Array | null>((resolve) => {
          chunks.set(stream, resolve);
          send({ kind: 'pull', stream, part });
        });
        ended = chunk === null;
        if (chunk === null) return;
        yield chunk;
      }
    } finally {
      chunks.delete(stream);
      if (!ended) send({ kind: 'close', stream });
    }
  };
  const run = async () => {
    const items = task(workerData, open);
    if (items instanceof Promise) return send({ kind: 'result', result: await items });
    for (;;) {
      const { done, value } = await items.next();
      if (done === true) return send({ kind: 'result', result: value });
      next = Promise.withResolvers();
      send({ kind: 'item', item: value });
      await next.promise;
    }
  };
  run().catch((error: unknown) => send({ kind: 'failed', error: plainError(error) }));
}

/** An error as a thread can send it. */
export function plainError(error: unknown) {
  if (!(error instanceof Error)) return { name: '', message: String(error), stack: undefined, details: {} };
  const { name, message, stack } = error;
  const isOurs = error instanceof errors.StoreferryError;
  // The cause of an error may be anything, also what cannot be sent.
  const { cause: _, ...details } = isOurs ? { ...error } : {};
  return {
    name: isOurs ? name : '',
    message,
    stack,
    /** The other properties of the class. */
    details,
  };
}
