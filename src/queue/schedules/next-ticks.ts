import type { Queues } from '../open-queues.ts';

/** When each job is due next, as the queue keeps it: milliseconds since the epoch. */
export async function nextTicks(queues: Pick<Queues, 'ticks'>): Promise<ReadonlyMap<string, number>> {
  const schedulers = await queues.ticks().getJobSchedulers();
  return new Map(schedulers.flatMap(({ key, next }) => (next === undefined ? [] : [[key, next] as const])));
}
