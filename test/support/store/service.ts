import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { type Answer, failure, json } from './answer.ts';
import { contactRequest, pageQuery, productRequest } from './contract.ts';
import type { Shop } from './shop.ts';

/** A request that has arrived whole. */
export interface Arrived {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface ServiceOptions {
  readonly shop: Shop;
  readonly apiKey: string;
  /** Waits for the simulated processing time; called between look-up and write. */
  readonly work: () => Promise<void>;
  /** Called with how a request violates the API document. */
  readonly onViolation: (message: string) => void;
  /** Called with the key and body of each request that took effect. */
  readonly onEffect: (key: string, body: string) => void;
}

/** The endpoints of storefront-api.md over a shop. */
export interface Service {
  /** Product url or contact id; null for reads. */
  keyOf(request: Arrived): string | null;
  /** The error for wrong headers (section 5), or undefined. */
  refuseHeaders(request: Arrived): Answer | undefined;
  perform(request: Arrived): Promise<Answer>;
}

const NAMED = z.object({ url: z.string() });
const RESOURCE = /^\/api\/site\/([a-z-]+)(?:\/(\d+))?$/;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function service({ shop, apiKey, work, onViolation, onEffect }: ServiceOptions): Service {
  const violated = (status: number, message: string): Answer => {
    onViolation(message);
    return failure(status, message);
  };

  const upsertProduct = async ({ url, body }: Arrived): Promise<Answer> => {
    const parsed = productRequest.safeParse(parseJson(body));
    if (!parsed.success) return violated(400, `product: ${z.prettifyError(parsed.error)}`);
    const product = parsed.data;
    const mayUpdate = url.searchParams.get('update_existing_product_by_url') === 'true';
    const existing = mayUpdate && product.url !== undefined ? shop.byUrl(product.url) : undefined;
    await work();
    const stored = existing === undefined ? shop.insert(product) : shop.update(existing.id, product);
    if (stored.url !== undefined) onEffect(stored.url, body);
    return json(200, stored);
  };

  const updateContact = async (id: number, body: string): Promise<Answer> => {
    const parsed = contactRequest.safeParse(parseJson(body));
    if (!parsed.success) return violated(400, `contact: ${z.prettifyError(parsed.error)}`);
    await work();
    const contact = shop.updateContact(id, parsed.data);
    if (contact === undefined) return failure(404, 'Resource not found');
    onEffect(String(id), body);
    return json(200, contact);
  };

  const deleteProduct = async (id: number): Promise<Answer> => {
    await work();
    return shop.remove(id) ? json(200, { success: true, message: '' }) : failure(404, 'Resource not found');
  };

  const orders = async (query: URLSearchParams): Promise<Answer> => {
    const page = pageQuery.safeParse(Object.fromEntries(query));
    if (!page.success) return violated(400, `orders: ${z.prettifyError(page.error)}`);
    await work();
    const { limit, skip } = page.data;
    const items = shop.orders.slice(skip, skip + limit);
    return json(200, { items, totalCount: shop.orders.length, limit, skip });
  };

  const listsOf = (query: URLSearchParams) => {
    if (shop.listPage === null) return shop.lists;
    const skip = Number(query.get('skip') ?? 0);
    return shop.lists.slice(skip, skip + Number(query.get('limit') ?? shop.listPage));
  };

  return {
    keyOf({ method, url, body }) {
      const id = RESOURCE.exec(url.pathname)?.[2];
      if (method === 'PUT') return id ?? null;
      if (method === 'DELETE') return shop.products.get(Number(id))?.url ?? `id ${id}`;
      return method === 'POST' ? (NAMED.safeParse(parseJson(body)).data?.url ?? null) : null;
    },
    refuseHeaders({ method, headers, body }) {
      if (headers.authorization !== `Bearer ${apiKey}`) return failure(401, 'Invalid API key');
      if (!/^[^\s/]+\/\S+/.test(headers['user-agent'] ?? '')) {
        return violated(400, 'User-Agent is not of the form <app_name>/<version>');
      }
      const contentType = headers['content-type'];
      const takesBody = method === 'POST' || method === 'PUT';
      if (takesBody && !/^application\/json\b/.test(contentType ?? '')) {
        return violated(415, `${method} without Content-Type: application/json`);
      }
      if (!takesBody && (body !== '' || contentType !== undefined))
        return violated(400, `${method} with a body`);
      return undefined;
    },
    async perform(request) {
      const [, resource, id] = RESOURCE.exec(request.url.pathname) ?? [];
      switch (`${request.method} ${resource}${id === undefined ? '' : '/id'}`) {
        case 'POST products':
          return await upsertProduct(request);
        case 'DELETE products/id':
          return await deleteProduct(Number(id));
        case 'PUT contacts/id':
          return await updateContact(Number(id), request.body);
        case 'GET subscriber-lists':
          await work();
          return json(200, listsOf(request.url.searchParams));
        case 'GET orders':
          return await orders(request.url.searchParams);
        default:
          return violated(404, `no such endpoint: ${request.method} ${request.url.pathname}`);
      }
    },
  };
}
