import { isPassingStatus } from '../../remote/remote-client.ts';
import type { Notification } from '../../report/run-document.ts';

/** A transport of notifications: a file of its own, and an entry in TRANSPORTS (deliver-notification.ts). */
export interface Transport {
  readonly name: string;
  /** Whether it accepts this address. */
  readonly takes: (address: URL) => boolean;
  /** Sends with `post`; called again after a temporary failure. */
  readonly send: (post: Post, notification: Notification) => Promise<void>;
}

/** Posts a text, or an object as JSON, to the address; rejects with NotDelivered. */
export type Post = (body: object | string) => Promise<void>;

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
