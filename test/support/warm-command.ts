import type { ChildProcess } from 'node:child_process';
import { dirname, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { CommandRequest } from './command-process.ts';
import {
  type EndedProcess,
  endWithTest,
  ownedByFile,
  ownedByProcess,
  signalGroup,
  startProcess,
} from './processes.ts';

/*
 * Starting a program costs several times what most commands of a test do. They are run by processes that have it loaded
 * already, one command at a time in each. One is kept for the next files.
 */

/** A command in a process that has the program (`main`) loaded already. */
export interface WarmCommand {
  readonly process: ChildProcess;
  readonly ended: Promise<EndedProcess>;
  /** What it has printed by now. */
  readonly output: () => Pick<EndedProcess, 'stdout' | 'stderr'>;
  /** Calls back after each output. */
  readonly onOutput: (heard: () => void) => void;
}

/** Starts a command as a process of its own would run it. */
export function startWarm(
  main: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): WarmCommand {
  const warm = takeIdle(main) ?? startProcessOf(main);
  const release = endWithTest(() => warm.kill());
  const ended = warm.run(args, env).finally(() => {
    release();
    idle.add(warm);
  });
  return {
    process: warm.process,
    ended,
    output: () => warm.output(),
    onOutput: (heard) => warm.onOutput(heard),
  };
}

const idle = new Set<WarmProcess>();

let kept: WarmProcess | undefined;

function startProcessOf(main: string): WarmProcess {
  if (kept?.isAlive) return ownedByFile(() => new WarmProcess(main));
  kept = ownedByProcess(() => new WarmProcess(main));
  return kept;
}

function takeIdle(main: string): WarmProcess | undefined {
  for (const warm of idle) {
    if (!warm.isAlive) idle.delete(warm);
    else if (warm.main === main) {
      idle.delete(warm);
      return warm;
    }
  }
  return undefined;
}

let requests = 0;

class WarmProcess {
  readonly main: string;
  readonly process: ChildProcess;
  readonly #ended: Promise<number | null>;
  #output: Pick<EndedProcess, 'stdout' | 'stderr'> = { stdout: '', stderr: '' };
  #end = '';
  #listeners = new Set<() => void>();

  constructor(main: string) {
    this.main = main;
    const script = join(import.meta.dirname, 'command-process.ts');
    this.process = startProcess(process.execPath, [script, dirname(main), extname(main)], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#ended = new Promise((resolve) => this.process.once('close', resolve));
    this.#collect('stdout', this.process.stdout);
    this.#collect('stderr', this.process.stderr);
  }

  #collect(name: 'stdout' | 'stderr', stream: Readable | null): void {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      this.#output = { ...this.#output, [name]: this.#output[name] + text };
      for (const heard of this.#listeners) heard();
    });
  }

  get isAlive(): boolean {
    return this.process.connected;
  }

  kill(): void {
    if (this.process.pid !== undefined) signalGroup(this.process.pid, 'SIGKILL');
  }

  output(): Pick<EndedProcess, 'stdout' | 'stderr'> {
    const { stdout, stderr } = this.#output;
    return { stdout: stdout.replace(this.#end, ''), stderr: stderr.replace(this.#end, '') };
  }

  onOutput(heard: () => void): void {
    this.#listeners.add(heard);
  }

  async run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<EndedProcess> {
    const end = `\0end of command ${++requests}\0`;
    this.#end = end;
    this.#output = { stdout: '', stderr: '' };
    this.#listeners = new Set();
    const code = new Promise<number | null>((resolve) =>
      this.process.once('message', (sent) => resolve(Number(sent))),
    );
    const isPrinted = new Promise<void>((resolve) =>
      this.onOutput(() => {
        if (this.#output.stdout.endsWith(end) && this.#output.stderr.endsWith(end)) resolve();
      }),
    );
    this.process.send({ args, env, end } satisfies CommandRequest);
    // A command that ends its process ends as one of its own does.
    const ended = await Promise.race([Promise.all([code, isPrinted]).then(([code]) => code), this.#ended]);
    return { code: ended, ...this.output() };
  }
}
