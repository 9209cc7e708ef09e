import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type ChildProcess,
  type ChildProcessByStdio,
  type ChildProcessWithoutNullStreams,
  type SpawnOptions,
  type SpawnOptionsWithoutStdio,
  type SpawnOptionsWithStdioTuple,
  type StdioNull,
  type StdioPipe,
  spawn,
  spawnSync,
} from 'node:child_process';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/*
 * The only place under test/ that starts processes. What a test starts belongs to that test, and what no test starts
 * (a `beforeAll`, a module) to its file. It ends with its owner, however that ends:
 * - the test passes, fails or times out: `runOwning` ends it (end-with-tests.ts wraps every test);
 * - the file is over: `endAll`; this process exits: the 'exit' listener;
 * - this process is killed, SIGKILL included: a reaper that waits for the end of a pipe.
 */

/** Something that was started, and how it is ended. */
interface Owned {
  /** Ends it from this process; after a while nothing of it is left. */
  readonly end: () => unknown;
  /** Ends it from a shell, when this process is gone; null for what lives within this process. */
  readonly command: string | null;
}

class Owner {
  readonly #owned = new Map<number, Owned>();
  readonly #over = new AbortController();

  /** Aborted when the owner is over. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  add(owned: Owned): () => void {
    const id = ++lastId;
    if (this.over.aborted) {
      owned.end();
      throw new Error('The test that starts this is over.');
    }
    this.#owned.set(id, owned);
    if (owned.command !== null) tellReaper(`+ ${id} ${owned.command}`);
    return () => {
      if (this.#owned.delete(id) && owned.command !== null) tellReaper(`- ${id}`);
    };
  }

  /** Ends what is left, the last started first. */
  async end(): Promise<void> {
    this.#over.abort(new Error('The test is over.'));
    const left = [...this.#owned.entries()].reverse();
    this.#owned.clear();
    await Promise.all(left.map(([, owned]) => owned.end()));
    for (const [id, { command }] of left) if (command !== null) tellReaper(`- ${id}`);
  }

  /** For the 'exit' event, after which nothing is waited for. */
  endAtExit(): void {
    for (const { end } of [...this.#owned.values()].reverse()) end();
  }
}

let lastId = 0;
let file = new Owner();
const tests = new Set<Owner>();
const current = new AsyncLocalStorage<Owner>();

process.on('exit', () => {
  for (const owner of [...tests, file]) owner.endAtExit();
});

/** Runs one test: what it starts, and its hooks, ends with it. */
export async function runOwning(test: () => Promise<void>): Promise<void> {
  const owner = new Owner();
  tests.add(owner);
  try {
    await current.run(owner, test);
  } finally {
    await owner.end();
    tests.delete(owner);
  }
}

/** Ends all that is left when a file is over; the next one of this process, where files share one, begins with nothing. */
export async function endAll(): Promise<void> {
  const over = file;
  file = new Owner();
  await Promise.all([...tests, over].map((owner) => owner.end()));
}

/** Starts something that belongs to the file, though a test starts it: the next tests use it too. */
export function ownedByFile<T>(start: () => T): T {
  return current.exit(start);
}

/** Aborted when the running test is over, such as after its timeout: loops of tests end by it. */
export function testOver(): AbortSignal {
  return (current.getStore() ?? file).over;
}

/**
 * Ends something with the running test, unless what this returns is called before. `command` ends it from a shell, for
 * what outlives this process, such as a mount.
 */
export function endWithTest(end: () => unknown, command: string | null = null): () => void {
  return (current.getStore() ?? file).add({ end, command });
}

type Output<In extends StdioNull | StdioPipe, Err extends StdioNull | StdioPipe> = SpawnOptionsWithStdioTuple<
  In,
  StdioPipe,
  Err
>;
type Args = readonly string[];

/** Starts a process, as `spawn` does, in a group of its own: the whole group is killed when the test is over. */
export function startProcess(
  command: string,
  args: Args,
  options?: SpawnOptionsWithoutStdio,
): ChildProcessWithoutNullStreams;
export function startProcess(
  command: string,
  args: Args,
  options: Output<StdioNull, StdioPipe>,
): ChildProcessByStdio<null, Readable, Readable>;
export function startProcess(
  command: string,
  args: Args,
  options: Output<StdioNull, StdioNull>,
): ChildProcessByStdio<null, Readable, null>;
export function startProcess(
  command: string,
  args: Args,
  options: Output<StdioPipe, StdioNull>,
): ChildProcessByStdio<Writable, Readable, null>;
export function startProcess(command: string, args: Args, options: SpawnOptions): ChildProcess;
export function startProcess(command: string, args: Args, options: SpawnOptions = {}): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  const { pid } = child;
  // It could not be started; 'error' says why.
  if (pid === undefined) return child;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const release = endWithTest(() => {
    signalGroup(pid, 'SIGKILL');
    return child.exitCode === null && child.signalCode === null ? exited : undefined;
  }, `kill -KILL -${pid}`);
  // What it has started itself may still run in its group.
  child.once('exit', () => {
    if (!signalGroup(pid, 0)) release();
  });
  return child;
}

/** Starts a script in a process of its own that messages can be sent to, as `fork` does. */
export function forkProcess(script: URL, args: Args): ChildProcess {
  const stdio: SpawnOptions['stdio'] = ['inherit', 'inherit', 'inherit', 'ipc'];
  return startProcess(process.execPath, [fileURLToPath(script), ...args], { stdio });
}

/** Signals a process and all that it has started; false when none of them is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

/** How a process ended, and what it printed. */
export interface EndedProcess {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a process and waits for its end, whatever its exit code. */
export async function runProcess(
  command: string,
  args: Args,
  options: SpawnOptionsWithoutStdio = {},
): Promise<EndedProcess> {
  const child = startProcess(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** The same; throws with what it printed where it fails. */
export async function runOrThrow(
  command: string,
  args: Args,
  options: SpawnOptionsWithoutStdio = {},
): Promise<EndedProcess> {
  const ended = await runProcess(command, args, options);
  if (ended.code === 0) return ended;
  throw new Error(`${command} ${args.join(' ')} ended with ${ended.code}: ${ended.stdout}${ended.stderr}`);
}

/** Whether a short command of the system succeeds; false also where the program is missing. */
export function succeeds(command: string, ...args: Args): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

const REAPER = join(import.meta.dirname, 'reaper.sh');
let reaper: Writable | undefined;

function tellReaper(line: string): void {
  if (reaper === undefined) {
    const child = spawn('sh', [REAPER], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    child.unref();
    if (child.stdin instanceof Socket) child.stdin.unref();
    reaper = child.stdin;
  }
  reaper.write(`${line}\n`);
}
