import type { ContactTable } from './contact-routes.ts';
import type { ProductTable } from './product-routes.ts';
import type { RequestCounts } from './request-counts.ts';
import { answer, jsonContent, type Route } from './route.ts';

/** What the sandbox shows of itself; no part of the storefront API, so no fault is injected here. */
export function inspectionRoutes(
  products: ProductTable,
  contacts: ContactTable,
  counts: RequestCounts,
): Route[] {
  return [
    inspection('products', 'All products, by id', 'Product', () => arrayPieces(products.batches())),
    inspection('contacts', 'All contacts, by id', 'Contact', () => arrayPieces(contacts.batches())),
    {
      method: 'GET',
      path: '/_sandbox/requests',
      operation: {
        operationId: 'sandboxRequests',
        summary:
          'How many requests to /api/ were answered since the start, in all, by route, status and fault',
        responses: { 200: { description: 'The counts.', ...jsonContent({ type: 'object' }) } },
      },
      handle: () => answer(200, counts.read()),
    },
  ];
}

function inspection(name: string, summary: string, schema: string, pieces: () => Iterable<string>): Route {
  return {
    method: 'GET',
    path: `/_sandbox/${name}`,
    operation: {
      operationId: `sandbox${schema}s`,
      summary,
      responses: {
        200: {
          description: summary,
          ...jsonContent({ type: 'array', items: { $ref: `#/components/schemas/${schema}` } }),
        },
      },
    },
    handle: () => ({ status: 200, json: pieces() }),
  };
}

/** A JSON array in pieces of a batch each, so that a large store is never held in memory as a whole. */
function* arrayPieces(batches: Iterable<readonly string[]>): Iterable<string> {
  let separator = '[';
  for (const batch of batches) {
    yield separator + batch.join(',');
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}
