import { z } from 'zod';

/*
 * The shapes of storefront-api.md, section 2, written from the document and not from the sandbox. Fields that the
 * document does not name may be there: it does not say that there are no others.
 */

export const product = z.looseObject({
  id: z.int(),
  type: z.enum(['physical', 'digital', 'service', 'membership']),
  title: z.string(),
  description: z.string(),
  url: z.string(),
  hidden: z.boolean(),
  images: z.array(z.string()),
  categories: z.array(
    z.looseObject({ id: z.int().optional(), name: z.string(), url: z.string(), parentCategory: z.int() }),
  ),
  options: z.array(z.looseObject({ name: z.string(), values: z.array(z.string()), advanced: z.boolean() })),
  variants: z.array(
    z.looseObject({
      options: z.array(z.string()),
      price: z.number(),
      onSale: z.boolean(),
      regularPrice: z.number(),
      salePrice: z.number().optional(),
      quantity: z.number().optional(),
      sku: z.string().optional(),
      weight: z.number().optional(),
    }),
  ),
  subscription: z.looseObject({ cycles: z.int(), period: z.int(), periodUnit: z.string() }).nullish(),
  file: z.string().nullish(),
});

export const contact = z.looseObject({
  id: z.int(),
  name: z.string(),
  email: z.string(),
  phone: z.string(),
  note: z.string(),
  address: z.string(),
  city: z.string(),
  state: z.string(),
  zip: z.string(),
  country: z.string(),
  companyName: z.string(),
  createdOn: z.int(),
  properties: z.array(z.looseObject({ name: z.string(), value: z.string() })),
  tags: z.array(z.string()),
  memberId: z.int().nullish(),
  subscribed: z.boolean(),
  subscriberLists: z.array(z.int()),
});

export const subscriberList = z.looseObject({
  id: z.int(),
  name: z.string(),
  created: z.int(),
  subscribers: z.int().min(0),
  opens: z.number().min(0).max(1),
  clicks: z.number().min(0).max(1),
});

export const page = z.looseObject({
  items: z.array(z.unknown()),
  totalCount: z.int().min(0),
  limit: z.int(),
  skip: z.int().min(0),
});

export const errorBody = z.looseObject({ success: z.literal(false), message: z.string().min(1) });

export const deleteResult = z.looseObject({ success: z.literal(true), message: z.literal('') });
