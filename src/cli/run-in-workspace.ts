import type { RunTask } from '../run/execute-run.ts';
import {
  type AnyArguments,
  type AnyOptions,
  type CommandParts,
  defineCommand,
  type Invocation,
  type TextsOf,
  type Typed,
} from './define-command.ts';
import type { MakeTask, TaskTools, WorkOptions } from './work-in-workspace.ts';

/** What commands of `defineRunCommand` print with `--json`, for the reference. */
export const RUN_SUMMARY = {
  ofRun: 'the run: its id, job and status, the counts of rows, records and operations, and `rejectsFile`',
} as const;

interface RunCommandParts<Arguments, Options> extends Omit<CommandParts<Arguments, Options>, 'run'> {
  readonly action: WorkOptions['action'];
  /** UsageError for options that do not fit together: then nothing is opened. */
  check?(options: Typed<Options>): void;
  /** What the run does; called once per store if the job has several. */
  task(tools: TaskTools, texts: TextsOf<Arguments>, options: Typed<Options>): Promise<RunTask>;
  /** How it is reported, if otherwise than every run. */
  reported?(
    invocation: Invocation,
    texts: TextsOf<Arguments>,
    options: Typed<Options>,
  ): Partial<Pick<WorkOptions, 'onPlan' | 'render' | 'summarise'>>;
}

/** Defines a command that begins a run. Its first argument names the job, or the run that it is about. */
export function defineRunCommand<const Arguments extends AnyArguments, Options extends AnyOptions>({
  action,
  check,
  task,
  reported,
  ...parts
}: RunCommandParts<Arguments, Options>) {
  return defineCommand<Arguments, Options>({
    json: RUN_SUMMARY,
    ...parts,
    async run(invocation, texts, options) {
      const [about = ''] = Object.values<unknown>(texts);
      const how = { json: options.json, action, about: String(about) };
      return await runInWorkspace(
        invocation,
        { ...how, ...reported?.(invocation, texts, options) },
        async (tools) => await task(tools, texts, options),
        () => check?.(options),
      );
    },
  });
}

/**
 * The common part of all commands that begin a run: opens the workspace, shows progress, ends cleanly on Ctrl-C,
 * prints the report and returns the exit code. What executes a task is loaded while the state opens, which halves the
 * start time; for help it is not loaded.
 */
export async function runInWorkspace(
  invocation: Invocation,
  options: WorkOptions,
  makeTask: MakeTask,
  check: () => void = () => {},
): Promise<number> {
  const [{ withJsonResult }, { jobOf, workInWorkspace }] = await Promise.all([
    import('./with-json-result.ts'),
    import('./work-in-workspace.ts'),
  ]);
  return await withJsonResult(invocation, { ...options, job: jobOf(options) }, (attempt) => {
    check();
    return workInWorkspace(invocation, options, makeTask, attempt);
  });
}
