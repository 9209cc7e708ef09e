import { type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.ts';

export const API_KEY = 'key-of-the-sandbox-tests';

/** The fields of answers that tests look into; what they hold is for the test to say. */
export interface Body {
  readonly id?: unknown;
  readonly url?: unknown;
  readonly title?: unknown;
  readonly note?: unknown;
  readonly email?: unknown;
  readonly createdOn?: unknown;
  readonly memberId?: unknown;
  readonly subscribers?: unknown;
  readonly items?: readonly Body[];
  readonly totalCount?: unknown;
  readonly success?: unknown;
  readonly message?: unknown;
}

/** What came back, its body read as JSON. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface Client {
  readonly url: string;
  /** Sends with the right key; a body that is no string is sent as JSON. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** GETs an array. */
  list(path: string): Promise<readonly Body[]>;
  /** `POST /api/site/products?update_existing_product_by_url=true`. */
  upsert(product: unknown): Promise<Reply>;
}

/** A sandbox of its own on a free port, with a client that has its key. */
export async function setup(options: Partial<SandboxOptions> = {}): Promise<Client & AsyncDisposable> {
  const sandbox = await startSandbox({ port: 0, apiKey: API_KEY, ...options });
  return { ...client(sandbox.url), [Symbol.asyncDispose]: () => sandbox.close() };
}

/** A client for a sandbox that runs already. */
export function client(url: string): Client {
  async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${API_KEY}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
  async function sendForBody(...request: Parameters<typeof send>): Promise<Reply> {
    const { text, ...reply } = await send(...request);
    return { ...reply, body: text === '' ? {} : JSON.parse(text) };
  }
  return {
    url,
    send: sendForBody,
    list: async (path) => JSON.parse((await send('GET', path)).text),
    upsert: (product) =>
      sendForBody('POST', '/api/site/products?update_existing_product_by_url=true', product),
  };
}
