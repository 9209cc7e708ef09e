/** An email marketing list of a store, as the API answers it (storefront-api.md, section 2). */
export interface SubscriberList {
  readonly id: number;
  readonly name: string;
  /** Unix time in seconds; null when the store sent none. */
  readonly created: number | null;
  readonly subscribers: number | null;
  /** Open rate, 0 to 1. */
  readonly opens: number | null;
  /** Click rate, 0 to 1. */
  readonly clicks: number | null;
}
