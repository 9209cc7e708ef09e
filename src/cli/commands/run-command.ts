import { UsageError } from '../../model/storeferry-error.ts';
import { isExportRequest, type RunRequest } from '../../run/run-context.ts';
import {
  defineCommand,
  flag,
  JOB_ARGUMENT,
  JSON_FLAG,
  SAMPLE_OPTIONS,
  sampleOf,
  text,
} from '../define-command.ts';
import { RUN_SUMMARY, runInWorkspace } from '../run-in-workspace.ts';

/** `storeferry run`: runs a job in this process. It plans and applies an import, or reads and writes an export. */
export const runCommand = defineCommand({
  arguments: JOB_ARGUMENT,
  options: {
    json: JSON_FLAG,
    resend: flag('also send unchanged records (for a store restored from a backup)'),
    ...SAMPLE_OPTIONS,
    since: text(
      'run or time',
      'write the lost files of an export with `mode: new` again, from that of this run or time on; reads nothing',
    ),
  },
  examples: [
    'run nightly-catalog',
    'run nightly-catalog --only red-shirt,blue-shirt',
    'run list-statistics',
    'run new-orders --since 2026-11-24',
    'run nightly-catalog --json > result.json',
  ],
  json: RUN_SUMMARY,
  run: (invocation, { job }, { json, resend, since, ...sample }) =>
    runInWorkspace(invocation, { json, action: 'run', about: job }, async ({ workspace }, tools, name) =>
      tools.jobTask(writeAgain(await tools.readRequest(workspace, name, resend, sampleOf(sample)), since)),
    ),
});

/** The request to write lost files again, where that is asked; UsageError for jobs that write no files of their own. */
function writeAgain(request: RunRequest, since: string | undefined): RunRequest {
  if (since === undefined) return request;
  if (isExportRequest(request) && request.job.destination.mode === 'new') return { ...request, since };
  throw new UsageError(`--since is for exports with \`mode: new\`, which ${request.job.name} is not.`, {
    hint: `Leave it out: storeferry run ${request.job.name}`,
  });
}
