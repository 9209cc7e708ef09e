import type { BaseLogger } from 'pino';

/** The log of a worker: one line per step of a run or shard, with their ids. */
export type WorkerLog = Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>;

/** What the log says of a wait, whichever process it is of. */
export const WAITS_FOR_REQUESTS =
  'run waits: it is not known what became of earlier requests for these records';
