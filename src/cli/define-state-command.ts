import {
  type AnyArguments,
  type AnyOptions,
  type CommandParts,
  defineCommand,
  type Invocation,
  printJson,
  type TextsOf,
  type Typed,
} from './define-command.ts';
import { type OpenContext, openCommandContext } from './open-context.ts';
import { withJsonError } from './with-json-result.ts';

/** The result of a command. */
export interface Printed {
  /** For people, in whole lines; with `isData`, for programs. */
  readonly text: string | AsyncIterable<Uint8Array | string>;
  readonly isData?: boolean;
  /** For programs, with `--json`; absent where the text is for both. */
  readonly json?: object | (() => Promise<object>);
  /** The exit code, if it is not 0. */
  readonly code?: number;
}

interface StateCommandParts<Arguments, Options> extends Omit<CommandParts<Arguments, Options>, 'run'> {
  /** Opens SQLite in this thread, which starts sooner: for commands that read or change little. */
  readonly withoutThread?: boolean;
  /** UsageError for words that are wrong whatever the workspace has: then nothing is opened or made. */
  check?(texts: TextsOf<Arguments>, options: Typed<Options>): void;
  run(open: OpenContext & Invocation, texts: TextsOf<Arguments>, options: Typed<Options>): Promise<Printed>;
}

/** Defines a command that opens the state of its workspace, and then prints one result. */
export function defineStateCommand<const Arguments extends AnyArguments, Options extends AnyOptions>({
  withoutThread = false,
  check,
  run,
  ...parts
}: StateCommandParts<Arguments, Options>) {
  return defineCommand<Arguments, Options>({
    ...parts,
    run: (invocation, texts, options) =>
      withJsonError(invocation, options.json, async () => {
        check?.(texts, options);
        await using open = await openCommandContext(invocation, { withoutThread });
        const {
          text,
          isData = false,
          json,
          code = 0,
        } = await run({ ...invocation, ...open }, texts, options);
        if (options.json && json !== undefined)
          printJson(invocation.terminal, typeof json === 'function' ? await json() : json);
        else
          for await (const part of typeof text === 'string' ? [text] : text)
            if (isData || typeof part !== 'string') invocation.terminal.data(part);
            else invocation.terminal.out(part);
        return code;
      }),
  });
}
