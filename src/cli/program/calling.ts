import type { Invocation } from '../invocation.ts';

/** What the action of a command is given, and where its exit code goes. */
export interface Calling {
  /** As typed; to be asked when the command line has been read. */
  readonly invocation: () => Invocation;
  readonly finish: (code: number) => void;
}
