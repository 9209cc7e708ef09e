import type { Invocation } from './define-command.ts';
import type { MakeTask, WorkOptions } from './work-in-workspace.ts';

/** What these commands print with `--json`, for the reference. */
export const RUN_SUMMARY = {
  ofRun: 'the run: its id, job and status, the counts of rows, records and operations, and `rejectsFile`',
} as const;

/**
 * The common part of all commands that begin a run: opens the workspace, shows progress, ends cleanly on Ctrl-C,
 * prints the report and returns the exit code. What executes a task is loaded while the state opens, which halves the
 * start time; for help it is not loaded.
 */
export async function runInWorkspace(
  invocation: Invocation,
  options: WorkOptions,
  makeTask: MakeTask,
): Promise<number> {
  const [{ withJsonResult }, { jobOf, workInWorkspace }] = await Promise.all([
    import('./with-json-result.ts'),
    import('./work-in-workspace.ts'),
  ]);
  return await withJsonResult(invocation, { ...options, job: jobOf(options) }, (attempt) =>
    workInWorkspace(invocation, options, makeTask, attempt),
  );
}
