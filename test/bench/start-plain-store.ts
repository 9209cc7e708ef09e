import { once } from 'node:events';
import { z } from 'zod';
import { forkProcess } from '../support/processes.ts';

const figures = z.object({ requests: z.number(), sendingMs: z.number(), bodies: z.array(z.string()) });

/** What the store saw since it was asked last: `sendingMs` is from the first request to the last answer. */
export type StoreFigures = z.infer<typeof figures>;

export interface PlainStore extends Disposable {
  readonly baseUrl: string;
  figures(): Promise<StoreFigures>;
}

/** Starts plain-store.ts. */
export async function startPlainStore(latencyMs = 0, keep = false): Promise<PlainStore> {
  const store = forkProcess(new URL('plain-store.ts', import.meta.url), [
    String(latencyMs),
    ...(keep ? ['keep'] : []),
  ]);
  const [port] = await once(store, 'message');
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    async figures() {
      store.send('figures');
      const [answer] = await once(store, 'message');
      return figures.parse(answer);
    },
    [Symbol.dispose]: () => store.disconnect(),
  };
}
