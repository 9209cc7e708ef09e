import { sumOf, withoutAbsent } from '../../model/json-object.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { reconcileExport } from '../../run/export/export-run.ts';
import { isExportRequest } from '../../run/run-context.ts';
import { counted } from '../../text/printable.ts';
import { requiredArgument, unknownAction } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { readRequest } from '../read-request.ts';

/** `storeferry export reconcile`: compares the files that an export with `mode: new` has written with their manifests. */
export const exportCommand = defineStateCommand({
  arguments: {
    action: requiredArgument('reconcile'),
    job: requiredArgument('an export of orders with `mode: new`'),
  },
  options: {},
  notes: `Each file must be there, with the checksum of its manifest; then the orders of the store are read, and those that no
file has like that are counted: the next run writes them. Nothing is changed. Exit code 3 if a file is missing or damaged.`,
  examples: ['export reconcile new-orders', 'export reconcile new-orders --json'],
  json: 'the numbers of files, orders, missing and damaged files',
  check({ action, job }) {
    if (action !== 'reconcile')
      throw unknownAction('export', action, `Type: storeferry export reconcile ${job}`);
  },
  async run({ context, workspace, program }, { job }) {
    const request = await readRequest(workspace, job, false);
    if (!isExportRequest(request) || request.job.destination.mode !== 'new')
      throw new UsageError(`The job ${job} writes no files of their own, which manifests could describe.`, {
        hint: 'Name an export of orders with `mode: new` under destination.',
      });
    const { files, missing, damaged, waiting } = await reconcileExport(context, request);
    const records = sumOf(files, ({ count }) => count);
    const [first] = [...missing, ...damaged].sort((one, other) => one.number - other.number);
    const moved = damaged.length > 0 ? ', after the damaged ones were moved away' : '';
    const lines = withoutAbsent([
      `${counted(files.length, 'file')} with ${counted(records, 'order')}.`,
      ...missing.map(({ number, file }) => `Missing: file ${number}, ${file}`),
      ...damaged.map(
        ({ number, file }) => `Damaged: file ${number}, ${file} (another content than was written)`,
      ),
      first && `To write them again${moved}: ${program} run ${job} --since ${first.run}`,
      waiting === 0
        ? 'The store has no order that is not in a file.\n'
        : `${counted(waiting, 'order')} of the store ${waiting === 1 ? 'is' : 'are'} new or changed since; the next run writes ${waiting === 1 ? 'it' : 'them'}.\n`,
    ]);
    return {
      json: { files: files.length, records, missing: missing.length, damaged: damaged.length },
      text: lines.join('\n'),
      code: first === undefined ? 0 : 3,
    };
  },
});
