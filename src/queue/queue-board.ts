import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { Queues } from './queues.ts';

/** A look into the queues in a browser: bull-board, which only shows. What acts on runs has pages of its own. */
export interface QueueBoard {
  /** For Fastify: the board under a path. */
  readonly plugin: ReturnType<FastifyAdapter['registerPlugin']>;
  /** From now on these stores' queues are shown besides those of runs and ticks. */
  show(stores: readonly string[]): void;
}

/** Makes the board of these queues, to be registered under `path`. */
export function queueBoard(queues: Queues, path: string, onBug: (error: Error) => void): QueueBoard {
  const adapter = new FastifyAdapter();
  adapter.setBasePath(path);
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: {
      uiConfig: {
        boardTitle: 'Storeferry queues',
        boardLogo: { path: '/assets/icon.svg' },
        favIcon: { default: '/assets/icon.svg', alternative: '/assets/icon.svg' },
        miscLinks: [{ text: 'Back to the dashboard', url: '/' }],
      },
    },
  });
  // Its own would say what Redis said, with the command and what it carried.
  adapter.setErrorHandler((error) => {
    onBug(error);
    const message = 'The log of the dashboard shows why.';
    return { status: 500, body: { error: 'ERRORS.INTERNAL_SERVER_ERROR', message } };
  });
  let shown = '';
  return {
    plugin: adapter.registerPlugin(),
    show(stores) {
      const names = stores.join();
      if (names === shown) return;
      shown = names;
      const all: Queue[] = [queues.runs, queues.ticks(), ...stores.map((store) => queues.shards(store))];
      board.replaceQueues(all.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })));
    },
  };
}
