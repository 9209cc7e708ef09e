import { type Command, Option } from 'commander';
import { SANDBOX_DEFAULTS } from '../sandbox-defaults.ts';
import type { Calling } from './calling.ts';
import { examples, share, wholeNumber } from './options.ts';

/** The commands that need no workspace: something to try Storeferry against, or to write files with. */
export function addRehearsalCommands(program: Command, { invocation, finish }: Calling): void {
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
    .action(async (options) => finish(await (await import('../sandbox.ts')).sandbox(invocation(), options)));

  program
    .command('schema')
    .argument('<name>', 'job, mapping or stores')
    .description('print the JSON Schema of a kind of file, for editors')
    .addHelpText('after', examples('schema mapping > mapping.schema.json'))
    .action(async (name: string) => finish(await (await import('../schema.ts')).schema(invocation(), name)));

  program
    .command('demo')
    .description(
      'import a sample catalog two nights in a row, then contacts, and export list statistics; with a sandbox, in a temporary folder',
    )
    .addHelpText('after', examples('demo'))
    .action(async () => finish(await (await import('../demo.ts')).demo(invocation())));
}
