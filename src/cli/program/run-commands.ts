import { type Command, Option } from 'commander';
import type { Calling } from './calling.ts';
import { examples, JSON_OPTION, wholeNumber } from './options.ts';

/** The commands that plan and run jobs in this process, and show what became of them. */
export function addRunCommands(program: Command, { invocation, finish }: Calling): void {
  program
    .command('plan')
    .argument('<job>', 'a job: the name of a file in jobs/')
    .description('show what a run would change; sends nothing to the store')
    .option(...JSON_OPTION)
    .option('--resend', 'as if the store had forgotten everything: plan every record')
    .addHelpText('after', examples('plan nightly-catalog', 'plan nightly-catalog --json'))
    .action(async (job: string, options) =>
      finish(await (await import('../plan.ts')).plan(invocation(), job, options)),
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
      finish(await (await import('../run.ts')).run(invocation(), job, options)),
    );

  program
    .command('approve')
    .argument('<run>', 'the id of a planned or stopped run, or its first characters')
    .description('apply exactly the plan of that run, safety limits or not')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('approve k3v9x2'))
    .action(async (run: string, options) =>
      finish(await (await import('../approve.ts')).approve(invocation(), run, options)),
    );

  program
    .command('retry')
    .argument('<run>', 'the id of the latest run of its job')
    .description('send the rejects file of a run as you have corrected it')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('retry k3v9x2'))
    .action(async (run: string, options) =>
      finish(await (await import('../retry.ts')).retry(invocation(), run, options)),
    );

  program
    .command('verify')
    .argument('<job>', 'an import job: the name of a file in jobs/')
    .description(
      'estimate how much the store has forgotten (restored from a backup, writes lost): sends a random sample of acknowledged records again and compares the answers',
    )
    .addOption(
      new Option('--sample <n>', 'how many records to send again; all when there are fewer')
        .default(50)
        .argParser(wholeNumber(1, 100_000_000)),
    )
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
This writes to the store: each record of the sample is sent as the store last acknowledged it. Edits made in the
store since are overwritten, and products that were deleted there are created again. It shows records that are gone or
have another id; it cannot show an older value that a restored store holds, since the value is sent with the request.
${examples('verify nightly-catalog', 'verify nightly-catalog --sample 500', 'verify nightly-catalog --json')}`,
    )
    .action(async (job: string, options) =>
      finish(await (await import('../verify.ts')).verify(invocation(), job, options)),
    );

  program
    .command('runs')
    .argument('[run]', 'the id of a run, or its first characters, to see all of it')
    .description('list the jobs, when each runs next, and the latest runs; or show one run')
    .addOption(new Option('--limit <n>', 'how many to list').default(20).argParser(wholeNumber(1, 1000)))
    .option('--job <job>', 'only runs of this job')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('runs', 'runs k3v9x2', 'runs --job nightly-catalog', 'runs k3v --json'))
    .action(async (run: string | undefined, options) =>
      finish(await (await import('../runs.ts')).runs(invocation(), run, options)),
    );

  program
    .command('cancel')
    .argument('<run>', 'the id of a run, or its first characters')
    .description('end a run under way, whichever process has it, or take one out of the queue')
    .addHelpText('after', examples('cancel k3v9x2'))
    .action(async (run: string) => finish(await (await import('../cancel.ts')).cancel(invocation(), run)));

  program
    .command('stats')
    .argument('<job>', 'a job that collects list statistics (`mode: append`)')
    .description('draw how the subscriber lists have fared: subscribers, open and click rate')
    .addHelpText('after', examples('stats list-statistics'))
    .action(async (job: string) => finish(await (await import('../stats.ts')).stats(invocation(), job)));
}
