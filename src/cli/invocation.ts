import type { Terminal } from './terminal.ts';

/** What every command is given besides its own arguments. */
export interface Invocation {
  readonly terminal: Terminal;
  /** The workspace folder, as given to -C. */
  readonly directory: string;
  /** How a further command for the same workspace begins, as it was typed: `storeferry -C shop`. */
  readonly program: string;
}
