import { sumOf } from '../../model/json-object.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { reconcileExport } from '../../run/export/export-folder.ts';
import { isExportRequest } from '../../run/run-context.ts';
import { counted } from '../../text/printable.ts';
import { defineCommand, JSON_FLAG, printJson, requiredArgument, unknownAction } from '../define-command.ts';
import { openCommandContext } from '../open-context.ts';
import { readRequest } from '../read-request.ts';
import { withJsonError } from '../with-json-result.ts';

/** `storeferry export reconcile`: compares the files that an export with `mode: new` has written with their manifests. */
export const exportCommand = defineCommand({
  arguments: {
    action: requiredArgument('reconcile'),
    job: requiredArgument('an export of orders with `mode: new`'),
  },
  options: { json: JSON_FLAG },
  notes: `Each file must be there, with the checksum of its manifest; then the orders of the store are read, and those that no
file has like that are counted: the next run writes them. Nothing is changed. Exit code 3 if a file is missing or damaged.`,
  examples: ['export reconcile new-orders', 'export reconcile new-orders --json'],
  json: 'the numbers of files, orders, missing and damaged files',
  run: (invocation, { action, job }, { json }) =>
    withJsonError(invocation, json, async () => {
      if (action !== 'reconcile')
        throw unknownAction('export', action, `Type: storeferry export reconcile ${job}`);
      await using open = await openCommandContext(invocation);
      const request = await readRequest(open.workspace, job, false);
      if (!isExportRequest(request) || request.job.destination.mode !== 'new')
        throw new UsageError(`The job ${job} writes no files of their own, which manifests could describe.`, {
          hint: 'Name an export of orders with `mode: new` under destination.',
        });
      const { terminal, program } = invocation;
      const { files, missing, damaged, waiting } = await reconcileExport(open.context, request);
      const records = sumOf(files, ({ count }) => count);
      if (json) {
        const result = { files: files.length, records, missing: missing.length, damaged: damaged.length };
        printJson(terminal, result);
      } else {
        terminal.out(`${counted(files.length, 'file')} with ${counted(records, 'order')}.\n`);
        for (const { number, file } of missing) terminal.out(`Missing: file ${number}, ${file}\n`);
        for (const { number, file } of damaged)
          terminal.out(`Damaged: file ${number}, ${file} (another content than was written)\n`);
        const [first] = [...missing, ...damaged].sort((one, other) => one.number - other.number);
        if (first !== undefined) {
          const moved = damaged.length > 0 ? ', after the damaged ones were moved away' : '';
          terminal.out(`To write them again${moved}: ${program} run ${job} --since ${first.run}\n`);
        }
        terminal.out(
          waiting === 0
            ? 'The store has no order that is not in a file.\n'
            : `${counted(waiting, 'order')} of the store ${waiting === 1 ? 'is' : 'are'} new or changed since; the next run writes ${waiting === 1 ? 'it' : 'them'}.\n`,
        );
      }
      return missing.length + damaged.length > 0 ? 3 : 0;
    }),
});
