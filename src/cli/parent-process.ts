import { InterruptedError } from '../model/storeferry-error.ts';

/** Set by the dashboard for a command that it starts and with which it communicates with it over Node's IPC channel. */
export const CHILD_VARIABLE = 'STOREFERRY_CHILD';

/** The message of a command to the dashboard that started it. */
export interface ChildMessage {
  /** The run of the command. */
  readonly run: string;
}

/** The dashboard that started this command. */
export interface ParentProcess {
  /** Aborts when the dashboard has ended or wants the command to end. */
  readonly gone: AbortSignal;
  sendRun(run: string): void;
}

/** The dashboard that started this process; undefined for a command that a person or a schedule started. */
export function parentProcess(): ParentProcess | undefined {
  if (process.env[CHILD_VARIABLE] === undefined || process.channel === undefined) return undefined;
  const controller = new AbortController();
  process.once('disconnect', () =>
    controller.abort(new InterruptedError('Interrupted: the dashboard that began it has ended.')),
  );
  // Listening must not keep the process alive.
  process.channel.unref();
  return {
    gone: controller.signal,
    sendRun(run) {
      if (process.connected) process.send?.({ run } satisfies ChildMessage, undefined, undefined, () => {});
    },
  };
}
