import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { setup } from './setup.ts';

async function documentOf(url: string) {
  const response = await fetch(`${url}/openapi.json`);
  expect(response.status).toBe(200);
  return JSON.parse(await response.text());
}

describe('the OpenAPI document', () => {
  it('is there without a key, and valid OpenAPI 3.1', async () => {
    await using store = await setup();
    const validator = new Validator();
    const { valid, errors } = await validator.validate(await documentOf(store.url));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('names every address there is, and no other', async () => {
    await using store = await setup();
    const { paths } = await documentOf(store.url);
    const operations = Object.entries<object>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(operations.sort()).toEqual([
      'DELETE /api/site/products/{id}',
      'GET /_sandbox/contacts',
      'GET /_sandbox/products',
      'GET /_sandbox/requests',
      'GET /api/site/orders',
      'GET /api/site/subscriber-lists',
      'POST /api/site/products',
      'PUT /api/site/contacts/{id}',
    ]);
    for (const operation of operations) {
      const [method = '', path = ''] = operation.split(' ');
      const { status } = await store.send(method, path.replace('{id}', '1001'));
      expect([operation, status === 405]).toEqual([operation, false]);
    }
  });

  it('describes the products and contacts that are answered', async () => {
    await using store = await setup();
    const { components } = await documentOf(store.url);
    const { body: product } = await store.upsert({ title: 'A', url: 'a' });
    const { body: contact } = await store.send('PUT', '/api/site/contacts/1001', {});
    for (const [schema, body] of [
      [components.schemas.Product, product],
      [components.schemas.Contact, contact],
    ]) {
      expect(schema.additionalProperties).toBe(false);
      expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(Object.keys(body)));
      expect(Object.keys(body)).toEqual(expect.arrayContaining(schema.required));
    }
  });
});
