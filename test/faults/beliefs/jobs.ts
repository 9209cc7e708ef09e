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
/** Both send whole products. */
export const JOBS = ['nightly', 'weekly'] as const;
/** Changes the texts of known products, in histories whose other jobs keep these. */
export const TEXTS = 'texts' as const;
export type JobName = (typeof JOBS)[number] | typeof TEXTS;
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

/** The rows of a source, as the mapping of its job reads them. */
export function itemsOf(job: string, source: Source): Mapped[] {
  return PRODUCTS.flatMap((name, at): Mapped[] => {
    const version = source[name];
    const key = name === 'hat' && source.isRenamed === true ? 'cap' : name;
    if (version === null) return [];
    if (version === 'wrong') return [rejected(key, 'wrong-row', { line: at + 2 })];
    return [job === TEXTS ? textOf(key, version, at) : recordOf(name, key, version, at)];
  });
}

/** The records among them. */
export function recordsOf(job: string, source: Source): MappedRecord[] {
  return itemsOf(job, source).filter((item) => item.kind === 'record');
}

function textOf(key: string, version: number, at: number): MappedRecord {
  const spans = [{ file: 0, from: at + 2, to: at + 2 }];
  return { kind: 'record', key, body: { description: `text ${version}`, variants: [] }, rows: 1, spans };
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
  /** Whole products keep their descriptions. */
  readonly keepsTexts?: boolean | undefined;
}

/** Version 1 has it; a guard holds it. */
const HIGH_PRICE = 100;
const GUARD = { field: 'variants.price', above: HIGH_PRICE - 1, action: 'hold' } as const;

export const STORE = {
  name: 'main',
  ...storeSchema.parse({ baseUrl: 'https://shop.example', apiKey: 'k', limits: { concurrency: 2 } }),
};

function jobOf(name: string, { hasGuard, conflicts, keepsTexts }: JobSettings): ImportJob {
  const isUpdate = name === TEXTS;
  return {
    kind: 'import',
    name,
    import: 'products',
    store: 'main',
    mode: isUpdate ? 'update' : 'mirror',
    ...(isUpdate && { match: 'url' as const }),
    ...(!isUpdate && keepsTexts === true && { keep: ['description' as const] }),
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

const TEXT_MAPPING: ImportRequest['mapping'] = {
  ...MAPPING,
  spec: mappingSchema.parse({
    import: 'products',
    columns: { id: 'Id', text: 'Text' },
    product: { url: 'id', description: 'text' },
  }),
};

/** The job as a command reads it; with a guard it holds version 1. */
export function requestOf(job: string, settings: JobSettings, resend = false): ImportRequest {
  const senders = [{ job: TEXTS, updates: true, fields: ['description' as const], removes: [] }];
  const mapping = job === TEXTS ? TEXT_MAPPING : MAPPING;
  return { job: jobOf(job, settings), store: STORE, mapping, senders, resend };
}
