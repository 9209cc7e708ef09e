import { Command, CommanderError } from 'commander';
import { listed, nearestName } from '../text/printable.ts';
import { type CommandDefinition, examplesText, printJson, type RegisteredCommand } from './define-command.ts';
import { type InterruptSignal, interruptSignal } from './interrupt-signal.ts';
import { packageVersion } from './package-version.ts';
import { printError } from './print-error.ts';
import type { Terminal } from './terminal.ts';
import { typedProgram } from './typed-program.ts';

function command(
  name: string,
  summary: string,
  load: RegisteredCommand['load'],
  ...otherNames: readonly string[]
): RegisteredCommand {
  return { name, summary, load, otherNames };
}

/**
 * All commands, in the order of help. To add one, add a file to commands/ and an entry here. A definition is loaded
 * only for its own help and run, so that every command starts quickly.
 */
export const COMMANDS: readonly RegisteredCommand[] = [
  command(
    'init',
    'create a workspace interactively, or add a job to one, and plan your own file',
    async () => (await import('./commands/init-command.ts')).initCommand,
    'new',
  ),
  command(
    'check',
    'validate stores, jobs and mappings, and run the tests in mappings; offline',
    async () => (await import('./commands/check-command.ts')).checkCommand,
    'validate',
  ),
  command(
    'probe',
    'learn what a store does where the API document leaves it open; at most 40 requests',
    async () => (await import('./commands/probe-command.ts')).probeCommand,
    'inspect',
  ),
  command(
    'contacts',
    'find the ids of the contacts of a store by their e-mail addresses, for `crosswalk: store`',
    async () => (await import('./commands/contacts-command.ts')).contactsCommand,
    'scan',
  ),
  command(
    'plan',
    'show what a run would change; sends nothing to the store',
    async () => (await import('./commands/plan-command.ts')).planCommand,
    'preview',
  ),
  command(
    'run',
    'run a job in this process: apply an import, write an export; continues an unfinished run',
    async () => (await import('./commands/run-command.ts')).runCommand,
    'import',
    'sync',
  ),
  command(
    'approve',
    'apply exactly the plan of a run that waits for approval or was stopped by a safety limit',
    async () => (await import('./commands/approve-command.ts')).approveCommand,
    'apply',
  ),
  command(
    'discard',
    'discard a plan that waits for approval: it can no longer be sent',
    async () => (await import('./commands/discard-command.ts')).discardCommand,
    'reject',
    'dismiss',
  ),
  command(
    'retry',
    'send the corrected rejects file of a run',
    async () => (await import('./commands/retry-command.ts')).retryCommand,
  ),
  command(
    'release',
    'send records that a run has held',
    async () => (await import('./commands/release-command.ts')).releaseCommand,
    'unhold',
  ),
  command(
    'undo',
    'plan the inverse of a run, which restores the earlier values; sends nothing',
    async () => (await import('./commands/undo-command.ts')).undoCommand,
    'revert',
    'rollback',
  ),
  command(
    'promote',
    'plan to send to another store what a run has sent; sends nothing',
    async () => (await import('./commands/promote-command.ts')).promoteCommand,
  ),
  command(
    'clone',
    'plan to rebuild in a store the catalog that it, or another one, had at a time; sends nothing',
    async () => (await import('./commands/clone-command.ts')).cloneCommand,
    'copy',
  ),
  command(
    'verify',
    'estimate how many records the store has lost: send a random sample of acknowledged records again',
    async () => (await import('./commands/verify-command.ts')).verifyCommand,
  ),
  command(
    'drift',
    'find what was edited, deleted or made again in the store since it last answered',
    async () => (await import('./commands/drift-command.ts')).driftCommand,
    'diff',
    'compare',
  ),
  command(
    'runs',
    'list the jobs, when each runs next, and the latest runs; or show one run',
    async () => (await import('./commands/runs-command.ts')).runsCommand,
    'status',
    'list',
  ),
  command(
    'audit',
    'verify that no entry of the audit log was altered or removed; or print it as JSON Lines',
    async () => (await import('./commands/audit-command.ts')).auditCommand,
  ),
  command(
    'show',
    'show a record as the store last acknowledged it, and which job set each field',
    async () => (await import('./commands/show-command.ts')).showCommand,
  ),
  command(
    'history',
    'list the versions of a record that the store acknowledged: when, by which run, from which line',
    async () => (await import('./commands/history-command.ts')).historyCommand,
    'log',
  ),
  command(
    'catalog',
    'write the products of a store as it had acknowledged them at a time',
    async () => (await import('./commands/catalog-command.ts')).catalogCommand,
  ),
  command(
    'forget',
    'remove what Storeferry has kept of a contact: ledger, history, rejects; for a request of erasure',
    async () => (await import('./commands/forget-command.ts')).forgetCommand,
    'erase',
    'delete',
  ),
  command(
    'cancel',
    'stop a run in any process, or remove it from the queue',
    async () => (await import('./commands/cancel-command.ts')).cancelCommand,
    'stop',
    'abort',
  ),
  command(
    'stats',
    'draw the history of the subscriber lists: subscribers, open and click rate',
    async () => (await import('./commands/stats-command.ts')).statsCommand,
  ),
  command(
    'export',
    'compare the files of an export of new orders with their manifests and with the store',
    async () => (await import('./commands/export-command.ts')).exportCommand,
    'reconcile',
  ),
  command(
    'enqueue',
    'queue a run of a job for the workers',
    async () => (await import('./commands/enqueue-command.ts')).enqueueCommand,
  ),
  command(
    'worker',
    'run jobs on their schedules, and queued runs; with REDIS_URL any number of workers, else one',
    async () => (await import('./commands/worker-command.ts')).workerCommand,
  ),
  command(
    'dashboard',
    'show jobs, runs, reports and list trends in a browser, and start runs there; sign-in by name or token',
    async () => (await import('./commands/dashboard-command.ts')).dashboardCommand,
    'serve',
  ),
  command(
    'tokens',
    'list, make and revoke the tokens by which programs use the API of the dashboard',
    async () => (await import('./commands/tokens-command.ts')).tokensCommand,
  ),
  command(
    'people',
    'list, add, change and remove those who sign in to the dashboard by name, each with a role',
    async () => (await import('./commands/people-command.ts')).peopleCommand,
    'users',
  ),
  command(
    'sandbox',
    'serve a complete storefront on this machine, for tests',
    async () => (await import('./commands/sandbox-command.ts')).sandboxCommand,
  ),
  command(
    'schema',
    'print the JSON Schema of a kind of file, for editors',
    async () => (await import('./commands/schema-command.ts')).schemaCommand,
  ),
  command(
    'completion',
    'print the script by which a shell completes commands, options and jobs: bash, zsh, fish',
    async () => (await import('./commands/completion-command.ts')).completionCommand,
  ),
  command(
    'demo',
    'import a sample catalog twice, then contacts, and export list statistics, in a temporary folder',
    async () => (await import('./commands/demo-command.ts')).demoCommand,
  ),
];

