import { check } from './check.ts';
import { contactBody } from './contact-body.ts';
import type { ContactTable } from './contact-table.ts';
import { type Call, idOf, jsonContent, type Route, refuse } from './route.ts';

/** storefront-api.md, section 4.2. */
export function contactRoutes(contacts: ContactTable): Route[] {
  return [
    {
      method: 'PUT',
      path: '/api/site/contacts/:id',
      operation: {
        operationId: 'updateContact',
        summary: 'Update a contact: only non-empty fields of the body are set',
        requestBody: { required: true, ...jsonContent({ $ref: '#/components/schemas/ContactRequest' }) },
        responses: {
          200: {
            description: 'The contact as it now is.',
            ...jsonContent({ $ref: '#/components/schemas/Contact' }),
          },
        },
      },
      handle(call: Call) {
        const body = check(contactBody, call.body, 'body');
        if ('message' in body) return refuse(422, body.message);
        const id = idOf(call);
        const json = id === undefined ? undefined : contacts.update(id, body.value);
        return json === undefined
          ? refuse(404, 'Resource not found: no such contact')
          : { status: 200, json };
      },
    },
  ];
}
