import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { Agent, request } from 'undici';
import { errorCode } from '../../model/storeferry-error.ts';
import { retryAfterMs } from '../../remote/remote-client.ts';
import type { Notification } from '../../report/run-document.ts';
import { NotDelivered, type Post, type Transport } from './transport.ts';
import { webhook } from './webhook.ts';

/** All transports; the first that accepts an address is used. */
const TRANSPORTS: readonly Transport[] = [webhook];

/** Time limits of the delivery, which a run waits for. */
export interface DeliveryPatience {
  readonly retries: number;
  readonly firstDelayMs: number;
  /** For one attempt. */
  readonly attemptMs: number;
  /** For all attempts. */
  readonly wholeMs: number;
}

const PATIENCE: DeliveryPatience = { retries: 3, firstDelayMs: 500, attemptMs: 5_000, wholeMs: 15_000 };

const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Delivers a notification to an address; returns null if it was delivered, otherwise the cause. Never rejects,
 * because the result of a run does not depend on its notification. Retries temporary failures, follows no redirects,
 * and ends within 15 seconds.
 */
export async function deliverNotification(
  url: string,
  notification: Notification,
  signal: AbortSignal,
  patience: DeliveryPatience = PATIENCE,
): Promise<string | null> {
  const transport = TRANSPORTS.find(({ takes }) => takes(new URL(url)));
  if (transport === undefined) return 'nothing delivers to this kind of address';
  const whole = AbortSignal.timeout(patience.wholeMs);
  // When the process is stopped, the current attempt may still end: it takes seconds at most.
  const waiting = AbortSignal.any([signal, whole]);
  // Closed at the end, so that no idle connection delays the end of a command.
  const agent = new Agent({
    connect: { timeout: patience.attemptMs },
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  const post: Post = (body) => attempt(agent, url, notification.id, body, patience, whole);
  try {
    await pRetry(() => transport.send(post, notification), {
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
    return signal.aborted ? 'the process was stopped' : `no answer within ${patience.wholeMs / 1_000} s`;
  } finally {
    await agent.destroy();
  }
}

async function attempt(
  agent: Agent,
  url: string,
  id: string,
  body: object | string,
  { attemptMs }: DeliveryPatience,
  signal: AbortSignal,
): Promise<void> {
  const isText = typeof body === 'string';
  const answer = await request(url, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': isText ? 'text/plain' : 'application/json', 'idempotency-key': id },
    body: isText ? body : JSON.stringify(body),
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
  return `no connection (${errorCode(error)})`;
}
