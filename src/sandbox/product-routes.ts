import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { z } from 'zod';
import { PRODUCT_TYPES } from '../model/mapped-record.ts';
import { bodyColumn, numberColumn } from './open-database.ts';
import { answerDelete, type Profiles, type Route, route, withBody, withQuery } from './route.ts';

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

/** The body that stores with more than the document take: `null` where a figure does not apply, categories by id. */
const extendedProductBody = productBody.extend({
  categories: z.array(z.union([z.int(), category])).optional(),
  variants: z
    .array(
      variant.extend({
        regularPrice: z.number().nullable().optional(),
        salePrice: z.number().nullable().optional(),
        quantity: z.number().nullable().optional(),
        sku: z.string().nullable().optional(),
        weight: z.number().nullable().optional(),
      }),
    )
    .optional(),
});

type ProductBody = z.infer<typeof extendedProductBody>;

/** What the update of a product by its id may carry. */
export const changedProductBody = extendedProductBody.partial();

type ChangedProduct = z.infer<typeof changedProductBody>;

/** A category as products are sent with it. */
export type SentCategory = NonNullable<ProductBody['categories']>[number];

/** A product as it is answered: every field but `subscription` and `file`, which only some products have. */
export const productAnswer = productBody.required().partial({ subscription: true, file: true });

const createQuery = z.object({
  update_existing_product_by_url: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'When true and a product with the same url exists, that product is updated.' }),
});

/** storefront-api.md, sections 4.1 and 4.4. */
export function productRoutes(products: ProductTable, profiles: Profiles): Route[] {
  const schema: z.ZodType<ProductBody> = profiles.has('extended') ? extendedProductBody : productBody;
  return [
    route(
      'POST',
      '/api/site/products',
      'Create a product, or update the one that has its url',
      'Product',
      (call) =>
        withQuery(createQuery, call, ({ update_existing_product_by_url: byUrl }) =>
          withBody(schema, call, (body) => {
            const { created, json } = byUrl === 'true' ? products.upsert(body) : products.create(body);
            return { status: created ? 201 : 200, json };
          }),
        ),
      { takes: 'ProductRequest', query: createQuery },
    ),
    route('DELETE', '/api/site/products/:id', 'Delete a product', 'DeleteResult', (call) =>
      answerDelete(call, products.remove),
    ),
  ];
}

/** Everything the service holds on a product but its id, as one JSON object. */
type StoredProduct = Readonly<Record<string, unknown>>;

/** A product as JSON text, and whether it is new. */
interface SavedProduct {
  readonly created: boolean;
  readonly json: string;
}

/** The products of the sandbox. `url` is unique; a product is saved whole or not at all. */
export type ProductTable = ReturnType<typeof openProductTable>;

const BATCH_SIZE = 500;

/** Answers always carry a period unit (storefront-api.md, section 2); requests may leave it out. */
const DEFAULT_PERIOD_UNIT = 'MONTHLY';

/** Products as answered carry these when nothing was sent for them. */
const DEFAULTS = {
  type: 'physical',
  title: '',
  description: '',
  url: '',
  hidden: false,
  images: [],
  categories: [],
  options: [],
  variants: [],
} as const;

/** What a profile changes of the table. */
interface ProductTableOptions {
  readonly profiles: Profiles;
  /** Categories as they are stored; by default as they were sent. */
  readonly storeCategories?: ((sent: readonly SentCategory[]) => readonly unknown[]) | undefined;
}

