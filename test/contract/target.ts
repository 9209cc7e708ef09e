import { randomBytes } from 'node:crypto';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';

/** What came back: the body as text, and read as JSON when it is JSON. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly json: unknown;
}

/** The store the suite is pointed at. */
export interface Target extends AsyncDisposable {
  /** `STORE_URL` was given: nothing is known but the document, and what is there may be somebody's shop. */
  readonly live: boolean;
  /** Whether anything but GET may be sent. */
  readonly mayWrite: boolean;
  /** A contact that may be changed, if there is one. */
  readonly contactId: string | undefined;
  /** Sends with key and User-Agent, follows no redirect; refuses to write where it may not. */
  send(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
  /** A title and a url that say what they are and belong to no other record. */
  newProduct(): { readonly title: string; readonly url: string; readonly hidden: true };
  /** `POST /api/site/products` with the query; whatever it creates is deleted when the target is disposed of. */
  createProduct(body: unknown, query?: string): Promise<Answer>;
}

/**
 * The store that the environment names with `STORE_URL` and `STORE_API_KEY`; else a new sandbox in memory. A named store
 * is only read, unless `STORE_CONTRACT_WRITES=yes`; its contacts are left alone, unless `STORE_CONTRACT_CONTACT` is the
 * id of one that may be changed (its note is).
 */
export async function openTarget(env: NodeJS.ProcessEnv = process.env): Promise<Target> {
  const url = env['STORE_URL'] || undefined;
  const givenKey = env['STORE_API_KEY'] || undefined;
  if ((url === undefined) !== (givenKey === undefined)) {
    throw new Error('STORE_URL and STORE_API_KEY go together: set both, or neither for a sandbox of its own');
  }
  const live = url !== undefined;
  const apiKey = givenKey ?? 'contract-test-key';
  const sandbox = live ? undefined : await startSandbox({ port: 0, apiKey });
  const baseUrl = (url ?? sandbox?.url ?? '').replace(/\/+$/, '');
  const mayWrite = !live || env['STORE_CONTRACT_WRITES'] === 'yes';
  const createdIds = new Set<number>();

  const send: Target['send'] = async (method, path, { body, headers = {} } = {}) => {
    if (method !== 'GET' && !mayWrite)
      throw new Error(`${method} ${path} would write to a store that is only read`);
    const response = await fetch(baseUrl + path, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'user-agent': 'storeferry-contract-test/1',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return {
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      json: parseJson(await response.text()),
    };
  };

  return {
    live,
    mayWrite,
    contactId: mayWrite ? env['STORE_CONTRACT_CONTACT'] || (live ? undefined : '1001') : undefined,
    send,
    newProduct() {
      const name = randomBytes(6).toString('hex');
      return {
        title: `Storeferry contract test ${name}, to be deleted`,
        url: `storeferry-contract-test-${name}`,
        hidden: true,
      };
    },
    async createProduct(body, query = '?update_existing_product_by_url=true') {
      const answer = await send('POST', `/api/site/products${query}`, { body });
      const id = idIn(answer.json);
      if (id !== undefined) createdIds.add(id);
      return answer;
    },
    async [Symbol.asyncDispose]() {
      const leftBehind: number[] = [];
      for (const id of createdIds) {
        const { status } = await send('DELETE', `/api/site/products/${id}`);
        if (status >= 300 && status !== 404) leftBehind.push(id);
      }
      await sandbox?.close();
      if (leftBehind.length > 0)
        throw new Error(`Test products could not be deleted, ids: ${leftBehind.join(', ')}`);
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function idIn(json: unknown): number | undefined {
  return typeof json === 'object' && json !== null && 'id' in json && typeof json.id === 'number'
    ? json.id
    : undefined;
}
