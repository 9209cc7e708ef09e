import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startProcess } from '../support/processes.ts';
import type { Opening } from './child.ts';

/** A process that works on the state until it is killed. */
export interface Child extends AsyncDisposable {
  /** Every line it has printed. */
  readonly lines: readonly string[];
  /** Waits until it prints a line that starts so. */
  saying(start: string): Promise<string>;
  kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** SIGKILL, and waits until it is gone. */
  end(): Promise<void>;
}

export function startChild(opening: Opening, task: 'hold' | 'record', lock: string): Child {
  const child = startProcess(
    process.execPath,
    [join(import.meta.dirname, 'child.ts'), JSON.stringify(opening), task, lock],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  // Not 'exit': its last lines may still be on their way then.
  const exited = once(child, 'close');
  const output = createInterface(child.stdout);
  const lines: string[] = [];
  output.on('line', (line) => lines.push(line));
  const end = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    lines,
    async saying(start) {
      for (;;) {
        const line = lines.find((said) => said.startsWith(start));
        if (line !== undefined) return line;
        await Promise.race([
          once(output, 'line'),
          exited.then(() => Promise.reject(new Error(`child ended: ${lines.at(-1)}`))),
        ]);
      }
    },
    kill: (signal) => void child.kill(signal),
    end,
    [Symbol.asyncDispose]: end,
  };
}
