import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { DASHBOARD_DEFAULTS } from './dashboard-defaults.ts';
import type { Invocation } from './invocation.ts';
import { printError } from './print-error.ts';
import { SANDBOX_DEFAULTS } from './sandbox-defaults.ts';
import type { Terminal } from './terminal.ts';
import { typedProgram } from './typed-program.ts';
import { packageVersion } from './version.ts';

const EXIT_USAGE = 2;

function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ storeferry ${line}`).join('\n')}\n`;
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Expected a share from 0 to 1, such as 0.05.');
}

function nameAndValue(
  text: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name]: value };
  throw new InvalidArgumentError('Expected NAME=VALUE.');
}

const JSON_OPTION = [
  '--json',
  'print the result as one JSON object, the last line of standard output',
] as const;

/**
 * The command line: names, arguments and help of every command. What a command does is in the file of its name,
 * loaded when it is called, so that help is quick.
 */
function buildProgram(terminal: Terminal, finish: (code: number) => void): Command {
  const program = new Command('storeferry')
    .description(
      'Carries product catalogs and CRM exports into a storefront, and its lists and orders back out.',
    )
    .version(packageVersion())
    .option('-C, --directory <dir>', 'the workspace: stores.yaml, jobs/, mappings/', '.')
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
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

  program
    .command('init')
    .argument('[dir]', 'the folder to make a workspace of; the one of -C when left out')
    .description('make a workspace by asking, or add a job to one, and plan your own file')
    .addOption(
      new Option(
        '--store-url <url>',
        'the address of the store; its key comes from STORE_API_KEY or is asked for',
      ),
    )
    .option('--sandbox', 'no store yet: rehearse against the sandbox')
    .option('--store <name>', 'in a workspace with several stores: which one')
    .option('--weight-unit <unit>', 'the unit the store shows: kg, g, lb or oz')
    .option('--source <file>', 'the file to import')
    .option('--encoding <charset>', 'its charset, where it is not UTF-8')
    .option('--delimiter <name>', 'what separates its columns, where that cannot be told')
    .option('--copy', 'copy the file into the workspace')
    .option(
      '--mapping <name>',
      'how it is read; guessed from its header when left out; `new` begins one of your own',
    )
    .option('--import <what>', 'for a mapping of your own: products or contacts')
    .option('--param <name=value>', 'a parameter of the mapping; may be repeated', nameAndValue)
    .option('--crosswalk <file>', 'for contacts: the CSV file with ids of the store and e-mails')
    .option('--crosswalk-match <column>', 'its column that finds a contact')
    .option('--crosswalk-id <column>', "its column with the store's id")
    .option('--job <name>', 'the name of the job')
    .option('--schedule <cron>', 'when workers run it: minute, hour, day, month, weekday')
    .option('--timezone <zone>', 'of the schedule; that of this machine when left out')
    .option('--yes', 'take what is guessed or usual, and ask for the rest only')
    .addHelpText(
      'after',
      examples(
        'init my-shop',
        'init my-shop --sandbox --source export.csv --yes     no questions, no store needed',
        'init my-shop --store-url https://shop.example --source export.csv --job nightly --yes',
      ),
    )
    .action(async (dir: string | undefined, options) =>
      finish(await (await import('./init.ts')).init(invocation(), dir, options)),
    );

  program
    .command('check')
    .description('validate stores, jobs and mappings, and run the tests that mappings carry; offline')
    .option('--online', 'also try stores, keys, sources, Redis and disk, with harmless requests')
    .addHelpText('after', examples('check', '-C shop check --online'))
    .action(async (options) => finish(await (await import('./check.ts')).check(invocation(), options)));

  program
    .command('plan')
    .argument('<job>', 'a job: the name of a file in jobs/')
    .description('show what a run would change; sends nothing to the store')
    .option(...JSON_OPTION)
    .option('--resend', 'as if the store had forgotten everything: plan every record')
    .addHelpText('after', examples('plan nightly-catalog', 'plan nightly-catalog --json'))
    .action(async (job: string, options) =>
      finish(await (await import('./plan.ts')).plan(invocation(), job, options)),
    );

  program
    .command('run')
    .argument('<job>', 'a job: the name of a file in jobs/')
    .description('run a job in this process: apply an import, read an export; continues what did not finish')
    .option(...JSON_OPTION)
    .option('--resend', 'send every record, whatever was sent before (a store restored from backup)')
    .addHelpText(
      'after',
      examples('run nightly-catalog', 'run list-statistics', 'run nightly-catalog --json > result.json'),
    )
    .action(async (job: string, options) =>
      finish(await (await import('./run.ts')).run(invocation(), job, options)),
    );

  program
    .command('approve')
    .argument('<run>', 'the id of a planned or stopped run')
    .description('apply exactly the plan of that run, safety limits or not')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('approve k3v9x2'))
    .action(async (run: string, options) =>
      finish(await (await import('./approve.ts')).approve(invocation(), run, options)),
    );

  program
    .command('retry')
    .argument('<run>', 'the id of the latest run of its job')
    .description('send the rejects file of a run as you have corrected it')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('retry k3v9x2'))
    .action(async (run: string, options) =>
      finish(await (await import('./retry.ts')).retry(invocation(), run, options)),
    );

  program
    .command('runs')
    .argument('[run]', 'the id of a run, to see all of it')
    .description('list the jobs, when each runs next, and the latest runs; or show one run')
    .addOption(new Option('--limit <n>', 'how many to list').default(20).argParser(wholeNumber(1, 1000)))
    .option('--job <job>', 'only runs of this job')
    .addHelpText('after', examples('runs', 'runs k3v9x2', 'runs --job nightly-catalog'))
    .action(async (run: string | undefined, options) =>
      finish(await (await import('./runs.ts')).runs(invocation(), run, options)),
    );

  program
    .command('stats')
    .argument('<job>', 'a job that collects list statistics (`mode: append`)')
    .description('draw how the subscriber lists have fared: subscribers, open and click rate')
    .addHelpText('after', examples('stats list-statistics'))
    .action(async (job: string) => finish(await (await import('./stats.ts')).stats(invocation(), job)));

  program
    .command('enqueue')
    .argument('<job>', 'a job: the name of a file in jobs/')
    .description('hand a run of a job over to the workers (needs REDIS_URL)')
    .option('--follow', 'wait for it, showing how it goes, and end as `run` would')
    .option('--json', 'with --follow: print the result as one JSON object, the last line of standard output')
    .option('--resend', 'send every record, whatever was sent before')
    .addHelpText('after', examples('enqueue nightly-catalog', 'enqueue nightly-catalog --follow'))
    .action(async (job: string, options) =>
      finish(await (await import('./enqueue.ts')).enqueue(invocation(), job, options)),
    );

  program
    .command('worker')
    .description('keep schedules, and take runs and their shards, until told to stop (needs REDIS_URL)')
    .option('--listen <address>', '[HOST:]PORT for /metrics and /healthz; this machine only without a host')
    .addHelpText(
      'after',
      examples('worker', '-C /srv/shop worker', 'worker --listen 9464', 'worker --listen 0.0.0.0:9464'),
    )
    .action(async (options) => finish(await (await import('./worker.ts')).worker(invocation(), options)));

  program
    .command('dashboard')
    .description(
      'serve jobs, runs, reports and list trends to browsers, and act from there; sign-in by token',
    )
    .addOption(
      new Option('--listen <address>', '[HOST:]PORT; this machine only without a host').default(
        DASHBOARD_DEFAULTS.listen,
      ),
    )
    .option('--url <url>', 'where browsers reach it, when a proxy stands before it: https://...')
    .option('--new-token', 'make both tokens anew, for everything and for looking only, and print them')
    .addHelpText(
      'after',
      examples(
        'dashboard',
        '-C /srv/shop dashboard --listen 8701',
        'dashboard --new-token',
        'dashboard --listen 0.0.0.0:8700 --url https://storeferry.example.com',
      ),
    )
    .action(async (options) =>
      finish(await (await import('./dashboard.ts')).dashboard(invocation(), options)),
    );

  program
    .command('sandbox')
    .description('serve a whole storefront of its own, to rehearse against')
    .addOption(
      new Option('--port <n>', 'where to listen, on loopback')
        .default(SANDBOX_DEFAULTS.port)
        .argParser(wholeNumber(0, 65_535)),
    )
    .option('--data <dir>', 'where to keep what it holds; in memory when left out')
    .option('--api-key <key>', 'the key every request must carry', SANDBOX_DEFAULTS.apiKey)
    .addOption(new Option('--fail-rate <share>', 'answer this share with 503').default(0).argParser(share))
    .addOption(
      new Option('--latency <ms>', 'hold every answer back').default(0).argParser(wholeNumber(0, 600_000)),
    )
    .addOption(
      new Option('--requests-per-second <n>', 'answer more than this with 429').argParser(
        wholeNumber(1, 1_000_000),
      ),
    )
    .addHelpText('after', examples('sandbox', 'sandbox --port 4010 --data shop --api-key K --fail-rate 0.05'))
    .action(async (options) => finish(await (await import('./sandbox.ts')).sandbox(invocation(), options)));

  program
    .command('schema')
    .argument('<name>', 'job, mapping or stores')
    .description('print the JSON Schema of a kind of file, for editors')
    .addHelpText('after', examples('schema mapping > mapping.schema.json'))
    .action(async (name: string) => finish(await (await import('./schema.ts')).schema(invocation(), name)));

  program
    .command('demo')
    .description(
      'import a sample catalog two nights in a row, then contacts, and export list statistics; with a sandbox, in a temporary folder',
    )
    .addHelpText('after', examples('demo'))
    .action(async () => finish(await (await import('./demo.ts')).demo(invocation())));

  return program;
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
    return printError(terminal, error, programOf(program));
  }
}
