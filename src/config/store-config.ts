import { z } from 'zod';
import { priceRulesSchema } from '../mapping/spec/mapping-spec.ts';
import { addProblem, type DeepReadonly, optional } from '../model/json-object.ts';
import { isHttpUrl } from '../model/remote-address.ts';
import { placeholder } from './yaml-text.ts';

const API_PREFIX = '/api/site';

function whyNotBaseUrl(text: string): string | undefined {
  if (!isHttpUrl(text)) return 'expected an http or https address such as https://shop.example';
  const { username, password, search, hash, pathname } = new URL(text);
  if (username !== '' || password !== '') {
    return 'the address must not contain a user name or password; put the key into apiKey';
  }
  if (search !== '' || hash !== '') return 'the address must not contain a query (?) or a fragment (#)';
  if (pathname.replace(/(?<!\/)\/+$/, '').endsWith(API_PREFIX)) {
    return `the address must not end in ${API_PREFIX}, which Storeferry adds itself`;
  }
  return undefined;
}

/** The address of a store without trailing slash, so that each spelling names one ledger. */
export const baseUrlSchema = z.string().transform((text, context) => {
  const why = whyNotBaseUrl(text.trim());
  if (why !== undefined) {
    addProblem(context, why);
    return z.NEVER;
  }
  const { origin, pathname } = new URL(text.trim());
  return origin + pathname.replace(/(?<!\/)\/+$/, '');
});

const KEEP_EXPECTED = 'expected a number of days such as 400d, or off';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The key of a store: visible ASCII. */
export const API_KEY = /^[\x21-\x7e]+$/;

/** One store of stores.yaml. */
export const storeSchema = z.strictObject({
  baseUrl: baseUrlSchema.meta({
    description: 'The address of the site, http or https, if needed with a path prefix.',
    examples: [placeholder('STORE_URL')],
  }),
  apiKey: z
    .string()
    .regex(API_KEY, 'contains a space or another character that no key has')
    .meta({
      description: 'The API key of the site. Comes from the environment only.',
      examples: [placeholder('STORE_API_KEY')],
    }),
  weightUnit: z
    .enum(['kg', 'g', 'lb', 'oz'])
    .default('kg')
    .describe('The unit that weights are converted to.'),
  currency: optional(
    z
      .string()
      .transform((written) => written.toUpperCase())
      .refine(
        (code) => Intl.supportedValuesOf('currency').includes(code),
        'expected the code of a currency, such as EUR',
      ),
    'A code such as EUR: other prices are rejected. Default: all prices of a job must be in one.',
  ),
  prices: optional(
    priceRulesSchema,
    'Rules for prices of every source, in order, such as `[{ times: 1.19 }, { round: 0.05 }]`. 0 stays 0. Rounds like `variants.pricing.rule`.',
  ),
  limits: z
    .strictObject({
      concurrency: z
        .int()
        .min(1)
        .max(1000)
        .default(16)
        .describe('Most requests in flight at once, in each process.'),
      requestsPerSecond: optional(
        z.number().positive('expected a number above 0'),
        'Most requests per second, of all processes that share a Redis; without Redis, per process.',
      ),
      timeoutSeconds: z
        .number()
        .min(1)
        .max(600)
        .default(40)
        .describe('The longest time of one request, also waited for after a crash.'),
    })
    .prefault({})
    .describe('Upper bounds for requests to the store.'),
  history: z
    .strictObject({
      keep: z
        .string(KEEP_EXPECTED)
        .regex(/^(off|[1-9]\d{0,4}d)$/, KEEP_EXPECTED)
        .prefault('400d')
        .transform((written) => (written === 'off' ? null : Number.parseInt(written, 10)))
        .meta({
          description: 'How long versions of records are kept; `off` keeps none and removes what was kept.',
          examples: ['400d', 'off'],
        }),
    })
    .prefault({})
    .describe('Earlier versions of records.'),
  id: optional(
    z.string().regex(NAME, 'expected letters, digits, dots, - and _, beginning with a letter or digit'),
    'Identifies the site if its address does not: the same id is one store, other ids at one address are others. Default: the normalised address. A new id starts with an empty ledger.',
  ),
});

/** `stores.yaml`: the stores by name. */
export const storesSchema = z
  .record(z.string().regex(NAME), storeSchema)
  .describe('The sites that jobs read from and write to, by name.');

/** Whether a text can name a store, a job or a mapping: it becomes part of file names and of keys in the state. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** A usable store: secrets filled in, `baseUrl` without trailing slash. */
export type StoreConfig = DeepReadonly<z.infer<typeof storeSchema>> & { readonly name: string };
