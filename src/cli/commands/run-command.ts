import { defineCommand, flag, JOB_ARGUMENT, JSON_FLAG, SAMPLE_OPTIONS, sampleOf } from '../define-command.ts';
import { RUN_SUMMARY, runInWorkspace } from '../run-in-workspace.ts';

/** `storeferry run`: runs a job in this process. It plans and applies an import, or reads and writes an export. */
export const runCommand = defineCommand({
  arguments: JOB_ARGUMENT,
  options: {
    json: JSON_FLAG,
    resend: flag('also send unchanged records (for a store restored from a backup)'),
    ...SAMPLE_OPTIONS,
  },
  examples: [
    'run nightly-catalog',
    'run nightly-catalog --only red-shirt,blue-shirt',
    'run list-statistics',
    'run nightly-catalog --json > result.json',
  ],
  json: RUN_SUMMARY,
  run: (invocation, { job }, { json, resend, ...sample }) =>
    runInWorkspace(invocation, { json, action: 'run', about: job }, async ({ workspace }, tools) =>
      tools.jobTask(await tools.readRequest(workspace, job, resend, sampleOf(sample))),
    ),
});
