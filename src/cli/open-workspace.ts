import { type RunAction, sampleOf } from '../model/action.ts';
import { InterruptedError } from '../model/storeferry-error.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { type RunEvent as InternalEvent, RunBug } from '../run/run-context.ts';
import { openContext } from './open-context.ts';

/** Choices of a plan or a run: what `--resend`, `--only` and `--limit` choose. */
export interface RunChoices {
  readonly resend?: boolean;
  readonly only?: readonly string[];
  readonly limit?: number;
}

/** What a run reports while it works. */
export type WorkEvent =
  | { readonly type: 'begun'; readonly run: string; readonly continued: boolean }
  /** Another run has what it needs; `heldBy` is that run, where it is known. */
  | { readonly type: 'waiting'; readonly needs: string; readonly heldBy: string | null }
  | {
      readonly type: 'progress';
      readonly step: string;
      readonly done: number;
      readonly total: number | null;
      readonly unit: string;
    };

/** The object that `--json` prints of a run, with all its figures (`RunSummary` in src/report/run-summary.ts). */
export interface WorkResult {
  readonly run: string;
  readonly job: string;
  readonly status: string;
  readonly error: string | null;
  readonly [figure: string]: unknown;
}

/** A plan or a run at work. */
export interface Work {
  /** For one reader. Progress that is not read is replaced by later progress. */
  readonly events: AsyncIterable<WorkEvent>;
  /**
   * How it ended, also where it failed after it began. Rejects where it could not begin: with an error whose `code` is `usage`,
   * `configuration`, `locked`, `state`, or `interrupted` while it waited. Later only where its lock was lost (`locked`), or its end or its
   * entry in the audit log could not be recorded (`state`). An error with none of these codes is a bug.
   */
  readonly result: Promise<WorkResult>;
  /** As Ctrl-C: finishes the requests in flight; the next run of the job continues. */
  interrupt(): void;
}

/** A workspace whose jobs a program plans and runs in its own process. */
export interface StoreferryWorkspace extends AsyncDisposable {
  /** Plans a job and sends nothing. */
  plan(job: string, choices?: RunChoices): Work;
  /** Runs a job: applies an import, or writes an export. */
  run(job: string, choices?: RunChoices): Work;
  /** Sends exactly the plan of a run that waits for approval, or was stopped by a safety limit. */
  approve(run: string): Work;
}

/** What `storeferry.config.ts` adds to a workspace. */
export interface Extensions {
  /** By the name in `custom: NAME` of a mapping. Null is a blank; an error rejects the record. */
  readonly transforms?: Readonly<Record<string, (text: string) => string | null>>;
  /** By the name in `source: { custom: NAME }` of a job: rows, all with the columns of the first. */
  readonly sources?: Readonly<
    Record<
      string,
      (
        signal: AbortSignal,
      ) => AsyncIterable<Readonly<Record<string, unknown>>> | Iterable<Readonly<Record<string, unknown>>>
    >
  >;
}

/** The same extensions, checked as they are typed. */
export function defineConfig(extensions: Extensions): Extensions {
  return extensions;
}

/**
 * The library of the package: opens the workspace in a folder, with the variables of this process and of its `.env`. Dispose of it at
 * the end.
 */
export async function openWorkspace(directory: string): Promise<StoreferryWorkspace> {
  const stop = new AbortController();
  const open = await openContext(directory, () => {}, stop.signal);
  const atWork = new Set<Promise<unknown>>();
  const begin = (action: RunAction): Work => {
    const interrupted = new AbortController();
    const events = eventQueue();
    const result = work(action, AbortSignal.any([stop.signal, interrupted.signal]), events.add).finally(
      events.end,
    );
    // Whoever reads events alone sees only that they end: the failure must not count as unhandled.
    const settled = result.then(
      () => {},
      () => {},
    );
    atWork.add(settled);
    void settled.finally(() => atWork.delete(settled));
    return { events: events.read(), result, interrupt: () => interrupted.abort(interruption()) };
  };
  const work = async (
    action: RunAction,
    signal: AbortSignal,
    onEvent: (event: InternalEvent) => void,
  ): Promise<WorkResult> => {
    const [{ executeRun, notifyRecipients }, { readTask }, { jsonSummary }, { recordCommand, runRecorder }] =
      await Promise.all([
        import('../run/execute-run.ts'),
        import('./read-request.ts'),
        import('./print-report.ts'),
        import('./record-command.ts'),
      ]);
    const record = runRecorder((done) => recordCommand(open.context, done), {
      action: action.does,
      job: 'run' in action ? null : action.job,
      run: 'run' in action ? action.run : null,
    });
    const context = {
      ...open.context,
      signal,
      onEvent(event: InternalEvent) {
        onEvent(event);
        // A failure is thrown at the end.
        if (event.type === 'begun') record(event.run).catch(() => {});
      },
    };
    try {
      const task = await readTask({ ...open, context }, action);
      const notify = (report: RunFacts) =>
        notifyRecipients(context, task.request.job.notify, report.run.job, { kind: 'ended', report });
      const report = await executeRun(context, task).catch(async (error: unknown) => {
        if (error instanceof RunBug) await notify(error.report);
        throw error;
      });
      const { id: run, job, status, error } = report.run;
      await notify(report);
      await record(report.run);
      return { ...jsonSummary(report, open.workspace.dir), run, job, status, error };
    } catch (error) {
      await record(null);
      throw error;
    }
  };
  const chosen = ({ resend = false, ...sample }: RunChoices = {}) => ({ resend, sample: sampleOf(sample) });
  return {
    plan: (job, choices) => begin({ does: 'plan', job, ...chosen(choices) }),
    run: (job, choices) => begin({ does: 'run', job, ...chosen(choices) }),
    approve: (run) => begin({ does: 'approve', run }),
    async [Symbol.asyncDispose]() {
      stop.abort(interruption());
      await Promise.all(atWork);
      await open[Symbol.asyncDispose]();
    },
  };
}

function interruption() {
  return new InterruptedError('Interrupted by the program that uses the library.');
}

/** Events until they end. Only the latest progress waits for its reader, so that nothing grows without one. */
function eventQueue() {
  const waiting: WorkEvent[] = [];
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  return {
    add(event: InternalEvent): void {
      const shown = publicEvent(event);
      if (shown === undefined) return;
      if (shown.type === 'progress' && waiting.at(-1)?.type === 'progress') waiting.pop();
      waiting.push(shown);
      wake.resolve();
    },
    end(): void {
      isOver = true;
      wake.resolve();
    },
    async *read(): AsyncGenerator<WorkEvent> {
      for (;;) {
        yield* waiting.splice(0);
        if (waiting.length > 0) continue;
        if (isOver) return;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
  };
}

function publicEvent(event: InternalEvent): WorkEvent | undefined {
  switch (event.type) {
    case 'begun':
      return { type: 'begun', run: event.run.id, continued: event.continued };
    case 'waiting':
      return { type: 'waiting', needs: event.needs, heldBy: event.heldBy?.run ?? null };
    case 'progress': {
      const { step, done, total, unit } = event;
      return { type: 'progress', step, done, total, unit };
    }
    default:
      return undefined;
  }
}
