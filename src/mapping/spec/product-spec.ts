import { z } from 'zod';
import { addProblem, optional } from '../../model/json-object.ts';
import { numberOptions } from '../transforms/number.ts';
import { transformSchema } from '../transforms/transforms.ts';
import { conditionSchema, flagSchema, nonEmpty, oneOrMore, valueSchema } from './value.ts';

const categoriesSchema = z.strictObject({
  value: valueSchema.describe('A list of category names or paths.'),
  path: optional(oneOrMore, 'What separates levels; the last is the category.'),
  root: optional(z.boolean(), '`false` leaves out a path of one level.'),
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
    'The URL handle: the key of the product. Required except for `mode: update`; blank rejects the record.',
  ),
  id: optional(
    valueSchema,
    "The store's id of the product, for `mode: update` with `match: id`; never sent.",
  ),
  title: optional(valueSchema, 'Required like `url`.'),
  description: optional(valueSchema, 'May be HTML.'),
  hidden: optional(
    flagSchema,
    'In an update, a condition whose cells are all blank changes nothing, unless it asks for that.',
  ),
  images: optional(valueSchema, 'A list; what is no http address is left out and counted.'),
  categories: optional(
    z.union([valueSchema, categoriesSchema]),
    'Where `probe` has seen that the store lists categories, they are found there by path or name: an ambiguous name rejects the product, an unknown one is sent by name.',
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
          .describe('The first whose condition the head row meets, or else all variant rows.'),
      }),
    ]),
    'physical, digital, service or membership. Default: digital with a `file`, service if `unshipped`, else physical.',
  ),
  unshipped: optional(conditionSchema, 'If all variants meet this, the product is not shipped.'),
  file: optional(valueSchema, 'The address of the file to sell.'),
  subscription: optional(
    z.strictObject({
      cycles: valueSchema.exactOptional(),
      period: valueSchema.exactOptional(),
      periodUnit: valueSchema.exactOptional(),
      length: optional(
        valueSchema,
        'Instead of `cycles`: units in all, a multiple of `period`; 0: without end.',
      ),
      when: optional(
        conditionSchema,
        'Only these rows are subscriptions; without billing data they are rejected.',
      ),
    }),
    'Recurring billing, where any of these has a value.',
  ),
});

/** The choices a buyer makes, by name. */
export const optionsSchema = z.strictObject({
  names: optional(valueSchema, 'Their names: a family of columns such as `option{n}`, or a list.'),
  columns: optional(
    z.union([nonEmpty, z.record(nonEmpty, valueSchema)]),
    'Instead of `names`: values by name, or a family whose headers have the names.',
  ),
  fromColumns: optional(
    z.strictObject({
      name: nonEmpty.describe('The name of the option, such as `Size`.'),
      columns: oneOrMore.describe(
        'Families whose headers are the values; in `variants`, the name of a family is the cell of the variant.',
      ),
    }),
    'A column for each value of an option: each value that is not blank becomes a variant.',
  ),
  values: optional(
    valueSchema,
    'The value of a variant row, such as `value{n}`; with a list of names, a list.',
  ),
  listed: optional(valueSchema, 'The list of values of the head row, in the order to show.'),
  none: optional(z.record(z.string(), z.string()), 'A single option with this name and value means none.'),
  keep: optional(
    z.enum(['used', 'differing']),
    '`used` (default): options with a value; `differing`: those whose value differs.',
  ),
  blank: optional(
    z.enum(['reject', 'any']),
    'A variant lacks a value that others have: reject the product (default), or `any`: one variant for each listed value.',
  ),
  combine: optional(
    z.boolean(),
    'Without variant rows or `values`: a variant for each combination of listed values, at most 200.',
  ),
  advanced: optional(
    z.boolean(),
    'Whether the store keeps price, stock, SKU and weight for each combination. Default: `true` where they differ, unless `probe` has seen that variants keep prices only without it.',
  ),
});

const pricingSchema = z
  .strictObject({
    price: optional(valueSchema, 'The current price.'),
    was: optional(
      valueSchema,
      'With `price`: the price before the sale (compare-at); where blank, percent and amount apply.',
    ),
    regular: optional(valueSchema, 'The price without a sale.'),
    sale: optional(valueSchema, 'With `regular`: the price during a sale; 0 means no sale.'),
    from: optional(valueSchema, 'With `sale`: when it begins.'),
    to: optional(valueSchema, 'With `sale`: when it ends; a date includes its day.'),
    during: optional(valueSchema, 'With `sale`: a list of both dates.'),
    when: optional(conditionSchema, 'With `sale`: only if this holds.'),
    currency: optional(
      valueSchema,
      'A code or sign. Another than the `currency` of the store rejects the record, unless `rule` converts it.',
    ),
    plus: optional(valueSchema, 'A surcharge on the price.'),
    percent: optional(valueSchema, 'With `price`: a discount in percent.'),
    amount: optional(valueSchema, 'With `price`: a discount in money.'),
    rule: optional(
      z.array(transformSchema).min(1),
      "Steps for all prices. Rounds to the store's currency (default: cents), or as finely as the source, unless its last step rounds.",
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
    .describe('Which rows are variants; `children`: all but the head. If none is, the head row is.'),
  except: optional(conditionSchema, 'Those not for sale: left out and counted.'),
  inherit: optional(
    z
      .array(z.union([nonEmpty, z.record(nonEmpty, z.union([z.string(), z.array(z.string()).min(1)]))]))
      .min(1),
    'Columns read from the head row where the cell is blank, or has the word of `{ column: word }`.',
  ),
  sku: optional(valueSchema, 'Stock keeping unit.'),
  pricing: optional(
    pricingSchema,
    'Fills price, onSale, regularPrice and salePrice. Required except for `mode: update`.',
  ),
  quantity: optional(
    valueSchema,
    'Stock. Blank: not sent, or `null` (not tracked) where `probe` has seen that the store takes it.',
  ),
  weight: optional(
    z
      .strictObject({
        value: valueSchema.describe('A number; with `unit: cell`, number and unit.'),
        unit: nonEmpty.describe(
          'g, kg, mg, oz, lb, `store`, `cell` (as the cell says), a column, or a capture such as `{unit}`.',
        ),
        number: optional(
          numberOptions.pick({ decimal: true, thousands: true }),
          'With `unit: cell`: as for the step `number`.',
        ),
      })
      .superRefine(({ unit, number }, context) => {
        if (number !== undefined && unit !== 'cell')
          addProblem(context, '`number` goes with `unit: cell`', 'number');
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
