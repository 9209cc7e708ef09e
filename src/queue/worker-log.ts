import type { BaseLogger } from 'pino';

/** Where a worker says what it does: one line a step of a run or shard, with their ids. */
export type WorkerLog = Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>;
