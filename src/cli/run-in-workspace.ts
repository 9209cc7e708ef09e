import type { Invocation } from './define-command.ts';
import type { JsonResultOptions } from './with-json-result.ts';
import type { Work } from './work-in-workspace.ts';

/** What `--json` of these commands prints, for the reference. */
export const RUN_SUMMARY =
  'the run: its id, job and status, the counts of rows, records and operations, and `rejectsFile`';

/**
 * What run, plan, approve and retry have in common: opens the workspace, shows progress, ends cleanly on Ctrl-C,
 * prints the report, gives the exit code. What a command does is loaded while the state opens, which halves the start;
 * for the help of a command nothing of it is loaded.
 */
export async function runInWorkspace(
  invocation: Invocation,
  options: JsonResultOptions,
  loadWork: () => Promise<Work>,
): Promise<number> {
  const [{ withJsonResult }, { workInWorkspace }] = await Promise.all([
    import('./with-json-result.ts'),
    import('./work-in-workspace.ts'),
  ]);
  return await withJsonResult(invocation, options, (attempt) =>
    workInWorkspace(invocation, options, loadWork, attempt),
  );
}
