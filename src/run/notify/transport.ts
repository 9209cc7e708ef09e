import type { Notify } from '../../config/job/job.ts';
import { isPassingStatus } from '../../remote/remote-client.ts';
import type { Notification } from '../../report/run-document.ts';

/** The kind of a recipient: the key of `notify` that has its address. */
export type RecipientKind = Notify['kind'];

/** What a recipient gets. */
export interface Message {
  readonly notification: Notification;
  /** The report of the run as a page; null if there is none. */
  readonly report: string | null;
}

/** Time limits and means of one attempt. */
export interface AttemptOptions {
  /** Posts a text, or an object as JSON, to the address of the recipient; rejects with NotDelivered. */
  readonly post: (
    address: string,
    body: object | string,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<void>;
  readonly attemptMs: number;
  readonly signal: AbortSignal;
}

/** Sends to one kind of recipient; called again after a temporary failure. */
export type Transport<Kind extends RecipientKind> = (
  recipient: Extract<Notify, { readonly kind: Kind }>,
  message: Message,
  options: AttemptOptions,
) => Promise<void>;

/** A failed attempt. The message has neither path nor query of the address, because they are secret. */
export class NotDelivered extends Error {
  readonly status: number | null;
  readonly retryAfterMs: number;

  constructor(message: string, status: number | null, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether another attempt may succeed. */
  get passes(): boolean {
    const { status } = this;
    return status === null || isPassingStatus(status);
  }
}
