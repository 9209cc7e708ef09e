import { isDeepStrictEqual } from 'node:util';
import type { StoreConfig } from '../../config/store-config.ts';
import { applyPriceRules, type MappingContext, type PriceRules } from '../../mapping/compile-mapping.ts';
import { withoutUndefined } from '../../model/json-object.ts';
import { type Mapped, type Product, variantsDiffer } from '../../model/mapped-record.ts';
import type { Plan } from '../../model/plan.ts';
import type { Reason } from '../../model/reason.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import type { Run, RunCopy } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { importTarget, type LedgerTarget, type OwnedKey } from '../../state/state.ts';
import { adoptedFile, adoptedUrls } from '../import/open-adoption.ts';
import { productUpdates } from '../import/product-updates.ts';
import { flattensPrices, formsOf, readProbe } from '../kept-probe.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { type CatalogEntry, catalogAsOf, versionsOfRun } from './catalog-as-of.ts';
import { endedRunOf, leftRecord, planRecords, refuseWithoutVersions } from './plan-records.ts';

/** The store whose products are sent to another one. */
export interface CopySource {
  readonly store: StoreConfig;
  /** The price rules of the jobs that sent them. */
  readonly rules: readonly PriceRules[];
  /** What their prices are in, where it is known. */
  readonly currency?: string | undefined;
}

const CONTACTS = 'each store gives contacts ids of its own, and its owner the consent that they gave it';

/**
 * The request to send products of one store to another: its price rules are those that remain to be applied. UsageError for contacts, for
 * `mode: update`, and where the meaning of prices or weights would change: other price rules were applied already, or currency or unit of
 * weight differ.
 */
export function copyRequest(
  request: ImportRequest,
  { store: from, rules, currency = from.currency }: CopySource,
): ImportRequest {
  const { job, store } = request;
  if (storeIdentity(from) === storeIdentity(store)) return { ...request, job: { ...job, prices: [] } };
  const prices = job.prices ?? [];
  if (job.import === 'contacts') {
    throw new UsageError(
      `${job.name} imports contacts, which are not copied to another store: ${CONTACTS}.`,
      {
        hint: 'Import them there from their source, with a crosswalk of that store.',
      },
    );
  }
  if (job.mode === 'update') {
    throw new UsageError(
      `${job.name} has \`mode: update\`: it changes single fields of products of other jobs.`,
      {
        hint: `Run it for ${store.name} as well: name both under \`stores\` in the job.`,
      },
    );
  }
  if (from.weightUnit !== store.weightUnit) {
    throw new UsageError(
      `${from.name} weighs in ${from.weightUnit}, ${store.name} in ${store.weightUnit}: the weights would be wrong.`,
      { hint: `Import into ${store.name} from the source: name both under \`stores\` in a job.` },
    );
  }
  const isRaw = rules.every((one) => one.length === 0);
  if (!isRaw && !rules.every((one) => isDeepStrictEqual(one, prices))) {
    throw new UsageError(
      `The prices of ${from.name} were made by price rules, which ${store.name} does not have alike: they cannot be taken back.`,
      { hint: `Import into ${store.name} from the source: name both stores under \`stores\` in a job.` },
    );
  }
  const remaining = isRaw ? prices : [];
  if (remaining.length === 0 && currency !== undefined && (store.currency ?? currency) !== currency) {
    throw new UsageError(
      `${from.name} sells in ${currency}, ${store.name} in ${store.currency}, which has no price rules.`,
      { hint: `Add them to ${store.name} in stores.yaml: prices: [{ times: … }, { round: … }]` },
    );
  }
  return { ...request, job: { ...job, prices: remaining } };
}

/** UsageError if the run has nothing that another store could get: it is a plan or an export, is running, or the history has nothing of it. */
export async function refuseUnlessCopyable(context: RunContext, { of, storeId }: RunCopy): Promise<void> {
  if (of === null) return;
  await endedRunOf(context, of, {
    ofPlan: 'no store has acknowledged anything of it',
    ofExport: '',
    hint: 'Name a run that has sent products.',
    stop: 'Wait until it has ended.',
  });
  const history = context.state.history({ storeId, resource: 'products' });
  await refuseWithoutVersions(history, of, 'there is nothing to promote');
}

/**
 * Plans to send to the store of the run what another one has acknowledged: the products of a run, or the catalog of a time. Ids of that store
 * are left out, and its prices go through the rules of this one.
 */
