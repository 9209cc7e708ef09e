import { InterruptedError } from '../model/storeferry-error.ts';

/** Set by the dashboard for a command that it starts, to the names of the person who asks for it, each a line; the two communicate over Node's IPC channel. */
export const CHILD_VARIABLE = 'STOREFERRY_CHILD';

/** The message of a command to the dashboard that started it. */
export interface ChildMessage {
  /** The run of the command. */
  readonly run: string;
}

/** The dashboard that started this command. */
export interface ParentProcess {
  /** The names of the person who asks for the command. */
  readonly actors: readonly string[];
  /** Aborts when the dashboard has ended or wants the command to end. */
  readonly gone: AbortSignal;
  sendRun(run: string): void;
}

/** The dashboard that started this process; undefined for a command that a person or a schedule started. */
export function parentProcess(): ParentProcess | undefined {
  const names = process.env[CHILD_VARIABLE];
  if (names === undefined || process.channel === undefined) return undefined;
  const controller = new AbortController();
  process.once('disconnect', () =>
    controller.abort(new InterruptedError('Interrupted: the dashboard that began it has ended.')),
  );
  // Listening must not keep the process alive.
  process.channel.unref();
  return {
    actors: names.split('\n').filter((name) => name !== ''),
    gone: controller.signal,
    sendRun(run) {
      if (process.connected) process.send?.({ run } satisfies ChildMessage, undefined, undefined, () => {});
    },
  };
}
