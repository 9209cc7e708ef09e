import { isPassingStatus } from '../../model/retry-after-ms.ts';
import type { Notification } from '../../report/notification.ts';

/** A way to deliver notifications: a file of its own, and an entry in TRANSPORTS (deliver-notification.ts). */
export interface Transport {
  readonly name: string;
  /** Whether it delivers to this address. */
  readonly takes: (address: URL) => boolean;
  /** Sends with `post`, and is called again after a failure that may pass. */
  readonly send: (post: Post, notification: Notification) => Promise<void>;
}

/** Posts a text, or an object as JSON, to the address; rejects with NotDelivered. */
export type Post = (body: object | string) => Promise<void>;

/** An attempt that did not get through. The message has neither path nor query of the address: they are the secret. */
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
