import { z } from 'zod';
import { addProblem, optional } from '../../model/json-object.ts';
import { transformSchema } from '../transforms/transforms.ts';
import { conditionSchema, flagSchema, valueSchema } from './value.ts';

const categoriesSchema = z.strictObject({
  value: valueSchema.describe('A list of category names or paths.'),
  path: optional(
    z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
    'What separates the levels of a path; the last level is the category.',
  ),
  root: optional(
    z.boolean(),
    'Whether a path of one level counts. Default: true; `false` leaves a bare root out.',
  ),
  table: optional(
    z.string(),
    'A lookup table with the columns id, name, url, parentCategory, matched by path or name.',
  ),
  except: optional(z.array(z.string()), 'Names that are not categories (`Uncategorized`).'),
});

/** The fields of a product (storefront-api.md, section 2) that are equal for its variants. */
export const productSchema = z.strictObject({
  url: optional(
    valueSchema,
    'The URL handle: the key of the product. Blank: the record is rejected. Only a mapping for `mode: update` may leave it out.',
  ),
  id: optional(
    valueSchema,
    "The store's id of the product, for `mode: update` with `match: id`; never sent.",
  ),
  title: optional(
    valueSchema,
    'Blank: the record is rejected. Only a mapping for `mode: update` may leave it out.',
  ),
  description: optional(valueSchema, 'May be HTML.'),
  hidden: optional(
    flagSchema,
    'Whether the product is hidden. In an update, a condition whose cells are all blank changes nothing, unless it asks for that.',
  ),
  images: optional(
    valueSchema,
    'A list of addresses; values that are not http addresses are left out and counted.',
  ),
  categories: optional(
    z.union([valueSchema, categoriesSchema]),
    'What the product belongs to. Where `probe` has seen that the store lists its categories, they are found there by path or name, with ids and parents: an ambiguous name rejects the product, and an unknown one is sent by name.',
  ),
  type: optional(
    z.union([
      valueSchema,
      z.strictObject({
        is: z
          .strictObject({
            digital: conditionSchema.exactOptional(),
            service: conditionSchema.exactOptional(),
            membership: conditionSchema.exactOptional(),
            physical: conditionSchema.exactOptional(),
          })
          .describe('The first type whose condition the head row meets, or else all variant rows.'),
      }),
    ]),
    'physical, digital, service or membership. Blank or left out: digital with a `file`, service if `unshipped`, else physical.',
  ),
  unshipped: optional(conditionSchema, 'A product whose variants all meet this is not shipped: a service.'),
  file: optional(valueSchema, 'The address of the file that a digital product sells.'),
  subscription: optional(
    z.strictObject({
      cycles: valueSchema.exactOptional(),
      period: valueSchema.exactOptional(),
      periodUnit: valueSchema.exactOptional(),
      length: optional(
        valueSchema,
        'Instead of `cycles`: how many units it lasts in all, a multiple of `period`; 0: without end.',
      ),
      when: optional(
        conditionSchema,
        'Only rows that meet this are subscriptions; one without billing data is rejected.',
      ),
    }),
    'Recurring billing, where any of these has a value, on the head row or all variants.',
  ),
});

/** The choices a buyer makes, by name. */
export const optionsSchema = z.strictObject({
  names: optional(
    valueSchema,
    'The family of columns with the names of the options, such as `option{n}`; or a list, if the rows have all names in one cell.',
  ),
  columns: optional(
    z.union([z.string().min(1), z.record(z.string().min(1), valueSchema)]),
    'Instead of `names`: options by name, each with where its value stands; or a family of columns whose headers have the names.',
  ),
  fromColumns: optional(
    z.strictObject({
      name: z.string().min(1).describe('The name of the option, such as `Size`.'),
      columns: z
        .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
        .describe(
          'Families whose headers are the values. In `variants`, the name of a family is the cell of the variant.',
        ),
    }),
    'A row has a column for each value of an option: each value whose columns are not all blank becomes a variant.',
  ),
  values: optional(
    valueSchema,
    'The value that a variant row has, such as `value{n}`; with a list of names, the list of their values.',
  ),
  listed: optional(valueSchema, 'The values that the head row lists, in the order to show them; a list.'),
  none: optional(
    z.record(z.string(), z.string()),
    'If the only option has this name and this only value, the product has no options.',
  ),
  keep: optional(
    z.enum(['used', 'differing']),
    '`used`: options for which some variant has a value (default). `differing`: those whose value differs among the variants.',
  ),
  blank: optional(
    z.enum(['reject', 'any']),
    'A variant without a value for an option that others have: reject the product (default), or `any`: one variant for each listed value.',
  ),
  combine: optional(
    z.boolean(),
    'Without variant rows, or without `values`: a variant for each combination of the listed values, at most 200.',
  ),
  advanced: optional(
    z.boolean(),
    'Whether the store keeps price, stock, SKU and weight for each combination of values. Left out: `true` where the variants of a product differ in one of them, unless `probe` has seen that the store keeps prices of variants only without it.',
  ),
});

