import type { ImportJob } from '../../../src/config/job/job.ts';
import { storeSchema } from '../../../src/config/store-config.ts';
import { mappingSchema } from '../../../src/mapping/spec/mapping-spec.ts';
import { DEFAULT_LIMITS } from '../../../src/model/input-limits.ts';
import type { Mapped, MappedRecord } from '../../../src/model/mapped-record.ts';
import type { ImportRequest } from '../../../src/run/run-context.ts';
import { NO_LIMITS, product, rejected } from '../../plan/plan-of.ts';

/** The products of sources, by the url that they have at first. */
const PRODUCTS = ['Shirt', 'hat', 'coat'] as const;
/** `cap`: the new url of the hat. */
export const KEYS = [...PRODUCTS, 'cap'] as const;
export const JOBS = ['nightly', 'weekly'] as const;
export type JobName = (typeof JOBS)[number];
type ProductName = (typeof PRODUCTS)[number];

/** What a source has of a key: a version, a row that the mapping rejects, or nothing. Versions 0 and 2 differ in the description only. */
export const VERSIONS = [0, 1, 2, 'wrong', null] as const;
/** What each product has in a source; `isRenamed`: the hat has its new url. */
export type Source = Readonly<Record<ProductName, (typeof VERSIONS)[number]>> & {
  readonly isRenamed?: boolean | undefined;
};

export const EMPTY_SOURCE: Source = { Shirt: null, hat: null, coat: null };

/** The source with all rows corrected. */
export function corrected(source: Source): Source {
  const right = (name: ProductName) => (source[name] === 'wrong' ? 0 : source[name]);
  return { ...source, Shirt: right('Shirt'), hat: right('hat'), coat: right('coat') };
}

/** The rows of a source, as its mapping reads them. */
export function itemsOf(source: Source): Mapped[] {
  return PRODUCTS.flatMap((name, at): Mapped[] => {
    const version = source[name];
    const key = name === 'hat' && source.isRenamed === true ? 'cap' : name;
    if (version === null) return [];
    if (version === 'wrong') return [rejected(key, 'wrong-row', { line: at + 2 })];
    return [recordOf(name, key, version, at)];
  });
}

/** The records among them. */
export function recordsOf(source: Source): MappedRecord[] {
  return itemsOf(source).filter((item) => item.kind === 'record');
}

function recordOf(name: ProductName, key: string, version: number, at: number): MappedRecord {
  const price = version === 1 ? HIGH_PRICE : 10;
  const variants = [{ options: [], price, onSale: false, regularPrice: price, sku: `sku-${name}` }];
  const title = `${name} ${version === 1 ? 1 : 0}`;
  const description = version === 2 ? 'long' : 'short';
  const body = product(key, {
    title,
    description,
    variants,
    ...(name === 'coat' ? { hidden: false } : {}),
  });
  const spans = [{ file: 0, from: at + 2, to: at + 2 }];
  return { kind: 'record', key, body, rows: 1, spans, memo: `${key} ${version}` };
}

/** What a job says beside its source. */
export interface JobSettings {
  readonly hasGuard: boolean;
  /** Of fields that were changed in the store and in the source. */
  readonly conflicts?: 'hold' | 'source' | 'store' | undefined;
}

/** Version 1 has it; a guard holds it. */
const HIGH_PRICE = 100;
const GUARD = { field: 'variants.price', above: HIGH_PRICE - 1, action: 'hold' } as const;

export const STORE = {
  name: 'main',
  ...storeSchema.parse({ baseUrl: 'https://shop.example', apiKey: 'k', limits: { concurrency: 2 } }),
};

function jobOf(name: string, { hasGuard, conflicts }: JobSettings): ImportJob {
  return {
    kind: 'import',
    name,
    import: 'products',
    store: 'main',
    mode: 'mirror',
    duplicates: 'reject',
    source: { path: 'source.csv', quotes: 'standard' },
    mapping: 'goods',
    params: {},
    safety: NO_LIMITS,
    html: 'keep',
    limits: DEFAULT_LIMITS,
    ...(hasGuard ? { guards: [GUARD] } : {}),
    ...(conflicts === undefined ? {} : { conflicts }),
  };
}

const MAPPING: ImportRequest['mapping'] = {
  spec: mappingSchema.parse({
    import: 'products',
    columns: { id: 'Id', name: 'Name', price: 'Price' },
    product: { url: 'id', title: 'name' },
    variants: { pricing: { price: 'price' } },
  }),
  params: {},
  tables: [],
  listLookups: [],
  findProblems: () => [],
  digest: 'mapping',
  keyDigest: 'keys',
};

/** The job as a command reads it; with a guard it holds version 1. */
export function requestOf(job: string, settings: JobSettings, resend = false): ImportRequest {
  return { job: jobOf(job, settings), store: STORE, mapping: MAPPING, resend };
}
