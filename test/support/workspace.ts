import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type EndedProcess, startProcess } from './processes.ts';
import { runWarm } from './warm-command.ts';

/** The command to test: `STOREFERRY_MAIN=dist/cli/main.js` is what `npm run build` makes. */
export const storeferryMain = () =>
  resolve(import.meta.dirname, '..', '..', process.env['STOREFERRY_MAIN'] ?? 'src/cli/main.ts');

/** What a process reads once when it starts, and commands that are processes to stay or to start others. */
const OF_A_START = /^(?:NODE|LD|TZ|LANG|LC|NO_COLOR|FORCE_COLOR|SSL|UV)(?:_|$)/;
const LONG_COMMANDS = new Set(['worker', 'dashboard', 'sandbox', 'demo']);

/** How a command ended. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The last line of standard output, as JSON: what `--json` prints. */
  json(): Record<string, unknown>;
}

/** A command under way. */
export interface RunningCommand {
  readonly process: ChildProcess;
  readonly ended: Promise<CommandResult>;
  /** What it has printed by now. */
  stdout(): string;
  stderr(): string;
  /** Resolves when the text has appeared on either output. */
  printed(text: string): Promise<void>;
}

/** A workspace in a temporary folder, with `storeferry` to type in it. */
export interface Workspace extends AsyncDisposable {
  readonly dir: string;
  /** Writes a file, making its folders. */
  write(name: string, content: string): Promise<void>;
  /** Starts a process for a command, such as one that is signalled. */
  start(...args: readonly string[]): RunningCommand;
  /** Runs a command to its end. */
  storeferry(...args: readonly string[]): Promise<CommandResult>;
}

/**
 * Makes a workspace; `env` is all that commands see of the environment besides PATH and HOME, `before` stands before
 * each of them, such as a program that puts them elsewhere.
 */
export async function makeWorkspace(
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
  before: readonly string[] = [],
): Promise<Workspace> {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-test-'));
  const running = new Set<ChildProcess>();
  const write = async (name: string, content: string): Promise<void> => {
    const path = join(dir, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  };
  for (const [name, content] of Object.entries(files)) await write(name, content);

  const environment = { PATH: process.env['PATH'] ?? '', HOME: dir, ...env };
  const start = (...args: readonly string[]): RunningCommand => {
    const [program = process.execPath, ...words] = [
      ...before,
      process.execPath,
      storeferryMain(),
      '-C',
      dir,
      ...args,
    ];
    const child = startProcess(program, words, {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    let stdout = '';
    let stderr = '';
    const watchers = new Set<() => void>();
    const heard = () => {
      for (const watch of watchers) watch();
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      heard();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      heard();
    });
    const ended = new Promise<CommandResult>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        running.delete(child);
        resolve(commandResult({ code, stdout, stderr }));
      });
    });
    const printed = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const watch = () => {
          if (!stdout.includes(text) && !stderr.includes(text)) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
        watch();
        ended.then(() => reject(new Error(`ended before it printed '${text}': ${stdout}${stderr}`)), reject);
      });
    return { process: child, ended, stdout: () => stdout, stderr: () => stderr, printed };
  };

  const isCold = before.length > 0 || Object.keys(env).some((name) => OF_A_START.test(name));
  return {
    dir,
    write,
    start,
    async storeferry(...args) {
      if (isCold || LONG_COMMANDS.has(args[0] ?? '')) return start(...args).ended;
      return commandResult(await runWarm(storeferryMain(), ['-C', dir, ...args], environment));
    },
    async [Symbol.asyncDispose]() {
      for (const child of running) child.kill('SIGKILL');
      await rm(dir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

function commandResult(ended: EndedProcess): CommandResult {
  return { ...ended, json: () => JSON.parse(ended.stdout.trimEnd().split('\n').at(-1) ?? '') };
}