const pricingSchema = z
  .strictObject({
    price: optional(valueSchema, 'The current price.'),
    was: optional(
      valueSchema,
      'With `price`: the price before the sale (compare-at). Where it is blank, percent and amount apply.',
    ),
    regular: optional(valueSchema, 'The price without a sale.'),
    sale: optional(valueSchema, 'With `regular`: the price during a sale; 0 means no sale.'),
    from: optional(valueSchema, 'With `sale`: when it begins.'),
    to: optional(valueSchema, 'With `sale`: when it ends; a date alone means all of that day.'),
    during: optional(valueSchema, 'With `sale`: both in one, a list of two dates.'),
    when: optional(conditionSchema, 'With `sale`: only if this condition is true.'),
    currency: optional(
      valueSchema,
      'The currency of the prices: a code or sign such as EUR. Another than the `currency` of the store rejects the record, unless `rule` converts from it.',
    ),
    plus: optional(valueSchema, 'A surcharge on the price.'),
    percent: optional(valueSchema, 'With `price`: a discount in percent.'),
    amount: optional(valueSchema, 'With `price`: a discount in money.'),
    rule: optional(
      z.array(transformSchema).min(1),
      'Steps on numbers that every price goes through, compare-at and sale too. Without a rounding at the end: to cents, or as finely as the price in the source.',
    ),
  })
  .superRefine((pricing, context) => {
    if ('price' in pricing === 'regular' in pricing) {
      addProblem(context, 'expected price or regular, and not both');
      return;
    }
    const companions = {
      was: 'price',
      percent: 'price',
      amount: 'price',
      sale: 'regular',
      from: 'sale',
      to: 'sale',
      during: 'sale',
      when: 'sale',
    } as const;
    for (const [key, needed] of Object.entries(companions)) {
      if (key in pricing && !(needed in pricing)) addProblem(context, `${key} goes with ${needed}`, key);
    }
    if ('during' in pricing && ('from' in pricing || 'to' in pricing))
      addProblem(context, 'expected during, or from and to', 'during');
  });

/** The variants of a product. */
export const variantsSchema = z.strictObject({
  rows: z
    .union([z.enum(['all', 'children']), conditionSchema])
    .default('all')
    .describe(
      'Which rows are variants: `all`, `children` (all but the head), or those that meet a condition. If none is, the head row is the only one.',
    ),
  except: optional(
    conditionSchema,
    'Of these rows, those that are not for sale: left out of the product, and counted.',
  ),
  inherit: optional(
    z
      .array(
        z.union([
          z.string().min(1),
          z.record(z.string().min(1), z.union([z.string(), z.array(z.string()).min(1)])),
        ]),
      )
      .min(1),
    "Columns that are read from the head row where the variant's cell is blank; `{ column: word }` if it has that word.",
  ),
  sku: optional(valueSchema, 'Stock keeping unit.'),
  pricing: optional(
    pricingSchema,
    'Fills price, onSale, regularPrice and salePrice at once. Only a mapping for `mode: update` may leave it out.',
  ),
  quantity: optional(
    valueSchema,
    'Stock. Blank: not tracked; not sent, or `null` where `probe` has seen that the store takes it.',
  ),
  weight: optional(
    z.strictObject({
      value: valueSchema.describe('A number, or with `unit: cell` a number and its unit.'),
      unit: z
        .string()
        .min(1)
        .describe(
          "g, kg, mg, oz, lb; `store`: the store's own; `cell`: as the cell says; a column; or a capture, such as `{unit}`.",
        ),
    }),
    "Sent in the store's unit.",
  ),
});

/** `product` of a mapping: the fields that a product has once. */
export type ProductSpec = Readonly<z.infer<typeof productSchema>>;
/** `product.categories` of a mapping. */
export type CategoriesSpec = Readonly<z.infer<typeof categoriesSchema>>;
/** `options` of a mapping: the places of their names and values. */
export type OptionsSpec = Readonly<z.infer<typeof optionsSchema>>;
/** `variants.pricing` of a mapping: the sources of the four price fields. */
export type PricingSpec = Readonly<z.infer<typeof pricingSchema>>;
/** `variants` of a mapping: which rows are variants, and their fields. */
export type VariantsSpec = Readonly<z.infer<typeof variantsSchema>>;
