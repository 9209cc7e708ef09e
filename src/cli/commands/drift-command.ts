import { driftSummary } from '../../report/run-summary.ts';
import { flag, parsedOption, requiredArgument, wholeNumber } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';

/** `storeferry drift`: compares the store with what it last answered. */
export const driftCommand = defineRunCommand({
  arguments: { job: requiredArgument('an import job: the name of a file in jobs/') },
  options: {
    sample: parsedOption<number | null>(
      'n',
      'how many to compare, at random; default: all',
      null,
      wholeNumber(1, 100_000_000),
    ),
    restore: flag('plan to send the values of the job where the last comparison found others'),
    accept: flag(
      'accept what this comparison finds: edited values are not reported again, and products made again have their new ids',
    ),
  },
  notes: `Needs a probe of the store. A store that lists products or contacts is read. Any other that answers an update of nothing
with the whole record is asked by such updates: a title that was edited there by hand is then overwritten, and a product
that was deleted there exists for a moment, until it is removed again by its id. Compared is what the store last answered,
not what was sent. An interrupted comparison goes on where it was.
--restore makes a plan of what the last one found, which is sent by approve.`,
  examples: [
    'drift nightly-catalog',
    'drift nightly-catalog --sample 500',
    'drift nightly-catalog --restore',
    'drift nightly-catalog --accept',
  ],
  json: 'how many records were compared, edited (and in how many fields), deleted and made again, and how many products no job has sent (null: unknown); with --restore as for `plan`',
  action: 'drift',
  task: ({ read, subject: job }, _, { sample, restore, accept }) =>
    read({ does: 'drift', job, restore, accept }, { records: sample }),
  reported: (_invocation, _texts, { restore }) =>
    restore ? {} : { summarise: (failed) => driftSummary(failed) },
});
