import { type Command, Option } from 'commander';
import type { Calling } from './calling.ts';
import { examples, JSON_OPTION, nameAndValue } from './options.ts';

/** The commands that make a workspace and look it through. */
export function addWorkspaceCommands(program: Command, { invocation, finish }: Calling): void {
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
      finish(await (await import('../init.ts')).init(invocation(), dir, options)),
    );

  program
    .command('check')
    .description('validate stores, jobs and mappings, and run the tests that mappings carry; offline')
    .option('--online', 'also try stores, keys, sources, Redis and disk, with harmless requests')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('check', '-C shop check --online', 'check --json'))
    .action(async (options) => finish(await (await import('../check.ts')).check(invocation(), options)));
}
