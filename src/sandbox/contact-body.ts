import { z } from 'zod';
import type { ContactTextField } from '../model/mapped-record.ts';

const property = z.strictObject({ name: z.string(), value: z.string() });

/**
 * The body of `PUT /api/site/contacts/{id}` (storefront-api.md, section 4.2). `null` is taken as empty; the fields
 * that are "response only" in section 2 are ignored; fields the document does not name are refused.
 */
export const contactBody = z.strictObject({
  id: z.int().optional().meta({ readOnly: true }),
  createdOn: z.int().optional().meta({ readOnly: true }),
  memberId: z.int().nullable().optional().meta({ readOnly: true }),
  ...textFields(z.string().nullable().optional()),
  properties: z.array(property).nullable().optional(),
  tags: z.array(z.string()).nullable().optional(),
  subscribed: z.boolean().nullable().optional(),
  subscriberLists: z.array(z.int()).nullable().optional(),
});
export type ContactBody = z.infer<typeof contactBody>;

/** A contact as it is answered: every field but `memberId`, which only members have. */
export const contactAnswer = z.strictObject({
  id: z.int(),
  ...textFields(z.string()),
  createdOn: z.int().meta({ description: 'Unix timestamp in seconds.' }),
  properties: z.array(property),
  tags: z.array(z.string()),
  memberId: z.int().optional(),
  subscribed: z.boolean(),
  subscriberLists: z.array(z.int()),
});
export type ContactAnswer = z.infer<typeof contactAnswer>;

function textFields<Schema extends z.ZodType>(schema: Schema) {
  return {
    email: schema,
    name: schema,
    phone: schema,
    note: schema,
    address: schema,
    city: schema,
    state: schema,
    zip: schema,
    country: schema,
    companyName: schema,
  } satisfies Record<ContactTextField, Schema>;
}
