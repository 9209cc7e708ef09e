import { ConfigurationError, formatPlace, StoreferryError } from '../model/errors.ts';
import { printableLines } from '../report/wording/printable.ts';
import type { Terminal } from './terminal.ts';
import { withProgram } from './typed-program.ts';

/**
 * Prints what went wrong and what to do; gives the exit code. An error that is not ours is a bug: it shows its stack.
 * Commands in hints begin with `program`, so that they reach the same workspace when they are copied.
 */
export function printError(terminal: Terminal, error: unknown, program = 'storeferry'): number {
  if (error instanceof StoreferryError) {
    // The problems of a configuration tell their places themselves.
    const told = error instanceof ConfigurationError || error.place === undefined;
    terminal.err(`${printableLines(`${told ? '' : `${formatPlace(error.place)}: `}${error.message}`)}\n`);
    if (error.hint !== undefined) terminal.err(`${printableLines(withProgram(error.hint, program))}\n`);
    return error.exitCode;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.err(`This is a bug in Storeferry, please report it:\n${stack}\n`);
  return 1;
}