export async function planCopy(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  copy: RunCopy,
): Promise<Plan> {
  const { job, store, mapping } = request;
  const { state, signal, artifacts } = context;
  const target = importTarget(run);
  const ledger = state.ledger(target);
  const probe = (await readProbe(artifacts, store))?.properties;
  const isSameStore = copy.storeId === storeIdentity(store);
  const rules = job.prices ?? [];
  const forms = formsOf(probe);
  const ofSource = formsOf((await readProbe(artifacts, copy.storeId))?.properties);
  const isSaid = mapping.spec.import === 'products' && mapping.spec.options?.advanced !== undefined;
  /** `options[].advanced` as this store wants it, unless a mapping says it. */
  const advancedOf = ({ variants }: Product) =>
    isSaid
      ? undefined
      : (forms.advanced ?? (ofSource.advanced === false ? variantsDiffer(variants) : undefined));
  const forStore = (product: Product) => {
    const own = isSameStore ? product : withoutIds(product, { ...forms, advanced: advancedOf(product) });
    if (own === undefined) return ONLY_IDS;
    return rules.length === 0 ? own : applyPriceRules(own, rules, store.currency);
  };
  const keyIn = await keysOfStore(context, request, copy);
  /** Filled by `openMapped`; the plan asks for deletes after its last pass. */
  let deletes: OwnedKey[] = [];
  const openMapped = async function* (): AsyncGenerator<readonly Mapped[]> {
    deletes = [];
    for await (const entries of copiedEntries(context, target, copy)) {
      signal.throwIfAborted();
      const keys = entries.map(({ key, isAdopted = false }) => keyIn(key, isAdopted));
      const marks = await ledger.marks(keys.map((key, index) => key ?? entries[index]?.key ?? ''));
      yield entries.flatMap(({ key: sentAs, body, insteadBy, owner }, index): Mapped[] => {
        const key = keys[index];
        const place = { key: key ?? sentAs, rows: 0, spans: [] };
        if (key === undefined) return [{ kind: 'rejected', ...place, reason: adoptedUrl(copy) }];
        const leave = (code: string, message: string) => [leftRecord(key, code, message)];
        const mark = marks[index];
        if (body === undefined) return leave('history-damaged', 'the history of the record cannot be read');
        if (body === null) {
          if (mark === undefined)
            return leave('absent', `${copy.store} has deleted it, and ${store.name} has none`);
          if (mark.job !== job.name)
            return leave(
              'other-job',
              `${copy.store} has deleted it; in ${store.name} it belongs to the job ${mark.job}`,
            );
          const { id, idProof } = mark;
          deletes.push(withoutUndefined<OwnedKey>({ key, id, idProof }));
          return [];
        }
        // The body was acknowledged, so it is what it claims to be.
        const product = forStore(JSON.parse(body));
        if ('code' in product) return [{ kind: 'rejected', ...place, reason: product }];
        const notes = insteadBy === undefined ? [] : [INSTEAD_NOTES[insteadBy]];
        // In the same store it stays with the job that has it.
        return [
          {
            kind: 'record',
            ...place,
            body: key === sentAs ? product : { ...product, url: key },
            notes,
            ...(isSameStore && { owner: owner ?? mark?.job }),
          },
        ];
      });
    }
  };
  return await planRecords(context, run, {
    job: { ...job, mode: job.mode === 'create' ? 'create' : 'mirror' },
    origin: {
      kind: 'copy',
      async *deletes() {
        yield deletes;
      },
    },
    openMapped,
    senders: request.senders,
    losesPrices: probe !== undefined && flattensPrices(probe),
    updates: await productUpdates(context, request, run),
  });
}

/**
 * The keys that the store of the request has for records, by those of the store that acknowledged them: a store that adopts its products
 * has urls of its own. Undefined where it is not known which record an adopted product is. A clone keeps the urls of the catalog.
 */
async function keysOfStore(context: RunContext, { job, store }: ImportRequest, copy: RunCopy) {
  const name = copy.of === null ? undefined : (copy.job ?? (await context.state.runs.get(copy.of))?.job);
  if (name === undefined) return (key: string) => key;
  const urls = await adoptedUrls(context, { job: { name }, store: { name: copy.store } }, copy.storeId);
  const own = await adoptedUrls(context, { job, store }, storeIdentity(store));
  const ownKeys = new Map(job.adopt === undefined ? [] : [...own].map(([key, url]) => [url, key]));
  return (key: string, isAdopted: boolean) => {
    const url = urls.get(key) ?? (isAdopted ? undefined : key);
    return url === undefined ? undefined : (ownKeys.get(url) ?? url);
  };
}

function adoptedUrl({ store, job = '' }: RunCopy): Reason {
  const table = adoptedFile({ job: { name: job }, store: { name: store } });
  return {
    code: 'adopted-url',
    message: `its url is that of a product that ${store} had before, and ${table} no longer says of which record: run the job for the other store instead`,
  };
}

const INSTEAD_NOTES = {
  oldest: 'the history begins after the time: as the product was when it began',
  current: 'no history: as the product is now',
} as const;

const ONLY_IDS = {
  code: 'category-ids',
  message: 'its categories are sent as ids, which belong to the other store',
};

/** Categories go by name and url, and stock is as this store takes it; undefined where categories have only ids. */
function withoutIds(
  product: Product,
  { advanced, nullQuantity = false }: Pick<MappingContext, 'advanced' | 'nullQuantity'>,
): Product | undefined {
  const { categories, options, variants } = product;
  const named = categories?.filter((category) => typeof category !== 'number');
  if (named?.length !== categories?.length) return undefined;
  return {
    ...product,
    ...(named && { categories: named.map(({ name, url }) => ({ name, url, parentCategory: 0 })) }),
    ...(advanced !== undefined && { options: options.map((option) => ({ ...option, advanced })) }),
    variants: variants.map(({ quantity, ...variant }) =>
      quantity === undefined || (quantity === null && !nullQuantity) ? variant : { ...variant, quantity },
    ),
  };
}

interface CopiedEntry extends CatalogEntry {
  /** The store had the product before the first import. */
  readonly isAdopted?: boolean;
}

/** What the other store has acknowledged; null where it has acknowledged a delete. */
async function* copiedEntries(
  context: RunContext,
  { resource }: LedgerTarget,
  { of, storeId, at }: RunCopy,
): AsyncGenerator<readonly CopiedEntry[]> {
  const source = { storeId, resource };
  if (of === null) {
    yield* catalogAsOf(context, source, at ?? 0);
    return;
  }
  for await (const keys of versionsOfRun(context.state.history(source), of)) {
    yield keys.flatMap(([key, versions]) => {
      const version = versions.find(({ run, kind }) => run.id === of && kind !== 'absent');
      if (version === undefined) return [];
      const isAdopted = versions.some(({ adopted }) => adopted === true);
      return [{ key, body: version.body, isAdopted }];
    });
  }
}
