import { sampleOf } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import type { RunTask } from '../../run/execute-run.ts';
import type { ExportRequest } from '../../run/run-context.ts';
import { flag, JOB_ARGUMENT, SAMPLE_OPTIONS, text } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';

/** `storeferry run`: runs a job in this process. It plans and applies an import, or reads and writes an export. */
export const runCommand = defineRunCommand({
  arguments: JOB_ARGUMENT,
  options: {
    resend: flag('also send unchanged records, to a restored store'),
    ...SAMPLE_OPTIONS,
    full: flag('read all orders for an export with `mode: new`, not only recent ones'),
    since: text(
      'run or time',
      'write lost files of an export with `mode: new` again, from this run or time on; reads nothing',
    ),
  },
  examples: [
    'run nightly-catalog',
    'run nightly-catalog --only red-shirt,blue-shirt',
    'run list-statistics',
    'run new-orders --since 2026-11-24',
    'run nightly-catalog --json > result.json',
  ],
  action: 'run',
  task: async ({ read, subject: job }, _, { resend, since, full, ...sample }) =>
    forNewFiles(await read({ does: 'run', job, resend, sample: sampleOf(sample) }), { since, full }),
});

/** The task with what is asked of `mode: new`; UsageError for jobs that write no files of their own. */
function forNewFiles(task: RunTask, asked: Pick<ExportRequest, 'since' | 'full'>) {
  const { since, full } = asked;
  if (since === undefined && full !== true) return task;
  if (task.kind === 'export' && task.request.job.destination.mode === 'new')
    return { ...task, request: { ...task.request, ...asked } };
  const { name } = task.request.job;
  throw new UsageError(
    `${since === undefined ? '--full' : '--since'} is for exports with \`mode: new\`, which ${name} is not.`,
    {
      hint: `Leave it out: storeferry run ${name}`,
    },
  );
}
