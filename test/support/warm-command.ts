import type { ChildProcess } from 'node:child_process';
import { dirname, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { CommandRequest } from './command-process.ts';
import { type EndedProcess, endWithTest, ownedByFile, signalGroup, startProcess } from './processes.ts';

/*
 * Starting a program costs several times what most commands of a test do. They are run by processes that have it loaded
 * already, one command at a time in each.
 */

/** Runs a command as a process of its own would, in one that has the program (`main`) loaded already. */
export async function runWarm(
  main: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<EndedProcess> {
  const warm = takeIdle(main) ?? ownedByFile(() => new WarmProcess(main));
  const release = endWithTest(() => warm.kill());
  try {
    return await warm.run(args, env);
  } finally {
    release();
    idle.add(warm);
  }
}

const idle = new Set<WarmProcess>();

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
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  readonly #output: { stdout: string; stderr: string } = { stdout: '', stderr: '' };
  #printed = () => {};

  constructor(main: string) {
    this.main = main;
    const script = join(import.meta.dirname, 'command-process.ts');
    this.#child = startProcess(process.execPath, [script, dirname(main), extname(main)], {
      // Otherwise each of these processes strips the types of the script.
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#collect('stdout', this.#child.stdout);
    this.#collect('stderr', this.#child.stderr);
  }

  #collect(name: 'stdout' | 'stderr', stream: Readable | null): void {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      this.#output[name] += text;
      this.#printed();
    });
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  kill(): void {
    if (this.#child.pid !== undefined) signalGroup(this.#child.pid, 'SIGKILL');
  }

  async run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<EndedProcess> {
    const end = `\0end of command ${++requests}\0`;
    const output = this.#output;
    output.stdout = '';
    output.stderr = '';
    const code = new Promise<number | null>((resolve) =>
      this.#child.once('message', (sent) => resolve(Number(sent))),
    );
    const isPrinted = new Promise<void>((resolve) => {
      this.#printed = () => {
        if (output.stdout.endsWith(end) && output.stderr.endsWith(end)) resolve();
      };
    });
    this.#child.send({ args, env, end } satisfies CommandRequest);
    // A command that ends its process ends as one of its own does.
    const ended = await Promise.race([Promise.all([code, isPrinted]).then(([code]) => code), this.#ended]);
    return { code: ended, stdout: output.stdout.replace(end, ''), stderr: output.stderr.replace(end, '') };
  }
}
