import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../model/storeferry-error.ts';
import { printable } from '../text/printable.ts';
import type { InterruptSignal } from './interrupt-signal.ts';
import type { Terminal } from './terminal.ts';

/** The input that every command gets besides its own arguments. */
export interface Invocation {
  readonly terminal: Terminal;
  /** The workspace folder, as typed after -C. */
  readonly directory: string;
  /** The beginning of further commands for the same workspace, as it was typed: `storeferry -C shop`. */
  readonly program: string;
  readonly interruptSignal: InterruptSignal;
  /** All commands of the program. */
  readonly commands: readonly RegisteredCommand[];
}

/** An argument of a command. */
interface Argument {
  readonly what: string;
  readonly required: boolean;
  /** It takes all words that follow. */
  readonly many?: boolean;
}

/** An option of a command. For example, `--requests-per-second` has the key `requestsPerSecond`. */
interface CommandOption<Value> {
  readonly what: string;
  /** The name of its value in help; null for a flag. */
  readonly value: string | null;
  /** The value if the option is not given. */
  readonly fallback: Value;
  /** Parses the typed text; `before` is the previous value of an option that is given several times. */
  parse?(text: string, before: Value): Value;
}

/** The values of options by key. */
export type ValuesOf<Options> = {
  readonly [Key in keyof Options]: Options[Key] extends CommandOption<infer Value> ? Value : never;
};

/** What was typed as the arguments of a command, by their names. */
export type TextsOf<Arguments> = {
  readonly [Key in keyof Arguments]: Arguments[Key] extends { readonly many: true }
    ? readonly string[]
    : Arguments[Key] extends { readonly required: true }
      ? string
      : string | undefined;
};

/** Of a command that prints a run, also where it was refused: what that has, in words. */
interface PrintedRun {
  readonly ofRun: string;
}

/** The options of a command, and whether it prints JSON, which only a command with `json` does. */
export type Typed<Options> = ValuesOf<Options> & { readonly json: boolean };

/** A command without its name and summary, which are in `COMMANDS`. */
export interface CommandParts<Arguments, Options> {
  readonly arguments: Arguments;
  readonly options: Options;
  /** Additional text for its help, in lines of at most 120 characters. */
  readonly notes?: string;
  /** Command lines without `storeferry`. */
  readonly examples: readonly string[];
  /** What `--json` prints, for the reference; absent: there is no such option. */
  readonly json?: string | PrintedRun;
  /** Does the work and returns the exit code. */
  run(invocation: Invocation, texts: TextsOf<Arguments>, options: Typed<Options>): Promise<number>;
}

export type AnyArguments = Readonly<Record<string, Argument>>;
export type AnyOptions = Readonly<Record<string, CommandOption<unknown>>>;

/** A command for the command line and for the reference. */
export interface CommandDefinition extends Omit<CommandParts<AnyArguments, AnyOptions>, 'run'> {
  /** Adds arguments, options and help; `finish` is called with the exit code. */
  addTo(command: Command, invocation: () => Invocation, finish: (code: number) => void): void;
}

/** A command by its name: its line in `storeferry --help`, and its definition, which is loaded on first use. */
export interface RegisteredCommand {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<CommandDefinition>;
  /** Names of the command in other programs, for suggestions. */
  readonly otherNames: readonly string[];
}

/** Defines a command. The keys of arguments and options determine the types of `run`. */
export function defineCommand<const Arguments extends AnyArguments, Options extends AnyOptions>(
  parts: CommandParts<Arguments, Options>,
): CommandDefinition & Pick<CommandParts<Arguments, Options>, 'run'> {
  const options = { ...parts.options, ...(parts.json !== undefined && { json: JSON_FLAG }) };
  return {
    ...parts,
    options,
    addTo(command, invocation, finish) {
      const { notes = '', examples } = parts;
      for (const [name, argument] of Object.entries<Argument>(parts.arguments))
        command.argument(argumentUsage(name, argument), argument.what);
      for (const [key, option] of Object.entries(options)) {
        command.addOption(toOption(key, option));
        command.setOptionValueWithSource(key, option.fallback, 'default');
      }
      command.addHelpText('after', `${notes === '' ? '' : `\n${notes}\n`}${examplesText(examples)}`);
      command.action(async () => {
        const texts = textsOf(parts.arguments, command.processedArgs);
        finish(await parts.run(invocation(), texts, { json: false, ...command.opts<ValuesOf<Options>>() }));
      });
    },
  };
}

function textsOf<Arguments extends AnyArguments>(
  defined: Arguments,
  given: readonly unknown[],
): TextsOf<Arguments>;
function textsOf(defined: AnyArguments, given: readonly unknown[]): object {
  return Object.fromEntries(Object.keys(defined).map((name, index) => [name, given[index]]));
}

