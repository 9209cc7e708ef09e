import { ConfigurationError, formatPlace, StoreferryError } from '../model/errors.ts';
import type { Terminal } from './terminal.ts';

/** Prints what went wrong and what to do; gives the exit code. An error that is not ours is a bug: it shows its stack. */
export function printError(terminal: Terminal, error: unknown): number {
  if (error instanceof ConfigurationError) {
    terminal.err(`${error.message}\n`);
    if (error.hint !== undefined) terminal.err(`${error.hint}\n`);
    return error.exitCode;
  }
  if (error instanceof StoreferryError) {
    const place = error.place === undefined ? '' : `${formatPlace(error.place)}: `;
    terminal.err(`${place}${error.message}\n`);
    if (error.hint !== undefined) terminal.err(`${error.hint}\n`);
    return error.exitCode;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.err(`This is a bug in Storeferry, please report it:\n${stack}\n`);
  return 1;
}
