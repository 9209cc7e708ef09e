import { z } from 'zod';
import { PRODUCT_TYPES } from '../model/mapped-record.ts';

const category = z.strictObject({
  id: z.int().optional(),
  name: z.string().optional(),
  url: z.string().optional(),
  parentCategory: z.int().optional().meta({ description: '0: no parent.' }),
});

const option = z.strictObject({
  name: z.string(),
  values: z.array(z.string()).optional(),
  advanced: z.boolean().optional(),
});

const variant = z.strictObject({
  options: z.array(z.string()).optional().meta({ description: 'One value per option, in option order.' }),
  price: z.number().optional(),
  onSale: z.boolean().optional(),
  regularPrice: z.number().optional(),
  salePrice: z.number().optional(),
  quantity: z.number().optional(),
  sku: z.string().optional(),
  weight: z.number().optional(),
});

const subscription = z.strictObject({
  cycles: z.int().optional(),
  period: z.int().optional(),
  periodUnit: z.string().optional().meta({ description: 'Any word; answered in upper case.' }),
});

/**
 * The body of `POST /api/site/products`: the types of storefront-api.md, section 2, Product. Fields the document
 * does not name are refused; `id` is the service's own and ignored.
 */
export const productBody = z.strictObject({
  id: z.int().optional().meta({ readOnly: true }),
  type: z.enum(PRODUCT_TYPES).optional(),
  title: z.string().regex(/\S/, 'expected a title that is not blank'),
  description: z.string().optional(),
  url: z
    .string()
    .regex(/\S/, 'expected a url that is not blank')
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'expected a url without control characters')
    .optional(),
  hidden: z.boolean().optional(),
  images: z.array(z.string()).optional(),
  categories: z.array(category).optional(),
  options: z.array(option).optional(),
  variants: z.array(variant).optional(),
  subscription: subscription.optional(),
  file: z.string().optional(),
});
export type ProductBody = z.infer<typeof productBody>;

/** A product as it is answered: every field but `subscription` and `file`, which only some products have. */
export const productAnswer = productBody.required({
  id: true,
  type: true,
  description: true,
  url: true,
  hidden: true,
  images: true,
  categories: true,
  options: true,
  variants: true,
});
