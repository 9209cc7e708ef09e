import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { Agent, request } from 'undici';
import { isPassingStatus, retryAfterMs } from '../model/retry-after.ts';
import type { Notification } from './notification.ts';

/** How patient delivery is; a run waits for it, so it is bounded. */
export interface DeliveryPatience {
  readonly retries: number;
  readonly firstDelayMs: number;
  /** For one attempt. */
  readonly attemptMs: number;
  /** For everything. */
  readonly wholeMs: number;
}

const PATIENCE: DeliveryPatience = { retries: 3, firstDelayMs: 500, attemptMs: 5_000, wholeMs: 15_000 };

const LONGEST_ANSWER_BYTES = 64 * 1024;

/** An attempt that did not get through. The message names neither path nor query: they are the secret. */
class NotDelivered extends Error {
  readonly status: number | null;
  readonly retryAfterMs: number;

  constructor(message: string, status: number | null, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether another attempt may fare better. */
  get passes(): boolean {
    const { status } = this;
    return status === null || isPassingStatus(status);
  }
}

/**
 * Posts a notification to a webhook; gives null when it has arrived, else why not. Never rejects: what became of a
 * run does not depend on who hears of it. Retries what may pass, follows no redirect, ends within 15 seconds.
 */
export async function deliverNotification(
  url: string,
  notification: Notification,
  signal: AbortSignal,
  patience: DeliveryPatience = PATIENCE,
): Promise<string | null> {
  const whole = AbortSignal.timeout(patience.wholeMs);
  // Told to stop, an attempt under way may still end: it takes seconds at most.
  const waiting = AbortSignal.any([signal, whole]);
  // Closed at the end, so that no idle connection keeps a command from ending.
  const agent = new Agent({
    connect: { timeout: patience.attemptMs },
    maxResponseSize: LONGEST_ANSWER_BYTES,
  });
  const post = (body: object): Promise<void> => attempt(agent, url, notification.id, body, patience, whole);
  try {
    await pRetry(() => post(notification).catch((error: unknown) => plainer(error, notification, post)), {
      retries: patience.retries,
      minTimeout: patience.firstDelayMs,
      randomize: true,
      signal: whole,
      shouldRetry: ({ error }) => !signal.aborted && error instanceof NotDelivered && error.passes,
      onFailedAttempt: async ({ error, retriesLeft }) => {
        if (!(error instanceof NotDelivered) || !error.passes || retriesLeft === 0) return;
        await sleep(error.retryAfterMs, undefined, { signal: waiting });
      },
    });
    return null;
  } catch (error) {
    if (error instanceof NotDelivered) return error.message;
    return signal.aborted ? 'the process was told to stop' : `no answer within ${patience.wholeMs / 1_000} s`;
  } finally {
    await agent.destroy();
  }
}

/** Some chat tools take nothing but the fields they know: they get the text alone. */
async function plainer(
  error: unknown,
  { text }: Notification,
  post: (body: object) => Promise<void>,
): Promise<void> {
  if (!(error instanceof NotDelivered) || (error.status !== 400 && error.status !== 422)) throw error;
  await post({ text });
}

async function attempt(
  agent: Agent,
  url: string,
  id: string,
  body: object,
  { attemptMs }: DeliveryPatience,
  signal: AbortSignal,
): Promise<void> {
  const answer = await request(url, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': id },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]),
  }).catch((error: unknown) => {
    throw signal.aborted ? error : new NotDelivered(connectionProblem(error), null);
  });
  const { statusCode: status, headers } = answer;
  await answer.body.dump().catch(() => {});
  if (status >= 200 && status < 300) return;
  throw new NotDelivered(`it answered ${status}`, status, waitOf(headers['retry-after']));
}

function waitOf(header: string | string[] | undefined): number {
  return retryAfterMs(Array.isArray(header) ? header[0] : header, Date.now()) ?? 0;
}

function connectionProblem(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time';
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  return `no connection (${code})`;
}