/** Statements over the products of an open database. */
export function openProductTable(
  database: DatabaseSync,
  { profiles, storeCategories = (sent) => sent }: ProductTableOptions,
) {
  const byId = database.prepare('SELECT id, body FROM products WHERE id = ?');
  const page = database.prepare(
    `SELECT id, body FROM products
     WHERE (?1 IS NULL OR body ->> '$.title' LIKE '%' || ?1 || '%')
       AND (?2 IS NULL OR EXISTS (SELECT 1 FROM json_each(body, '$.categories') WHERE value ->> '$.id' = ?2))
     ORDER BY id`,
  );
  const byUrl = database.prepare('SELECT id, body FROM products WHERE url = ?');
  const insert = database.prepare('INSERT INTO products (url, body) VALUES (?, ?)');
  const update = database.prepare("UPDATE products SET body = ?1, url = ?1 ->> '$.url' WHERE id = ?2");
  const remove = database.prepare('DELETE FROM products WHERE id = ?');
  const after = database.prepare(
    `SELECT id, body FROM products WHERE id > ? ORDER BY id LIMIT ${BATCH_SIZE}`,
  );

  function add(body: ProductBody, url: string): SavedProduct {
    const json = JSON.stringify({ ...DEFAULTS, ...storable(body), url });
    const { lastInsertRowid } = insert.run(url, json);
    return { created: true, json: withId(Number(lastInsertRowid), json) };
  }

  function storable({
    id: _ignored,
    subscription,
    categories,
    variants,
    ...body
  }: ChangedProduct): StoredProduct {
    const isFlat = profiles.has('flattens-variants') && !body.options?.some(({ advanced }) => advanced);
    const [first] = variants ?? [];
    const shared =
      first === undefined || !isFlat
        ? {}
        : {
            price: first.price,
            regularPrice: first.regularPrice,
            salePrice: first.salePrice,
            quantity: first.quantity,
          };
    return {
      ...body,
      ...(categories !== undefined && { categories: storeCategories(categories) }),
      ...(variants !== undefined && { variants: variants.map((variant) => ({ ...variant, ...shared })) }),
      ...(subscription !== undefined && {
        subscription: {
          ...subscription,
          periodUnit: subscription.periodUnit?.toUpperCase() ?? DEFAULT_PERIOD_UNIT,
        },
      }),
    };
  }

  function change(row: Record<string, SQLOutputValue>, body: ChangedProduct): SavedProduct {
    const id = numberColumn(row, 'id');
    const stored: StoredProduct = JSON.parse(bodyColumn(row));
    const kept = profiles.has('replace-whole') ? { ...DEFAULTS, url: stored['url'] } : stored;
    const taken = body.url === undefined ? undefined : byUrl.get(body.url);
    const url = taken === undefined || numberColumn(taken, 'id') === id ? body.url : freeUrl(body.url ?? '');
    const json = JSON.stringify({ ...kept, ...storable(body), ...(url !== undefined && { url }) });
    update.run(json, id);
    return { created: false, json: withId(id, json) };
  }

  function freeUrl(wanted: string) {
    let url = wanted;
    for (let number = 2; byUrl.get(url) !== undefined; number += 1) url = `${wanted}-${number}`;
    return url;
  }

  return {
    /**
     * Updates the product that has the body's url, or creates one. Look-up and write are one step: nothing awaits
     * between them, and this process has the exclusive lock of the database.
     */
    upsert(body: ProductBody): SavedProduct {
      const row = body.url === undefined ? undefined : byUrl.get(body.url);
      if (row === undefined) return add(body, freeUrl(body.url ?? urlFromTitle(body.title)));
      return change(row, body);
    },
    /** The product as JSON text; undefined when there is none. */
    read(id: number): string | undefined {
      const row = byId.get(id);
      return row && productJson(row);
    },
    /** Sets fields of a product; undefined when there is none. */
    updateById(id: number, body: ChangedProduct): string | undefined {
      const row = byId.get(id);
      return row === undefined ? undefined : change(row, body).json;
    },
    /** Products by id, of a category or with a part of their title. */
    find: (title: string | undefined, categoryId: number | undefined): string[] =>
      page.all(title ?? null, categoryId ?? null).map(productJson),
    /** Creates a product; its url gets a number appended when it is taken, and is made of the title when absent. */
    create: (body: ProductBody): SavedProduct => add(body, freeUrl(body.url ?? urlFromTitle(body.title))),
    /** False when there is no such product. */
    remove: (id: number): boolean => remove.run(id).changes > 0,
    /** JSON texts of all products, by id, in batches. */
    *batches(): Iterable<readonly string[]> {
      let last = 0;
      for (;;) {
        const rows = after.all(last);
        const lastRow = rows.at(-1);
        if (lastRow === undefined) return;
        last = numberColumn(lastRow, 'id');
        yield rows.map(productJson);
      }
    },
  };
}

function productJson(row: Record<string, SQLOutputValue>) {
  return withId(numberColumn(row, 'id'), bodyColumn(row));
}

function withId(id: number, json: string) {
  return `{"id":${id},${json.slice(1)}`;
}

function urlFromTitle(title: string) {
  const words = title.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu);
  return words?.join('-') ?? 'product';
}
