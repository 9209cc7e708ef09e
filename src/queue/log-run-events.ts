import type { RunEvent } from '../run/events.ts';
import { WAITS_FOR_REQUESTS, type WorkerLog } from './worker-log.ts';

const PROGRESS_EVERY_MS = 10_000;

/** Logs the events of a run, with its id. */
export function logRunEvents(log: WorkerLog, job: string, clock: () => number): (event: RunEvent) => void {
  let run: string | null = null;
  let loggedAt = clock();
  return (event) => {
    switch (event.type) {
      case 'begun':
        run = event.run.id;
        return log.info({ run, job, continued: event.continued }, 'run begun');
      case 'sampled':
        return log.info({ run, job, records: event.records, known: event.known }, 'sample is sent again');
      case 'waiting':
        return log.info({ run, job, heldBy: event.heldBy, needs: event.needs }, 'run waits');
      case 'waiting-for-requests':
        return log.info({ run, job, operations: event.operations, ms: event.ms }, WAITS_FOR_REQUESTS);
      case 'state-loss':
        return log.warn({ run, job, ...event.loss }, 'the state has lost a part of what was sent');
      case 'not-told':
        return log.warn(
          { run, job, host: event.host, problem: event.problem },
          'the notification of its end could not be sent',
        );
      case 'report-not-written':
        return log.warn({ run, job, problem: event.problem }, 'its report could not be written');
      case 'progress': {
        if (Math.abs(clock() - loggedAt) < PROGRESS_EVERY_MS) return;
        loggedAt = clock();
        const { step, done, total, unit } = event;
        return log.info({ run, job, step, done, total, unit }, 'progress');
      }
      default:
        return event satisfies never;
    }
  };
}
