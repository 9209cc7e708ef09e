import type { ChildProcess } from 'node:child_process';
import { patience } from './pace.ts';
import { startProcess, succeeds } from './processes.ts';
import { storeferryMain } from './workspace.ts';

const APPEARS_WITHIN_MS = patience(120_000);

/** Whether a pseudo-terminal can be had: by `script` of util-linux, which every Linux has. */
export const hasPseudoTerminal = process.platform === 'linux' && succeeds('script', '--version');

/** A command at a terminal, and somebody who types. */
export interface TerminalSession extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Resolves when the text has appeared since the last time; escape sequences are taken out. */
  sees(text: string): Promise<void>;
  type(keys: string): void;
  /** The exit code, when it is over. */
  readonly ended: Promise<number | null>;
  /** All that was shown, escape sequences taken out. */
  shown(): string;
}

export const KEYS = { enter: '\r', down: '\u001b[B', interrupt: '\u0003', endOfInput: '\u0004' } as const;

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]|\u001b[78=>]|\r/g;

/** Types `storeferry` at a pseudo-terminal. */
export function startAtTerminal(
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): TerminalSession {
  const words = [process.execPath, storeferryMain(), ...args].map(
    (word) => `'${word.replaceAll("'", "'\\''")}'`,
  );
  const child = startProcess('script', ['-qfec', `stty cols 200; exec ${words.join(' ')}`, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  let seen = 0;
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).replaceAll(ESCAPES, '');
    for (const watch of watchers) watch();
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return {
    process: child,
    ended,
    shown: () => output,
    type: (keys) => void child.stdin.write(keys),
    sees: (text) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(
          () => reject(new Error(`'${text}' did not appear in time:\n${output.slice(seen)}`)),
          APPEARS_WITHIN_MS,
        );
        const watch = () => {
          const at = output.indexOf(text, seen);
          if (at < 0) return;
          seen = at + text.length;
          watchers.delete(watch);
          clearTimeout(late);
          resolve();
        };
        watchers.add(watch);
        watch();
        ended.then(() => reject(new Error(`ended without showing '${text}':\n${output}`)), reject);
      }),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
