import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { Queues } from './queues.ts';

/** The queues in a browser: bull-board, read-only. The dashboard has its own pages for actions. */
export interface QueueBoard {
  /** For Fastify: the board under a path. */
  readonly plugin: ReturnType<FastifyAdapter['registerPlugin']>;
  /** Shows the queues of these stores in addition to those of runs and ticks. */
  show(stores: readonly string[]): void;
}

/** The pages of the board in `dist/`. In the sources the package finds them itself. */
const PAGES = fileURLToPath(new URL('bull-board', import.meta.url));

/** The board of these queues, to be registered under `path`. */
export function queueBoard(queues: Queues, path: string, onBug: (error: Error) => void): QueueBoard {
  const adapter = new FastifyAdapter();
  adapter.setBasePath(path);
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: {
      ...(existsSync(PAGES) ? { uiBasePath: PAGES } : {}),
      uiConfig: {
        boardTitle: 'Storeferry queues',
        boardLogo: { path: '/assets/icon.svg' },
        favIcon: { default: '/assets/icon.svg', alternative: '/assets/icon.svg' },
        miscLinks: [{ text: 'Back to the dashboard', url: '/' }],
      },
    },
  });
  // The board's own handler would show the message of Redis, with the command and its data.
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
