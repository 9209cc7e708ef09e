import { UsageError } from '../../model/storeferry-error.ts';
import { failedDrift } from '../../report/run-summary.ts';
import { defineCommand, JSON_FLAG, parsedOption, requiredArgument, wholeNumber } from '../define-command.ts';
import { runInWorkspace } from '../run-in-workspace.ts';

/** `storeferry drift`: compares the store with what it last answered. */
export const driftCommand = defineCommand({
  arguments: { job: requiredArgument('an import job: the name of a file in jobs/') },
  options: {
    sample: parsedOption<number | null>(
      'n',
      'how many records to compare, drawn at random; default: all',
      null,
      wholeNumber(1, 100_000_000),
    ),
    json: JSON_FLAG,
  },
  notes: `Needs a probe of the store. A store that lists products or contacts is read. Any other that answers an update of nothing
with the whole record is asked by such updates: a title that was edited there by hand is then overwritten, and a product
that was deleted there exists for a moment, until it is removed again by its id. Compared is what the store last answered,
not what was sent. An interrupted comparison goes on where it was.`,
  examples: ['drift nightly-catalog', 'drift nightly-catalog --sample 500', 'drift nightly-catalog --json'],
  json: 'how many records were compared, edited (and in how many fields), deleted and made again, and how many products no job has sent (null where the store does not list them)',
  run: (invocation, { job: name }, { sample, json }) =>
    runInWorkspace(
      invocation,
      { json, action: 'drift', about: name, summarise: failedDrift },
      async ({ workspace }) => {
        const job = workspace.job(name);
        if (job.kind !== 'import') {
          throw new UsageError(`The job ${name} is an export: it sends nothing that could differ.`, {
            hint: 'Name an import job.',
          });
        }
        const request = { job, store: workspace.store(job.store), sample, random: Math.random };
        return { kind: 'drift', request };
      },
    ),
});
