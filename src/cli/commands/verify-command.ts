import { verificationSummary } from '../../report/run-summary.ts';
import { parsedOption, requiredArgument, wholeNumber } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';

/**
 * `storeferry verify`: sends a random sample of acknowledged records again, to estimate how many records the store
 * has lost.
 */
export const verifyCommand = defineRunCommand({
  arguments: { job: requiredArgument('an import job: the name of a file in jobs/') },
  options: {
    sample: parsedOption('n', 'how many records to send again', 50, wholeNumber(1, 100_000_000)),
  },
  notes: `This writes to the store: each record of the sample is sent as the store last acknowledged it. Edits made in the
store since are overwritten, except consent and stock that can be read; products that were deleted there are created
again. It shows records that are gone or have another id; it cannot show an older value of a restored store, since the
value is sent with the request.`,
  examples: [
    'verify nightly-catalog',
    'verify nightly-catalog --sample 500',
    'verify nightly-catalog --json',
  ],
  json: 'the sample, and how many are as acknowledged, gone or changed',
  action: 'verify',
  task: ({ read, subject: job }, _, { sample }) => read({ does: 'verify', job }, { records: sample }),
  reported: () => ({ summarise: (failed) => verificationSummary(failed) }),
});
