/** One request as the store saw it. Times are milliseconds of a monotonic clock. */
export interface LoggedRequest {
  /** Counted from 1 in order of arrival. */
  readonly number: number;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Product url or contact id; null for reads. A delete has the url of the product, if the store has it. */
  readonly key: string | null;
  readonly startedAt: number;
  /** When the answer was sent or the connection gone; null while the request is open. */
  endedAt: number | null;
  readonly bodyHash: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  /** What was answered; null without an answer. */
  status: number | null;
  /** Whether it changed what the store keeps. */
  applied: boolean;
}

/** What the log of a store comes to. */
export interface Figures {
  readonly requests: number;
  /** Products beyond the first for their url. */
  readonly duplicates: number;
  /** The most requests for one key that were open at the same time. */
  readonly maxOverlap: number;
  /** The most requests open at the same time. */
  readonly maxOpen: number;
  readonly byStatus: Readonly<Record<string, number>>;
}

/** Every request, with running figures. */
export interface RequestLog {
  readonly requests: LoggedRequest[];
  open(entry: Omit<LoggedRequest, 'number' | 'endedAt' | 'status' | 'applied'>): LoggedRequest;
  close(entry: LoggedRequest, at: number): void;
  /** The body that last took effect for the key. */
  readonly lastBodies: Map<string, string>;
  readonly requestsByKey: Map<string, number>;
  maxOverlap(): number;
  maxOpen(): number;
  openNow(): number;
  byStatus(): Record<string, number>;
}

export function requestLog(): RequestLog {
  const requests: LoggedRequest[] = [];
  const requestsByKey = new Map<string, number>();
  const openByKey = new Map<string, number>();
  let maxOverlap = 0;
  let maxOpen = 0;
  let openNow = 0;

  return {
    requests,
    requestsByKey,
    lastBodies: new Map(),
    open(seen) {
      const entry = { ...seen, number: requests.length + 1, endedAt: null, status: null, applied: false };
      requests.push(entry);
      maxOpen = Math.max(maxOpen, ++openNow);
      if (entry.key !== null) {
        requestsByKey.set(entry.key, (requestsByKey.get(entry.key) ?? 0) + 1);
        const open = (openByKey.get(entry.key) ?? 0) + 1;
        openByKey.set(entry.key, open);
        maxOverlap = Math.max(maxOverlap, open);
      }
      return entry;
    },
    close(entry, at) {
      if (entry.endedAt !== null) return;
      entry.endedAt = at;
      openNow--;
      if (entry.key !== null) openByKey.set(entry.key, (openByKey.get(entry.key) ?? 1) - 1);
    },
    maxOverlap: () => maxOverlap,
    maxOpen: () => maxOpen,
    openNow: () => openNow,
    byStatus() {
      const counts: Record<string, number> = {};
      for (const { status } of requests) {
        const name = status === null ? 'none' : String(status);
        counts[name] = (counts[name] ?? 0) + 1;
      }
      return counts;
    },
  };
}