const EXIT_USAGE = 2;

/** Runs the command line and returns its exit code: 0, 1, 2, 3, 4 or 130 (README, Commands). */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  let printed: CommandDefinition['json'];
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
    const [first, second] = program.parseOptions([...args]).operands;
    const called = first === 'help' ? second : first;
    for (const { name, summary, load } of COMMANDS) {
      const command = program.command(name).description(summary);
      if (called !== name) continue;
      const finish = (given: number) => {
        code = given;
      };
      const invocation = () => ({
        terminal,
        interruptSignal: interrupted,
        commands: COMMANDS,
        ...place(),
      });
      const definition = await load();
      printed = definition.json;
      definition.addTo(command, invocation, finish);
    }
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      if (args.includes('--json')) {
        printJson(terminal, await refusal(error.message.replace(/^error: /, ''), printed));
      }
      return EXIT_USAGE;
    }
    return printError(terminal, error, place());
  } finally {
    over.abort();
  }
}

/** What a command prints with `--json` where an argument or option is wrong. */
async function refusal(error: string, printed: CommandDefinition['json']): Promise<object> {
  if (typeof printed !== 'object') return { error };
  const { failureSummary } = await import('../report/run-summary.ts');
  const nothing = { run: null, job: null, status: 'failed', applied: 0, rejected: 0, durationMs: 0 } as const;
  return failureSummary({ ...nothing, error });
}

function buildProgram(terminal: Terminal) {
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

/** The error of an unknown command, with the command of the most similar name, or else with all commands. */
function withSuggestion(text: string) {
  const [, typed] = /^error: unknown command '(.*?)'/.exec(text) ?? [];
  if (typed === undefined) return text;
  // The parser's own guess does not know the other names, which are only suggested.
  const error = text.replace(/^\(Did you mean .*\n/m, '');
  const names = COMMANDS.map(({ name }) => name);
  const meant = nearestName(typed, [...names, ...COMMANDS.flatMap(({ otherNames }) => otherNames)]) ?? '';
  const command = COMMANDS.find(({ name, otherNames }) => [name, ...otherNames].includes(meant));
  return `${error}${command === undefined ? `The commands are ${listed(names)}.` : `(Did you mean ${command.name}?)`}\n`;
}
