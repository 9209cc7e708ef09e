import { failedVerification } from '../../report/run-summary.ts';
import { defineCommand, JSON_FLAG, parsedOption, requiredArgument, wholeNumber } from '../define-command.ts';
import { runInWorkspace } from '../run-in-workspace.ts';

/**
 * `storeferry verify`: sends a random sample of acknowledged records again, to estimate how many records the store
 * has lost.
 */
export const verifyCommand = defineCommand({
  arguments: { job: requiredArgument('an import job: the name of a file in jobs/') },
  options: {
    sample: parsedOption('n', 'how many records to send again', 50, wholeNumber(1, 100_000_000)),
    json: JSON_FLAG,
  },
  notes: `This writes to the store: each record of the sample is sent as the store last acknowledged it. Edits made in the
store since are overwritten, and products that were deleted there are created again. It shows records that are gone or
have another id; it cannot show an older value of a restored store, since the value is sent with the request.`,
  examples: [
    'verify nightly-catalog',
    'verify nightly-catalog --sample 500',
    'verify nightly-catalog --json',
  ],
  json: 'the sample, and how many are as acknowledged, gone or changed',
  run: (invocation, { job: named }, { sample, json }) =>
    runInWorkspace(
      invocation,
      { json, action: 'verify', about: named, summarise: failedVerification },
      (open, tools, name) => tools.readTask(open, { does: 'verify', job: name }, { records: sample }),
    ),
});
