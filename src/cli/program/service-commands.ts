import { type Command, Option } from 'commander';
import { DASHBOARD_DEFAULTS } from '../dashboard-defaults.ts';
import type { Calling } from './calling.ts';
import { examples } from './options.ts';

/** The commands for what runs on its own: workers and what is handed over to them, the dashboard. */
export function addServiceCommands(program: Command, { invocation, finish }: Calling): void {
  program
    .command('enqueue')
    .argument('<job>', 'a job: the name of a file in jobs/')
    .description('hand a run of a job over to the workers (needs REDIS_URL)')
    .option('--follow', 'wait for it, showing how it goes, and end as `run` would')
    .option('--json', 'with --follow: print the result as one JSON object, the last line of standard output')
    .option('--resend', 'send every record, whatever was sent before')
    .addHelpText('after', examples('enqueue nightly-catalog', 'enqueue nightly-catalog --follow'))
    .action(async (job: string, options) =>
      finish(await (await import('../enqueue.ts')).enqueue(invocation(), job, options)),
    );

  program
    .command('worker')
    .description('keep schedules, and take runs and their shards, until told to stop (needs REDIS_URL)')
    .option('--listen <address>', '[HOST:]PORT for /metrics and /healthz; this machine only without a host')
    .addHelpText(
      'after',
      examples('worker', '-C /srv/shop worker', 'worker --listen 9464', 'worker --listen 0.0.0.0:9464'),
    )
    .action(async (options) => finish(await (await import('../worker.ts')).worker(invocation(), options)));

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
    .option('--new-token', 'make new tokens, one with full access and one read-only, and print them')
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
      finish(await (await import('../dashboard.ts')).dashboard(invocation(), options)),
    );
}
