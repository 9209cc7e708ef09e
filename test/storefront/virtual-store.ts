import { sleep } from '../../src/model/clock.ts';
import { type Exchange, NoAnswer, type RawAnswer } from '../../src/storefront/exchange.ts';
import { type Gate, gate, type OnStorefrontEvent, type SharedPause } from '../../src/storefront/gate/gate.ts';
import type { SharedRate } from '../../src/storefront/gate/rate-limit.ts';
import { type Send, sender } from '../../src/storefront/sender.ts';
import { abortListeners } from '../../src/storefront/wait-queue.ts';
import { type FakeClock, fakeClock } from '../support/fake-clock.ts';
import { seededRandom } from '../support/store/random.ts';

/** What the virtual store makes of a request: how long it takes, and what it answers. */
export interface VirtualAnswer {
  readonly afterMs: number;
  /** Null: the connection is lost instead. */
  readonly status: number | null;
  readonly retryAfter?: string;
  readonly body?: string;
}

/** A request as the virtual store saw it, in milliseconds of the fake clock. */
export interface VirtualRequest {
  readonly path: string;
  readonly at: number;
  status: number | null;
}

interface VirtualOptions {
  readonly answer: (arrived: { open: number; now: number; number: number; path: string }) => VirtualAnswer;
  readonly concurrency?: number;
  readonly requestsPerSecond?: number;
  readonly seed?: number;
  readonly onEvent?: OnStorefrontEvent;
  readonly sharedPause?: SharedPause;
  readonly sharedRate?: SharedRate;
}

/** The real gate and sender before a store that takes only time of a fake clock: an hour passes in a moment. */
export interface Virtual {
  readonly clock: FakeClock;
  readonly gate: Gate;
  readonly sender: { readonly send: Send };
  readonly requests: readonly VirtualRequest[];
}

export function virtualStore(options: VirtualOptions): Virtual {
  const {
    answer,
    concurrency = 64,
    requestsPerSecond,
    seed = 1,
    onEvent = () => {},
    sharedPause,
    sharedRate,
  } = options;
  const clock = fakeClock();
  const random = seededRandom(seed);
  const aborts = abortListeners();
  const requests: VirtualRequest[] = [];
  let open = 0;
  const exchange: Exchange = {
    async send({ path }, ...signals) {
      const request: VirtualRequest = { path, at: clock.monotonic(), status: null };
      requests.push(request);
      open++;
      const {
        afterMs,
        status,
        retryAfter,
        body: said,
      } = answer({
        open,
        now: request.at,
        number: requests.length,
        path,
      });
      try {
        await sleep(clock, afterMs, ...signals);
      } finally {
        open--;
      }
      request.status = status;
      if (status === null) throw new NoAnswer('connection-lost', 'the connection was lost', true, undefined);
      const body = said ?? (status < 300 ? '{"id":1}' : '{"success":false,"message":"no"}');
      return { status, body, retryAfter, location: undefined } satisfies RawAnswer;
    },
    close: async () => {},
  };
  const access = gate({
    concurrency,
    requestsPerSecond,
    clock,
    onEvent,
    sharedPause,
    sharedRate,
    aborts,
  });
  return {
    clock,
    gate: access,
    sender: { send: sender({ exchange, gate: access, apiKey: 'key', clock, random }) },
    requests,
  };
}
