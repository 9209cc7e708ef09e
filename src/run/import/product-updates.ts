import { mappedFields } from '../../mapping/spec/mapping-spec.ts';
import { isJsonObject, member } from '../../model/json-object.ts';
import { membersOf, VARIANT_FIELDS } from '../../model/mapped-record.ts';
import { isEdited, type Observation, observeAnswer } from '../../model/observation.ts';
import type { Operation, UpsertProduct, VariantStock } from '../../model/operation.ts';
import type { Run } from '../../model/run.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../model/storeferry-error.ts';
import {
  currentStock,
  type PlanOptions,
  type ProductToRead,
  type ReadProduct,
  stockInStore,
} from '../../plan/plan-import.ts';
import { chunksOf, importTarget, type Ledger } from '../../state/state.ts';
import type { Storefront } from '../../storefront/storefront.ts';
import { productWrites } from '../kept-probe.ts';
import type { Delivery, ImportRequest, RunContext } from '../run-context.ts';

/** The largest page that the API allows. */
const PAGE_LIMIT = 50;
/** Reads under way; the limits of the store hold them back. */
const READS_AT_ONCE = 16;

/** How the changes of products and contacts are sent to a store that was probed; undefined for whole records. */
export async function productUpdates(
  context: RunContext,
  { store, mapping: { spec } }: ImportRequest,
  run: Run,
  contactIn?: (id: number) => unknown,
): Promise<PlanOptions['updates']> {
  const { reads, observes, unaltered, takesNull, ...writes } = await productWrites(context, run, store);
  if (!observes && !writes.replaces && !writes.partByKey) return undefined;
  const { state, clock, signal } = context;
  const ledger = state.ledger(importTarget(run));
  const history = state.history(importTarget(run));
  const mapped = spec.import === 'products' ? membersOf(mappedFields(spec), 'product') : [];
  // Opened for the first product that is read: most plans change nothing.
  let observe: ReturnType<typeof observeProducts> | undefined;
  return {
    ...writes,
    isLocked: run.kind === 'run' || run.kind === 'retry' || run.kind === 'release',
    async sentBefore(keys) {
      const versions = await history.versions(keys);
      return versions.map((all) => all.flatMap(({ before, body }) => [before ?? '{}', body ?? '{}']));
    },
    ...(reads && {
      async observe(products) {
        const storefront = await context.openStorefront(store);
        observe ??= observeProducts({ storefront, ledger, mapped, unaltered, takesNull, clock, signal });
        return await observe(products);
      },
    }),
    ...(contactIn && {
      observe: async (contacts) => observeContacts(contacts, contactIn, { unaltered, clock }),
    }),
  };
}

/** What was read of contacts: only what the ledger does not have, since a list may have fields in another form than the answer to an update. */
function observeContacts(
  contacts: readonly ProductToRead[],
  contactIn: (id: number) => unknown,
  options: Pick<ObservingOptions, 'unaltered' | 'clock'>,
) {
  return new Map(
    contacts.flatMap((contact): (readonly [string, ReadProduct])[] => {
      const stored = contactIn(contact.id);
      const known: unknown = JSON.parse(contact.body);
      if (!isJsonObject(stored) || !isJsonObject(known)) return [];
      const beside = Object.entries(stored).filter(([name]) => !Object.hasOwn(known, name));
      const found = observed(options, contact, Object.fromEntries(beside));
      return contact.observation === undefined && !isEdited(found)
        ? []
        : [[contact.key, { observation: found }]];
    }),
  );
}

