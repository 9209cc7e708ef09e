import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { Agent, request } from 'undici';
import type { Notify } from '../../config/job/job.ts';
import { codeOf, errorCode } from '../../model/storeferry-error.ts';
import { isTransientStatus, retryAfterMs } from '../../remote/remote-client.ts';
import type { Notification } from '../../report/run-document.ts';

/** The kind of a recipient: the key of `notify` that has its address. */
type RecipientKind = Notify['kind'];

/** What a recipient gets. */
interface Message {
  readonly notification: Notification;
  /** The report of the run as a page; null if there is none. */
  readonly report: string | null;
}

/** Time limits and means of one attempt. */
interface AttemptOptions {
  /** Posts an object as JSON to the address of the recipient; rejects with NotDelivered. */
  readonly post: (address: string, body: object, headers?: Readonly<Record<string, string>>) => Promise<void>;
  readonly attemptMs: number;
  readonly signal: AbortSignal;
}

/** Sends to one kind of recipient; called again after a temporary failure. */
type Transport<Kind extends RecipientKind> = (
  recipient: Extract<Notify, { readonly kind: Kind }>,
  message: Message,
  options: AttemptOptions,
) => Promise<void>;

/** A failed attempt. The message has neither path nor query of the address, because they are secret. */
class NotDelivered extends Error {
  readonly status: number | null;
  readonly retryAfterMs: number;

  constructor(message: string, status: number | null, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether another attempt may succeed. */
  get isTransient(): boolean {
    const { status } = this;
    return status === null || isTransientStatus(status);
  }
}

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
            ...(index === 0 && { weight: 'bolder' }),
          })),
        },
      },
    ],
  });

/** A relay on this machine may have no certificate. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/**
 * Sends a mail with the report of the run. Only over TLS, except to a relay on this machine: without `requireTLS` the client falls
 * back to plain text where somebody removes the offer of STARTTLS.
 */
const sendMail: Transport<'email'> = async (
  { server, from, address },
  { notification, report },
  { attemptMs, signal },
) => {
  // Loaded on first use.
  const { createTransport } = await import('nodemailer');
  const { hostname, protocol, port, username, password } = new URL(server);
  const isLocal = LOOPBACK.test(hostname);
  // One connection for each mail: a pool loses mails that wait in it.
  const isSecure = protocol === 'smtps:';
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    secure: isSecure,
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    requireTLS: !isLocal,
    ignoreTLS: isLocal,
    connectionTimeout: attemptMs,
    greetingTimeout: attemptMs,
    socketTimeout: attemptMs,
    socketCloseTimeout: 0,
  });
  const [subject = ''] = notification.text.split('\n');
  try {
    await transport.sendMail({
      from,
      // The time limits of the client begin anew with every byte of the server.
      signal,
      to: [...address],
      subject,
      text: notification.text,
      // Equal for repeated deliveries: a mail server or a reader recognises the second one.
      messageId: `<${notification.id}@storeferry>`,
      attachments:
        report === null ? [] : [{ filename: 'report.html', content: report, contentType: 'text/html' }],
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new NotDelivered(...problemOf(error));
  } finally {
    transport.close();
  }
};

/** How a message is sent to a kind of recipient. */
const TRANSPORTS: { readonly [Kind in RecipientKind]: Transport<Kind> } = {
  url: webhook,
  slack,
  teams,
  email: sendMail,
};

/** Time limits of the delivery, which a run waits for. */
const DELIVERY_LIMITS = {
  retries: 3,
  firstDelayMs: 500,
  /** For one attempt. */
  attemptMs: 5_000,
  /** For all attempts. */
  allAttemptsMs: 15_000,
};
type DeliveryLimits = Readonly<typeof DELIVERY_LIMITS>;

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
  limits: DeliveryLimits = DELIVERY_LIMITS,
): Promise<string | null> {
  const deadline = AbortSignal.timeout(limits.allAttemptsMs);
  // When the process is stopped, the current attempt may still end: it takes seconds at most.
  const waiting = AbortSignal.any([signal, deadline]);
  // Closed at the end, so that no idle connection delays the end of a command.
  const agent = new Agent({
    connect: { timeout: limits.attemptMs },
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  const options: AttemptOptions = {
    post: (address, body, headers = {}) =>
      attempt(
        agent,
        address,
        { 'idempotency-key': message.notification.id, ...headers },
        body,
        limits,
        deadline,
      ),
    attemptMs: limits.attemptMs,
    signal: deadline,
  };
  let last: NotDelivered | undefined;
  try {
    await pRetry(() => send(recipient.kind, recipient, message, options), {
      retries: limits.retries,
      minTimeout: limits.firstDelayMs,
      randomize: true,
      signal: deadline,
      shouldRetry: ({ error }) => !signal.aborted && error instanceof NotDelivered && error.isTransient,
      onFailedAttempt: async ({ error, retriesLeft }) => {
        if (!(error instanceof NotDelivered) || !error.isTransient || retriesLeft === 0) return;
        last = error;
        if (error.retryAfterMs > limits.allAttemptsMs) throw error;
        await sleep(error.retryAfterMs, undefined, { signal: waiting });
      },
    });
    return null;
  } catch (error) {
    if (error instanceof NotDelivered) return error.message;
    if (signal.aborted) return 'the process was stopped';
    return last?.message ?? `no answer within ${limits.allAttemptsMs / 1_000} s`;
  } finally {
    await agent.destroy();
  }
}

function send<Kind extends RecipientKind>(kind: Kind, ...sent: Parameters<Transport<Kind>>) {
  return TRANSPORTS[kind](...sent);
}

async function attempt(
  agent: Agent,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object,
  { attemptMs }: DeliveryLimits,
  signal: AbortSignal,
) {
  const answer = await request(url, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]),
  }).catch((error: unknown) => {
    throw signal.aborted ? error : new NotDelivered(connectionProblem(error), null);
  });
  const { statusCode: status, headers: answered } = answer;
  await answer.body.dump().catch(() => {});
  if (status >= 200 && status < 300) return;
  throw new NotDelivered(`it answered ${status}`, status, waitOf(answered['retry-after']));
}

function waitOf(header: string | string[] | undefined) {
  return retryAfterMs(Array.isArray(header) ? header[0] : header, Date.now()) ?? 0;
}

function connectionProblem(error: unknown) {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time';
  return `no connection (${errorCode(error)})`;
}

/** Answers of mail servers with a 5 are final, those with a 4 pass. */
function problemOf(error: unknown): [message: string, status: number | null] {
  const answered =
    error instanceof Error && 'responseCode' in error && typeof error.responseCode === 'number'
      ? error.responseCode
      : null;
  if (answered !== null) return [`the mail server answered ${answered}`, answered >= 500 ? 400 : null];
  if (codeOf(error) === 'ETLS') return ['the mail server offers no TLS', 400];
  return [`no connection (${errorCode(error)})`, null];
}
