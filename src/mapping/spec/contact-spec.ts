import { z } from 'zod';
import { flagSchema, valueSchema } from './value-spec.ts';

const propertiesSchema = z.strictObject({
  fields: z
    .record(z.string().min(1), valueSchema)
    .exactOptional()
    .describe('Properties by name, each with where its value stands.'),
  names: z
    .string()
    .min(1)
    .exactOptional()
    .describe('A family of columns with names of properties, such as `field{n}`.'),
  values: z.string().min(1).exactOptional().describe('The family of columns with their values.'),
  rest: z
    .union([z.boolean(), z.strictObject({ except: z.array(z.string()).min(1) })])
    .exactOptional()
    .describe('Every column that is used nowhere else becomes a property, named as its header.'),
});

/** The fields of a contact (storefront-api.md, section 4.2). Only fields that are not empty are sent. */
export const contactSchema = z.strictObject({
  id: valueSchema.exactOptional().describe("The store's id, unless the job has a crosswalk."),
  match: z
    .record(z.string().min(1), valueSchema)
    .exactOptional()
    .describe('Further values, not sent, by which a crosswalk may find the id.'),
  name: valueSchema.exactOptional(),
  email: valueSchema.exactOptional(),
  phone: valueSchema.exactOptional(),
  note: valueSchema.exactOptional(),
  address: valueSchema.exactOptional(),
  city: valueSchema.exactOptional(),
  state: valueSchema.exactOptional(),
  zip: valueSchema.exactOptional(),
  country: valueSchema.exactOptional(),
  companyName: valueSchema.exactOptional(),
  properties: propertiesSchema.exactOptional().describe('Custom properties.'),
  tags: valueSchema.exactOptional().describe('A list.'),
  subscribed: flagSchema.exactOptional().describe('Whether the contact receives e-mails.'),
  subscriberLists: valueSchema.exactOptional().describe('A list of ids of subscriber lists.'),
});

/** `contact` of a mapping: the fields of a contact. */
export type ContactSpec = Readonly<z.infer<typeof contactSchema>>;
/** `contact.properties` of a mapping: the custom properties, named or all the rest. */
export type PropertiesSpec = Readonly<z.infer<typeof propertiesSchema>>;
