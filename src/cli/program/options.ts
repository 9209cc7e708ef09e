import { InvalidArgumentError } from 'commander';

/** The end of a command's help. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ storeferry ${line}`).join('\n')}\n`;
}

/** Parses an option, both ends included; InvalidArgumentError names them. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** Parses an option from 0 to 1. */
export function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Expected a share from 0 to 1, such as 0.05.');
}

/** Parses one of several `NAME=VALUE` and adds it to those before. */
export function nameAndValue(
  text: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name]: value };
  throw new InvalidArgumentError('Expected NAME=VALUE.');
}

/** As every command has it whose result programs read. */
export const JSON_OPTION = [
  '--json',
  'print the result as one JSON object, the last line of standard output',
] as const;