/** What reading products of a store takes. */
interface ObservingOptions {
  readonly storefront: Pick<Storefront, 'product' | 'products' | 'expectPages'>;
  readonly ledger: Ledger;
  /** Fields that the job may send. */
  readonly mapped: readonly string[];
  /** Fields that the store answers as they are sent. */
  readonly unaltered: readonly string[];
  /** The store takes `quantity: null`. */
  readonly takesNull: boolean;
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/**
 * Reads what a plan is about to change. Single products are read until that has taken as many requests as the pages of the whole store
 * have; then all pages are read once. So a plan takes at most twice the requests of the better way.
 */
function observeProducts(
  options: ObservingOptions,
): NonNullable<NonNullable<PlanOptions['updates']>['observe']> {
  const { storefront, signal, takesNull } = options;
  let pages: Promise<number> | undefined;
  let singles = 0;
  let all: Promise<PagedObservations> | undefined;
  return async (products) => {
    if (products.length === 0) return new Map();
    pages ??= pageCount(storefront, signal);
    if (all === undefined && singles + products.length > (await pages)) all = readPages(options, await pages);
    const paged = await all;
    const found = new Map<string, ReadProduct>();
    const unseen = products.filter(({ key, id, observation }) => {
      if (paged === undefined || !paged.seen.has(id)) return true;
      // What is not edited is as it was observed last.
      const now = paged.edited.get(key) ?? (observation && { ...observation, edited: {} });
      found.set(key, { observation: now, stock: paged.stocks.get(key) ?? [] });
      return false;
    });
    singles += unseen.length;
    for (const some of chunksOf(unseen, READS_AT_ONCE)) {
      const read = some.map(async (product) => {
        const answer = await storefront.product(product.id, { signal });
        if (!isJsonObject(answer)) return;
        const stock = stockInStore(product.body, answer, takesNull);
        found.set(product.key, { observation: observed(options, product, answer), stock });
      });
      await Promise.all(read);
    }
    return found;
  };
}

/**
 * The operations with the stock that their products have now, where `isRead` when their batch is due: the plan has read it a while ago,
 * or not at all. Products that are gone from the store or cannot be read keep what the operation has for them; where many in succession
 * cannot, the store is away.
 */
export async function* withCurrentStock<Op extends Operation>(
  context: RunContext,
  { run, store, isRead }: Pick<Delivery, 'run' | 'store'> & { readonly isRead: (operation: Op) => boolean },
  storefront: Pick<Storefront, 'product'>,
  operations: AsyncIterable<readonly Op[]>,
): AsyncGenerator<readonly Op[]> {
  const { state, signal } = context;
  const ledger = state.ledger(importTarget(run));
  const { takesNull } = await productWrites(context, run, store);
  let failures = 0;
  for await (const batch of operations) {
    const toRead = batch.filter(isRead).filter(sendsVariants);
    const bodies =
      toRead.length === 0 ? [] : await ledger.bodies(toRead.map(({ key, renames = key }) => renames));
    const current = new Map<string, VariantStock>();
    for (const some of chunksOf([...toRead.entries()], READS_AT_ONCE)) {
      const read = some.map(async ([index, { key, body, knownId }]) => {
        const acknowledged = bodies[index];
        if (acknowledged === undefined) return;
        const answer = await storefront.product(knownId, { signal }).catch((error: unknown) => {
          signal.throwIfAborted();
          if (error instanceof StoreRefusedError) return null;
          if (error instanceof StoreUnavailableError && ++failures < READS_AT_ONCE) return null;
          throw error;
        });
        if (answer === null) return;
        failures = 0;
        current.set(key, currentStock(body, acknowledged, answer, takesNull));
      });
      await Promise.all(read);
    }
    yield batch.map((operation) => {
      const stock = current.get(operation.key);
      return stock === undefined ? operation : { ...operation, stock };
    });
  }
}

function sendsVariants<Op extends Operation>(
  operation: Op,
): operation is Op & UpsertProduct & { readonly knownId: number } {
  if (operation.kind !== 'upsert-product' || operation.knownId === null) return false;
  return operation.part === undefined || operation.part.fields.some(isOfVariants);
}

function isOfVariants(field: string) {
  return VARIANT_FIELDS.includes(field);
}

function observed(
  { unaltered, clock }: Pick<ObservingOptions, 'unaltered' | 'clock'>,
  { body, observation: before, doubted, toSend }: Omit<ProductToRead, 'id'>,
  answer: unknown,
) {
  // What is in doubt is not compared: the difference may be of our own request.
  return observeAnswer({ body, sent: doubted, answer, before, toSend, unaltered, at: clock() });
}

async function pageCount(storefront: ObservingOptions['storefront'], signal: AbortSignal) {
  const { totalCount } = await storefront.products({ limit: 1, skip: 0 }, { signal });
  return totalCount === null ? Number.POSITIVE_INFINITY : Math.ceil(totalCount / PAGE_LIMIT);
}

/** The products of all pages. Only edits and other stock are kept: a store may have very many. */
type PagedObservations = Awaited<ReturnType<typeof readPages>>;

async function readPages(options: ObservingOptions, count: number) {
  const { storefront, ledger, mapped: toSend, signal, takesNull } = options;
  const seen = new Set<number>();
  const edited = new Map<string, Observation>();
  const stocks = new Map<string, VariantStock>();
  storefront.expectPages();
  const readOne = async (page: number) => {
    const { items } = await storefront.products({ limit: PAGE_LIMIT, skip: page * PAGE_LIMIT }, { signal });
    // By their ids: a store may have made other urls of ours.
    const owners = await ledger.keysBy(
      'id',
      items.map((item) => String(member(item, 'id'))),
    );
    const byKey = new Map(items.flatMap((item, index) => (owners[index] ?? []).map((key) => [key, item])));
    const keys = [...byKey.keys()];
    const [bodies, views, marks] = await Promise.all([
      ledger.bodies(keys),
      ledger.views(keys),
      ledger.marks(keys),
    ]);
    for (const [index, key] of keys.entries()) {
      const [body, view, mark] = [bodies[index], views[index], marks[index]];
      const answer = byKey.get(key);
      if (body === undefined || view === undefined || !isJsonObject(answer) || answer['id'] !== mark?.id)
        continue;
      const now = observed(options, { key, body, toSend, ...view }, answer);
      if (typeof answer['id'] === 'number') seen.add(answer['id']);
      if (isEdited(now)) edited.set(key, now);
      const stock = stockInStore(body, answer, takesNull);
      if (stock.length > 0) stocks.set(key, stock);
    }
  };
  for (let from = 0; from < count; from += READS_AT_ONCE) {
    const some = Array.from({ length: Math.min(READS_AT_ONCE, count - from) }, (_, index) => from + index);
    await Promise.all(some.map(readOne));
  }
  return {
    /** Their ids. */
    seen,
    edited,
    stocks,
  };
}
