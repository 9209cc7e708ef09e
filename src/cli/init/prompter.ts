import askConfirm from '@inquirer/confirm';
import askInput from '@inquirer/input';
import askPassword from '@inquirer/password';
import askSelect from '@inquirer/select';
import { InterruptedError } from '../../model/storeferry-error.ts';
import { printable } from '../../text/printable.ts';

/** Validates an answer: describes what is wrong, or returns undefined. */
export type CheckAnswer = (answer: string) => string | undefined | Promise<string | undefined>;

/** One of several answers. */
export interface Choice<Value extends string> {
  readonly value: Value;
  readonly name: string;
  readonly description?: string | undefined;
}

/** Asks the person at the terminal. Every question rejects with InterruptedError if the input has ended. */
export interface Prompter {
  text(
    message: string,
    options?: { readonly fallback?: string | undefined; readonly check?: CheckAnswer },
  ): Promise<string>;
  /** Shows a mask instead of the typed text. */
  secret(message: string, check: CheckAnswer): Promise<string>;
  choose<const Value extends string>(
    message: string,
    choices: readonly Choice<Value>[],
    fallback?: NoInfer<Value>,
  ): Promise<Value>;
  confirm(message: string, fallback: boolean): Promise<boolean>;
}

/** Asks on the terminal of this process. Questions go to standard error, as everything that is not a result. */
export function terminalPrompter(signal: AbortSignal): Prompter {
  const gone = new AbortController();
  // After the end of input (Ctrl-D) a question would stay open for ever, because nothing keeps the process running.
  process.once('beforeExit', () => gone.abort());
  const context = { output: process.stderr, signal: AbortSignal.any([signal, gone.signal]) };
  const answered = async <T>(question: Promise<T>) => {
    try {
      return await question;
    } catch (error) {
      if (error instanceof Error && /^(Exit|Abort)PromptError$/.test(error.name))
        throw new InterruptedError('Cancelled; nothing has been written.');
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
            ...(fallback !== undefined && { default: fallback }),
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
              ...(description !== undefined && { description }),
            })),
            pageSize: 15,
            loop: false,
            ...(fallback !== undefined && { default: fallback }),
          },
          context,
        ),
      ),
    confirm: (message, fallback) => answered(askConfirm({ message, default: fallback }, context)),
  };
}
