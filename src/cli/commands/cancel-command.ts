import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../../model/run.ts';
import { InterruptedError, StateError, UsageError } from '../../model/storeferry-error.ts';
import { openRunQueue } from '../../queue/run-queue.ts';
import { nextSteps } from '../../report/run-document.ts';
import { statusWords } from '../../report/status-words.ts';
import { askToInterrupt, comparisonBefore, withLiveStatus } from '../../run/report/read-stored-report.ts';
import type { RunContext } from '../../run/run-context.ts';
import { counted } from '../../text/printable.ts';
import { requiredArgument } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { findQueued, findRun, type OpenContext, refuseUnknownRun } from '../open-context.ts';
import { recordCommand } from '../record-command.ts';

const POLL_MS = 250;

/** `storeferry cancel`: removes a waiting run from the queue, or requests the end of a running run and waits for it. */
export const cancelCommand = defineStateCommand({
  arguments: { run: requiredArgument('the id of a run, or its first characters') },
  options: {},
  examples: ['cancel k3v9x2'],
  async run(open, { run: id }) {
    const { context, terminal, program } = open;
    const running = (await findRun(context, id)) ?? (await removeFromQueue(open, id));
    const { id: run, job } = running;
    const record = (outcome: 'done' | 'refused') =>
      recordCommand(context, { action: 'cancel', job, run, outcome });
    if (!('status' in running)) {
      await record('done');
      return { text: `Removed run ${run} from the queue; it had not begun.\n` };
    }
    await askToInterrupt(context, run).catch(async (error: unknown) => {
      await record('refused');
      throw error;
    });
    await record('done');
    terminal.err(`Asked run ${run} of ${job} to end; requests in flight are finished first.\n`);
    const ended = await endOf(context, run);
    if (ended.status !== 'interrupted')
      return {
        text: `Run ${ended.id} ended before it could be interrupted: ${statusWords(ended.status)}.\n`,
      };
    const { applied = 0, unsent = 0 } = ended.totals ?? {};
    const left = `${counted(applied, 'record')} sent, ${counted(unsent, 'record')} left`;
    const [next] = nextSteps({ run: ended }, program);
    return {
      text: `Run ${ended.id} of ${ended.job} is interrupted: ${left}.\n${next === undefined ? '' : `${next.what} ${next.command}\n`}`,
    };
  },
});

/** Removes a run from the queue; returns the run if a worker has begun it meanwhile, or the comparison before it. */
async function removeFromQueue(open: OpenContext, typed: string): Promise<Run | Pick<Run, 'id' | 'job'>> {
  await using queue = await openRunQueue(open);
  const { id, queued } = await findQueued(queue, typed);
  const { job } = queued.action;
  if (queued.run !== null) return (await open.context.state.runs.get(queued.run)) ?? refuseUnknownRun(id);
  if (queued.error !== null) throw new UsageError(`Run ${id} of ${job} could not begin: ${queued.error}`);
  if (await queued.remove()) return { id, job };
  const comparison = await comparisonBefore(open.context, open.workspace, job);
  if (comparison !== undefined) return comparison;
  throw new StateError(`A worker is about to begin run ${id}.`, {
    hint: 'Wait a few seconds, then cancel it again.',
  });
}

async function endOf(context: RunContext, id: string): Promise<Run> {
  for (;;) {
    const found = await context.state.runs.get(id);
    if (found === undefined) throw new StateError(`The state has lost run ${id}.`);
    const run = await withLiveStatus(context, found);
    if (run.status !== 'running') return run;
    if (context.signal.aborted)
      throw new InterruptedError('No longer waiting. The run was asked to end and will end soon.');
    await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => {});
  }
}
