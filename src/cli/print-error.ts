import {
  ConfigurationError,
  type ConfigurationProblem,
  firstError,
  formatPlace,
  StoreferryError,
} from '../model/storeferry-error.ts';
import { printableLines } from '../text/printable.ts';
import type { Invocation } from './define-command.ts';
import type { Terminal } from './terminal.ts';
import { placeFromHere, withProgram } from './typed-program.ts';

/**
 * Prints the error and what to do; returns the exit code. An unexpected error is a bug and is printed with its stack.
 * Commands in hints begin with `program`, so that they use the same workspace when copied; places in its files open
 * from the current folder.
 */
export function printError(
  terminal: Terminal,
  given: unknown,
  { program, directory }: Pick<Invocation, 'program' | 'directory'>,
): number {
  const error = firstError(given);
  if (error instanceof StoreferryError) {
    terminal.err(`${printableLines(explained(error, directory))}\n`);
    if (error.hint !== undefined) terminal.err(`${printableLines(withProgram(error.hint, program))}\n`);
    return error.exitCode;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.err(`This is a bug in Storeferry, please report it:\n${stack}\n`);
  return 1;
}

function explained(error: StoreferryError, directory: string) {
  const line = ({ place, message }: ConfigurationProblem) =>
    `${formatPlace(placeFromHere(directory, place))}: ${message}`;
  if (error instanceof ConfigurationError) return error.problems.map(line).join('\n');
  const { place, message } = error;
  return place === undefined ? message : line({ place, message });
}
