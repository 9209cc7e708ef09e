import { Command, CommanderError } from 'commander';
import { nearest } from '../model/nearest.ts';
import { listed } from '../report/printable.ts';
import type { Invocation } from './invocation.ts';
import { packageVersion } from './package-version.ts';
import { printError } from './print-error.ts';
import type { Calling } from './program/calling.ts';
import { examples } from './program/options.ts';
import { addRehearsalCommands } from './program/rehearsal-commands.ts';
import { addRunCommands } from './program/run-commands.ts';
import { addServiceCommands } from './program/service-commands.ts';
import { addWorkspaceCommands } from './program/workspace-commands.ts';
import type { Terminal } from './terminal.ts';
import { typedProgram } from './typed-program.ts';

const EXIT_USAGE = 2;

/**
 * The command line: names, arguments and help of every command, in the order of help. What a command does is in the
 * file of its name, loaded when it is called, so that help is quick.
 */
function buildProgram(terminal: Terminal, finish: (code: number) => void): Command {
  const program: Command = new Command('storeferry')
    .description(
      'Carries product catalogs and CRM exports into a storefront, and its lists and orders back out.',
    )
    .version(packageVersion())
    .option('-C, --directory <dir>', 'the workspace: stores.yaml, jobs/, mappings/', '.')
    .configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      outputError: (text, write) => write(withMeantCommand(text, program.commands)),
    })
    .showHelpAfterError('(add --help for how it is used)')
    .exitOverride()
    .addHelpText(
      'after',
      examples(
        'demo                     see it work, against a store of its own',
        'init my-shop             begin with a file of your own, by answering questions',
        'check                    is everything in this folder right?',
        'plan nightly-catalog     what would change, without sending anything',
        'run nightly-catalog      do it',
      ),
    );
  const invocation = (): Invocation => ({
    terminal,
    directory: program.opts<{ directory: string }>().directory,
    program: programOf(program),
  });

  const calling: Calling = { invocation, finish };
  addWorkspaceCommands(program, calling);
  addRunCommands(program, calling);
  addServiceCommands(program, calling);
  addRehearsalCommands(program, calling);
  return program;
}

/** What other programs call what a command does. */
const ALSO_CALLED: Readonly<Record<string, string>> = {
  ...{ import: 'run', export: 'run', sync: 'run', apply: 'approve', preview: 'plan', validate: 'check' },
  ...{ stop: 'cancel', abort: 'cancel', status: 'runs', list: 'runs', new: 'init', serve: 'dashboard' },
};

/** The error of an unknown command with the one that was probably meant, or else with all there are. */
function withMeantCommand(text: string, commands: readonly Command[]): string {
  const [, typed] = /^error: unknown command '(.*?)'/.exec(text) ?? [];
  if (typed === undefined || text.includes('Did you mean')) return text;
  const names = commands.map((command) => command.name());
  const meant = nearest(typed, [...names, ...Object.keys(ALSO_CALLED)]);
  const command = meant === undefined ? undefined : (ALSO_CALLED[meant] ?? meant);
  return `${text}${command === undefined ? `The commands are ${listed(names)}.` : `(Did you mean ${command}?)`}\n`;
}

/** How a further command for the same workspace begins. */
function programOf(program: Command): string {
  const { directory } = program.opts<{ directory: string }>();
  const given = program.getOptionValueSource('directory') === 'cli';
  return typedProgram(given ? directory : undefined, process.env);
}

/** Runs the command line and gives its exit code: 0, 1, 2, 3, 4 or 130, as design.md lists them. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const program = buildProgram(terminal, (given) => {
    code = given;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    return printError(terminal, error, {
      program: programOf(program),
      directory: program.opts<{ directory: string }>().directory,
    });
  }
}
