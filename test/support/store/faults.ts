/** What the store answers instead of the truth, or does instead of answering. */
export type Misbehaviour =
  /** Closes the connection without an answer, before or after the request took effect. */
  | { readonly kind: 'reset'; readonly applied: boolean }
  /** Never answers; the connection stays open until somebody gives up. */
  | { readonly kind: 'hang'; readonly applied: boolean }
  /** Announces the whole length, sends half the body, closes. */
  | { readonly kind: 'half'; readonly applied: boolean }
  /** Waits, but no longer than until the store behaves again, then behaves. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Answers this, whatever was asked. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: string;
      readonly applied: boolean;
    }
  /** Applies, and sends the true answer with something after it inside the announced length. */
  | { readonly kind: 'trailing'; readonly text: string }
  /** Applies, and answers another title than was sent. */
  | { readonly kind: 'other title' };

/** Which requests a fault strikes. Every condition given must hold. */
export interface FaultRule {
  /** Shown in the figures; by default made from the misbehaviour. */
  readonly name?: string;
  readonly does: Misbehaviour;
  /** 0 to 1; by default always. */
  readonly probability?: number;
  /** Product urls or contact ids; a list or a test. */
  readonly keys?: readonly string[] | ((key: string) => boolean);
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From the nth request the store sees on, counted from 1. */
  readonly from?: number;
  /** Up to and including the nth request. */
  readonly until?: number;
  /** How often the fault strikes before it is spent. */
  readonly times?: number;
  /** How often it strikes each key. */
  readonly timesPerKey?: number;
}

const json = { 'content-type': 'application/json' };

function answer(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = json,
): Misbehaviour {
  return { kind: 'answer', status, headers, body, applied: false };
}

/** The connection is reset before anything took effect. */
export const resetBefore: Misbehaviour = { kind: 'reset', applied: false };
/** The request takes effect, then the connection is reset: the caller cannot know. */
export const resetAfter: Misbehaviour = { kind: 'reset', applied: true };
/** The request is swallowed. */
export const hang: Misbehaviour = { kind: 'hang', applied: false };
/** The request takes effect; of the answer only half arrives. */
export const halfAnswer: Misbehaviour = { kind: 'half', applied: true };
/** 200 with a page for people. */
export const html: Misbehaviour = answer(200, '<!doctype html><title>Maintenance</title>', {
  'content-type': 'text/html',
});
/** 200 without a body. */
export const empty: Misbehaviour = answer(200, '');
/** 200 that says it failed. */
export const successFalse: Misbehaviour = answer(200, '{"success":false,"message":"Not saved"}');
/** 200 with this JSON, and nothing happened. */
export function lie(body: string): Misbehaviour {
  return answer(200, body);
}
/** The true answer and then a word too many. */
export const trailing: Misbehaviour = { kind: 'trailing', text: '\nDone.' };
/** Shows the title in another way than it was sent. */
export const otherTitle: Misbehaviour = { kind: 'other title' };
/** The key is not (or no longer) good. */
export const unauthorized: Misbehaviour = errorAnswer(401, 'Invalid API key');

/**
 * Waits this long before behaving, but no longer than until `store.behave()`: a minute holds a run where a test wants it.
 */
export function delay(ms: number): Misbehaviour {
  return { kind: 'delay', ms };
}

/** An error body with this status (storefront-api.md, section 7); `headers` such as `retry-after`. */
export function errorAnswer(
  status: number,
  message = `Status ${status}`,
  headers: Readonly<Record<string, string>> = {},
): Misbehaviour {
  return answer(status, JSON.stringify({ success: false, message }), { ...json, ...headers });
}

/** The request takes effect, and is answered with an error all the same. */
export function appliedButError(status: number): Misbehaviour {
  return {
    kind: 'answer',
    status,
    headers: json,
    body: `{"success":false,"message":"Status ${status}"}`,
    applied: true,
  };
}

/** 429 or 503 with `Retry-After`: seconds, an HTTP date, or anything else to try. */
export function retryLater(retryAfter: string, status = 429): Misbehaviour {
  return errorAnswer(status, 'Slow down', { 'retry-after': retryAfter });
}

/** A redirect; 301, 302, 303, 307 or 308. */
export function redirect(status: number, location: string): Misbehaviour {
  return answer(status, '', { location });
}

function nameOf(does: Misbehaviour): string {
  switch (does.kind) {
    case 'answer':
      return `${does.status}${does.applied ? ' applied' : ''}`;
    case 'reset':
    case 'hang':
    case 'half':
      return `${does.kind} ${does.applied ? 'after' : 'before'}`;
    default:
      return does.kind;
  }
}

/** Chooses what strikes a request, and counts what struck. */
export interface FaultPlan {
  add(rule: FaultRule): void;
  clear(): void;
  /** All that strikes the nth request: delays first, then at most one other. */
  strike(request: { number: number; method: string; key: string | null }): Misbehaviour[];
  /** How often each fault fired, by name. */
  fired(): Record<string, number>;
}

/** An empty plan; `random` decides on probabilities. */
export function faultPlan(random: () => number): FaultPlan {
  let rules: { rule: FaultRule; name: string; struck: number; perKey: Map<string, number> }[] = [];
  const fired: Record<string, number> = {};

  const matches = (
    { rule, struck, perKey }: (typeof rules)[number],
    request: { number: number; method: string; key: string | null },
  ): boolean => {
    if (request.number < (rule.from ?? 1) || request.number > (rule.until ?? Number.POSITIVE_INFINITY))
      return false;
    if (rule.method !== undefined && rule.method !== request.method) return false;
    if (struck >= (rule.times ?? Number.POSITIVE_INFINITY)) return false;
    if (rule.timesPerKey !== undefined && (perKey.get(request.key ?? '') ?? 0) >= rule.timesPerKey)
      return false;
    if (rule.keys !== undefined) {
      if (request.key === null) return false;
      const hit = typeof rule.keys === 'function' ? rule.keys(request.key) : rule.keys.includes(request.key);
      if (!hit) return false;
    }
    return rule.probability === undefined || random() < rule.probability;
  };

  return {
    add(rule) {
      rules.push({ rule, name: rule.name ?? nameOf(rule.does), struck: 0, perKey: new Map() });
    },
    clear() {
      rules = [];
    },
    strike(request) {
      const delays: Misbehaviour[] = [];
      for (const entry of rules) {
        if (!matches(entry, request)) continue;
        entry.struck++;
        entry.perKey.set(request.key ?? '', (entry.perKey.get(request.key ?? '') ?? 0) + 1);
        fired[entry.name] = (fired[entry.name] ?? 0) + 1;
        if (entry.rule.does.kind !== 'delay') return [...delays, entry.rule.does];
        delays.push(entry.rule.does);
      }
      return delays;
    },
    fired: () => ({ ...fired }),
  };
}