/** An argument as usage shows it: `<run>`, `[key]`, `[keys...]`. */
export function argumentUsage(name: string, { required, many = false }: Argument): string {
  const shown = `${name}${many ? '...' : ''}`;
  return required ? `<${shown}>` : `[${shown}]`;
}

/** The flags of an option, such as `--limit <n>`. */
export function flagsOf(key: string, { value }: Pick<CommandOption<unknown>, 'value'>): string {
  const name = `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return value === null ? name : `${name} <${value}>`;
}

function toOption(key: string, option: CommandOption<unknown>) {
  const { value, what, fallback, parse } = option;
  const made = new Option(flagsOf(key, option), what);
  if (parse !== undefined) made.argParser((text, before: unknown) => parse(text, before));
  return value === null || fallback === undefined || fallback === null ? made : made.default(fallback);
}

/** The end of help. */
export function examplesText(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ storeferry ${line}`).join('\n')}\n`;
}

/** A required argument. */
export function requiredArgument(what: string): Argument & { readonly required: true } {
  return { what, required: true };
}

/** A job, the same for every command that names one of any kind. */
export const JOB_ARGUMENT = { job: requiredArgument('a job: the name of a file in jobs/') };

/** An optional argument. */
export function optionalArgument(what: string): Argument & { readonly required: false } {
  return { what, required: false };
}

/** Any number of further arguments. */
export function repeatedArgument(what: string): Argument & { readonly required: false; readonly many: true } {
  return { what, required: false, many: true };
}

/** An option without a value. */
export function flag(what: string): CommandOption<boolean> {
  return { what, value: null, fallback: false };
}

/** `--json`, the same for every command whose result programs read. */
export const JSON_FLAG: CommandOption<boolean> = flag(
  'print the result as one JSON object, the last line of standard output',
);

/** An option with a text as its value. */
export function text(value: string, what: string): CommandOption<string | undefined> {
  return { what, value, fallback: undefined };
}

/** An option whose value is parsed. */
export function parsedOption<Value>(
  value: string,
  what: string,
  fallback: Value,
  parse: (text: string, before: Value) => Value,
): CommandOption<Value> {
  return { what, value, fallback, parse };
}

/** The same without a value if it is not given. */
export function optionalOption<Value>(
  value: string,
  what: string,
  parse: (text: string, before: Value | undefined) => Value,
): CommandOption<Value | undefined> {
  return { what, value, fallback: undefined, parse };
}

/** `--only` and `--limit`: the part of a source that a plan or run takes. */
export const SAMPLE_OPTIONS = {
  only: optionalOption<readonly string[]>(
    'keys',
    'only these keys, separated by commas (`\\,` within one): urls of products, ids of contacts',
    (typed, before = []) => {
      const keys = typed.split(/(?<!\\),/).map((key) => key.replaceAll(String.raw`\,`, ',').trim());
      if (keys.includes('')) throw new InvalidArgumentError('Expected keys, separated by commas.');
      return [...before, ...keys];
    },
  ),
  limit: optionalOption('n', 'only the first records of the source, this many', wholeNumber(1, 1_000_000)),
};

/** An option that takes one of several words. */
export function oneOf<Word extends string>(
  value: string,
  what: string,
  words: readonly Word[],
): CommandOption<Word | undefined> {
  return optionalOption(value, `${what}: ${words.join(', ')}`, (typed) => {
    const word = words.find((known) => known === typed);
    if (word === undefined) throw new InvalidArgumentError(`Expected ${words.join(', ')}.`);
    return word;
  });
}

/** Prints what `--json` prints: one line of standard output. */
export function printJson({ out }: Terminal, result: object): void {
  out(`${JSON.stringify(result)}\n`);
}

/** UsageError for a command with actions, of which the typed one is none. */
export function unknownAction(command: string, action: string, hint: string): UsageError {
  return new UsageError(`${command} ${printable(action)} is not a command.`, { hint });
}

/** Parses a whole number from `min` to `max`; InvalidArgumentError names both. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** A day, and perhaps a time with or without a zone. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

/** A moment of the history, in milliseconds since the epoch. */
export const AS_OF_OPTION = optionalOption(
  'time',
  'such as 2026-11-01 or 2026-11-01T06:00:00+01:00; default: now',
  (typed) => {
    const at = Date.parse(typed);
    const [, day = ''] = TIME.exec(typed) ?? [];
    // Date.parse reads 30 February as 2 March.
    if (day === '' || Number.isNaN(at) || !new Date(day).toISOString().startsWith(day))
      throw new InvalidArgumentError('Expected a time such as 2026-11-01 or 2026-11-01T06:00:00+01:00.');
    return at;
  },
);
