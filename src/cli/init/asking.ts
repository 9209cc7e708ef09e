import askConfirm from '@inquirer/confirm';
import askInput from '@inquirer/input';
import askPassword from '@inquirer/password';
import askSelect from '@inquirer/select';
import type { knownStore } from '../../config/new-workspace/new-workspace.ts';
import { InterruptedError } from '../../model/storeferry-error.ts';
import { printable } from '../../report/printable.ts';
import type { InitOptions } from './init-options.ts';

/** Says what is wrong with an answer; undefined when nothing is. */
export type CheckAnswer = (answer: string) => string | undefined | Promise<string | undefined>;

/** One of several answers. */
export interface Choice<Value extends string> {
  readonly value: Value;
  readonly name: string;
  readonly description?: string | undefined;
}

/** Asks the person at the terminal. Every question rejects with InterruptedError when there is no answer any more. */
export interface Prompter {
  text(
    message: string,
    options?: { readonly fallback?: string | undefined; readonly check?: CheckAnswer },
  ): Promise<string>;
  /** Shows a mask instead of what is typed. */
  secret(message: string, check: CheckAnswer): Promise<string>;
  choose<const Value extends string>(
    message: string,
    choices: readonly Choice<Value>[],
    fallback?: NoInfer<Value>,
  ): Promise<Value>;
  confirm(message: string, fallback: boolean): Promise<boolean>;
}

/** Asks on the terminal of this process; questions go to standard error, as all that is no result. */
export function terminalPrompter(signal: AbortSignal): Prompter {
  const gone = new AbortController();
  // At the end of input (Ctrl-D) a question is left open for ever: then nothing keeps the process busy any more.
  process.once('beforeExit', () => gone.abort());
  const context = { output: process.stderr, signal: AbortSignal.any([signal, gone.signal]) };
  const answered = async <T>(question: Promise<T>): Promise<T> => {
    try {
      return await question;
    } catch (error) {
      if (error instanceof Error && /^(Exit|Abort)PromptError$/.test(error.name)) throw nothingWritten();
      throw error;
    }
  };
  const validate = (check: CheckAnswer | undefined) => async (answer: string) =>
    (await check?.(answer)) ?? true;

  return {
    text: (message, { fallback, check } = {}) =>
      answered(
        askInput(
          {
            message,
            required: true,
            validate: validate(check),
            ...(fallback === undefined ? {} : { default: fallback }),
          },
          context,
        ),
      ),
    secret: (message, check) =>
      answered(askPassword({ message, mask: '*', validate: validate(check) }, context)),
    choose: (message, choices, fallback) =>
      answered(
        askSelect(
          {
            message,
            choices: choices.map(({ value, name, description }) => ({
              value,
              name: printable(name),
              ...(description === undefined ? {} : { description }),
            })),
            pageSize: 15,
            loop: false,
            ...(fallback === undefined ? {} : { default: fallback }),
          },
          context,
        ),
      ),
    confirm: (message, fallback) => answered(askConfirm({ message, default: fallback }, context)),
  };
}

function nothingWritten(): InterruptedError {
  return new InterruptedError('Cancelled; nothing has been written.');
}

/** How questions are answered: by flags, by a person, or by what is usual. */
export interface Asking {
  readonly options: InitOptions;
  /** Null where there is no terminal, or nobody is to be asked. */
  readonly prompter: Prompter | null;
  /** The store that the environment or `.env` names already. */
  readonly known: ReturnType<typeof knownStore>;
  /** The workspace to be, an absolute path. */
  readonly dir: string;
  readonly say: (line: string) => void;
}
