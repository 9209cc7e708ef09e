import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { Agent, request } from 'undici';
import type { Notify } from '../../config/job/job.ts';
import { errorCode } from '../../model/storeferry-error.ts';
import { retryAfterMs } from '../../remote/remote-client.ts';
import {
  type AttemptOptions,
  type Message,
  NotDelivered,
  type RecipientKind,
  type Transport,
} from './transport.ts';

/**
 * Posts the notification as JSON. Chat tools that accept only their own fields get only the text. With a secret, the signature is
 * the HMAC-SHA256 of the time, a point and the body, so that a receiver can refuse others and old ones.
 */
const webhook: Transport<'url'> = async ({ address, secret }, { notification }, { post }) => {
  const send = (body: object) => {
    const text = JSON.stringify(body);
    if (secret === undefined) return post(address, body);
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest('hex');
    return post(address, body, {
      'storeferry-timestamp': timestamp,
      'storeferry-signature': `v1=${signature}`,
    });
  };
  try {
    await send(notification);
  } catch (error) {
    if (!(error instanceof NotDelivered) || (error.status !== 400 && error.status !== 422)) throw error;
    await send({ text: notification.text });
  }
};

/** Posts the text to an incoming webhook of Slack. */
const slack: Transport<'slack'> = ({ address }, { notification }, { post }) =>
  post(address, { text: notification.text });

/** Posts a card with the text to a workflow of Microsoft Teams. */
const teams: Transport<'teams'> = ({ address }, { notification }, { post }) =>
  post(address, {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          type: 'AdaptiveCard',
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          version: '1.4',
          body: notification.text.split('\n').map((line, index) => ({
            type: 'TextBlock',
            text: line,
            wrap: true,
            ...(index === 0 ? { weight: 'bolder' } : {}),
          })),
        },
      },
    ],
  });

/** How a message is sent to a kind of recipient. Mail is loaded on first use. */
const TRANSPORTS: { readonly [Kind in RecipientKind]: Transport<Kind> } = {
  url: webhook,
  slack,
  teams,
  email: async (...sent) => (await import('./send-mail.ts')).sendMail(...sent),
};

/** Time limits of the delivery, which a run waits for. */
interface DeliveryPatience {
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
 * Delivers a message to a recipient; returns null if it was delivered, otherwise the cause. Never rejects,
 * because the result of a run does not depend on its notification. Retries temporary failures, follows no redirects,
 * and ends within 15 seconds.
 */
export async function deliverNotification(
  recipient: Notify,
  message: Message,
  signal: AbortSignal,
  patience: DeliveryPatience = PATIENCE,
): Promise<string | null> {
  const whole = AbortSignal.timeout(patience.wholeMs);
  // When the process is stopped, the current attempt may still end: it takes seconds at most.
  const waiting = AbortSignal.any([signal, whole]);
  // Closed at the end, so that no idle connection delays the end of a command.
  const agent = new Agent({
    connect: { timeout: patience.attemptMs },
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  const options: AttemptOptions = {
    post: (address, body, headers = {}) =>
      attempt(
        agent,
        address,
        { 'idempotency-key': message.notification.id, ...headers },
        body,
        patience,
        whole,
      ),
    attemptMs: patience.attemptMs,
    signal: whole,
  };
  try {
    await pRetry(() => send(recipient.kind, recipient, message, options), {
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

function send<Kind extends RecipientKind>(
  kind: Kind,
  ...sent: Parameters<Transport<Kind>>
): ReturnType<Transport<Kind>> {
  return TRANSPORTS[kind](...sent);
}

async function attempt(
  agent: Agent,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object | string,
  { attemptMs }: DeliveryPatience,
  signal: AbortSignal,
): Promise<void> {
  const isText = typeof body === 'string';
  const answer = await request(url, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': isText ? 'text/plain' : 'application/json', ...headers },
    body: isText ? body : JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]),
  }).catch((error: unknown) => {
    throw signal.aborted ? error : new NotDelivered(connectionProblem(error), null);
  });
  const { statusCode: status, headers: answered } = answer;
  await answer.body.dump().catch(() => {});
  if (status >= 200 && status < 300) return;
  throw new NotDelivered(`it answered ${status}`, status, waitOf(answered['retry-after']));
}

function waitOf(header: string | string[] | undefined): number {
  return retryAfterMs(Array.isArray(header) ? header[0] : header, Date.now()) ?? 0;
}

function connectionProblem(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time';
  return `no connection (${errorCode(error)})`;
}
