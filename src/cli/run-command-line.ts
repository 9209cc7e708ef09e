import { Command, CommanderError } from 'commander';
import { nearest } from '../text/nearest.ts';
import { listed } from '../text/printable.ts';
import { COMMANDS } from './commands.ts';
import { examplesText } from './define-command.ts';
import { type InterruptSignal, interruptSignal } from './interrupt-signal.ts';
import { packageVersion } from './package-version.ts';
import { printError } from './print-error.ts';
import type { Terminal } from './terminal.ts';
import { typedProgram } from './typed-program.ts';

const EXIT_USAGE = 2;

/** Runs the command line and returns its exit code: 0, 1, 2, 3, 4 or 130 (README, Commands). */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const over = new AbortController();
  const interrupted: InterruptSignal = (...given) => interruptSignal(over.signal, ...given);
  const program = buildProgram(terminal);
  const place = () => {
    const { directory } = program.opts<{ directory: string }>();
    const isGiven = program.getOptionValueSource('directory') === 'cli';
    return { directory, program: typedProgram(isGiven ? directory : undefined, process.env) };
  };
  try {
    // Only the definition of the called command is loaded, or of the command whose help is requested.
    const called = program.parseOptions([...args]).operands.slice(0, 2);
    for (const { name, summary, load } of COMMANDS) {
      const command = program.command(name).description(summary);
      if (!called.includes(name)) continue;
      const finish = (given: number) => {
        code = given;
      };
      const invocation = () => ({
        terminal,
        interruptSignal: interrupted,
        commands: COMMANDS,
        ...place(),
      });
      (await load()).addTo(command, invocation, finish);
    }
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    return printError(terminal, error, place());
  } finally {
    over.abort();
  }
}

function buildProgram(terminal: Terminal): Command {
  return new Command('storeferry')
    .description(
      'Imports product catalogs and CRM exports into a storefront, and exports its lists and orders.',
    )
    .version(packageVersion())
    .option('-C, --directory <dir>', 'the workspace: stores.yaml, jobs/, mappings/', '.')
    .configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      outputError: (text, write) => write(withSuggestion(text)),
    })
    .showHelpAfterError('(add --help for usage)')
    .exitOverride()
    .addHelpText(
      'after',
      examplesText([
        'demo                     see it work, with a sandbox as the store',
        'init my-shop             begin with a file of your own, by answering questions',
        'check                    are the files in this folder valid?',
        'plan nightly-catalog     what would change? nothing is sent',
        'run nightly-catalog      apply it',
      ]),
    );
}

/** The error of an unknown command, with the command of the most similar name or alias, or else with all commands. */
function withSuggestion(text: string): string {
  const [, typed] = /^error: unknown command '(.*?)'/.exec(text) ?? [];
  if (typed === undefined) return text;
  // The parser's own guess does not know the aliases.
  const error = text.replace(/^\(Did you mean .*\n/m, '');
  const names = COMMANDS.map(({ name }) => name);
  const meant = nearest(typed, [...names, ...COMMANDS.flatMap(({ alias }) => alias)]) ?? '';
  const command = COMMANDS.find(({ name, alias }) => [name, ...alias].includes(meant));
  return `${error}${command === undefined ? `The commands are ${listed(names)}.` : `(Did you mean ${command.name}?)`}\n`;
}
