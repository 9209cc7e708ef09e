import { z } from 'zod';

const category = z.strictObject({
  id: z.int().optional(),
  name: z.string(),
  url: z.string(),
  parentCategory: z.int(),
});

const variant = z.strictObject({
  options: z.array(z.string()),
  price: z.number(),
  onSale: z.boolean(),
  regularPrice: z.number(),
  salePrice: z.number().optional(),
  quantity: z.number().optional(),
  sku: z.string().optional(),
  weight: z.number().optional(),
});

/** What `POST /api/site/products` takes (storefront-api.md, sections 2 and 4.1). No field is said to be required. */
export const productRequest = z.strictObject({
  type: z.enum(['physical', 'digital', 'service', 'membership']).optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  url: z.string().optional(),
  hidden: z.boolean().optional(),
  images: z.array(z.string()).optional(),
  categories: z.array(category).optional(),
  options: z
    .array(z.strictObject({ name: z.string(), values: z.array(z.string()), advanced: z.boolean() }))
    .optional(),
  variants: z.array(variant).optional(),
  subscription: z
    .strictObject({
      cycles: z.int().optional(),
      period: z.int().optional(),
      periodUnit: z.string().optional(),
    })
    .optional(),
  file: z.string().optional(),
});
export type ProductRequest = z.infer<typeof productRequest>;

/** What `PUT /api/site/contacts/{id}` takes (sections 2 and 4.2). */
export const contactRequest = z.strictObject({
  email: z.string().optional(),
  name: z.string().optional(),
  phone: z.string().optional(),
  note: z.string().optional(),
  address: z.string().optional(),
  city: z.string().optional(),
  state: z.string().optional(),
  zip: z.string().optional(),
  country: z.string().optional(),
  companyName: z.string().optional(),
  properties: z.array(z.strictObject({ name: z.string(), value: z.string() })).optional(),
  tags: z.array(z.string()).optional(),
  subscribed: z.boolean().optional(),
  subscriberLists: z.array(z.int()).optional(),
});
export type ContactRequest = z.infer<typeof contactRequest>;

/** `limit` 1 to 50, by default 30; `skip` not below 0, by default 0 (section 8). */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(50).default(30),
  skip: z.coerce.number().int().min(0).default(0),
});
