import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Action, commandFor } from '../../model/action.ts';
import { MAIN } from '../package-version.ts';
import { CHILD_VARIABLE, type ChildMessage } from '../parent-process.ts';

/** The end of its messages contains the reason of a failure. */
const WORDS_KEPT = 16_384;

/** How a command ended. */
export interface ChildEnd {
  /** Null if a signal ended it. */
  readonly code: number | null;
  /** Its messages on standard error. */
  readonly words: string;
}

/** A command of Storeferry in its own process. */
export type ChildCommand = ReturnType<typeof startChildCommand>;

/**
 * Starts `storeferry ARGUMENTS` for a person with these names; `onRun` is called with the id of its run. The command ends
 * when this process does.
 */
export function startChildCommand(
  args: readonly string[],
  onRun: (run: string) => void,
  actors: readonly string[] = [],
) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, [CHILD_VARIABLE]: actors.join('\n'), NO_COLOR: '1' },
  });
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-WORDS_KEPT);
  });
  child.on('message', (message) => {
    if (isChildMessage(message)) onRun(message.run);
  });
  const ended = endOf(child).then(
    (code): ChildEnd => ({ code, words }),
    (error: Error): ChildEnd => ({ code: null, words: `It could not be started: ${error.message}` }),
  );
  return {
    ended,
    /** Requests its end, like Ctrl-C: requests in flight are finished, and the next run of the job continues. */
    interrupt: () => {
      if (child.connected) child.disconnect();
    },
  };
}

/**
 * Its exit code, after all its output and messages. The event `close` would have it too, but never comes if this side
 * closed the channel.
 */
async function endOf(child: ChildProcess): Promise<number | null> {
  const silent = child.stderr === null ? [] : [once(child.stderr, 'close')];
  const [[code]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect'), ...silent]);
  return typeof code === 'number' ? code : null;
}

function isChildMessage(message: unknown): message is ChildMessage {
  return (
    typeof message === 'object' && message !== null && 'run' in message && typeof message.run === 'string'
  );
}

/** The arguments of the command that does an action in the workspace of a folder. */
export function argumentsOf(action: Action, directory: string): string[] {
  const workspace = directory === '.' ? [] : ['-C', directory];
  const { name, words, options } = commandFor(action);
  // The words come last, even if one looks like an option.
  return [...workspace, name, '--json', ...options, '--', ...words];
}
