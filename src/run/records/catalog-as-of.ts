import { isJsonObject, type JsonObject, member, objectsIn } from '../../model/json-object.ts';
import type { RecordFormat } from '../../model/run.ts';
import { chunksOf, type History, type LedgerTarget, type Version } from '../../state/state.ts';
import { cellAsText, csvText, INERT_CSV, type TypedCell, writeTable } from '../../tables/write-table.ts';
import type { RunContext } from '../run-context.ts';

/** A product as it was at a time. */
export interface CatalogEntry {
  readonly key: string;
  /** Null: deleted; undefined where the history cannot be read. */
  readonly body: string | null | undefined;
  /** What stands for the body of that time: the one with which the history begins, or without any the acknowledged one. */
  readonly insteadBy?: 'oldest' | 'current' | undefined;
  /** The job that it belonged to; undefined where that is not known. */
  readonly owner?: string | undefined;
}

/** What a catalog of an earlier time has, and what is missing. Counts grow while the products are read. */
export interface CatalogFound {
  products: number;
  /** Their body at that time cannot be read. */
  damaged: number;
  /** The history begins after that time: they are as they were when it began. */
  older: number;
  /** There is no history of them: they are as they are now. */
  current: number;
}

const KEYS_AT_ONCE = 200;

/** The bodies of a catalog; what is missing is counted. */
export async function* catalogBodies(
  entries: AsyncIterable<readonly CatalogEntry[]>,
  found: CatalogFound,
): AsyncGenerator<readonly string[]> {
  for await (const batch of entries) {
    const bodies = batch.flatMap(({ body }) => body ?? []);
    found.products += bodies.length;
    found.damaged += batch.filter(({ body }) => body === undefined).length;
    found.older += batch.filter(({ insteadBy }) => insteadBy === 'oldest').length;
    found.current += batch.filter(({ insteadBy }) => insteadBy === 'current').length;
    yield bodies;
  }
}

/** What the store had acknowledged at a time, in batches, in no particular order; those deleted since come last. */
export async function* catalogAsOf(
  { state, signal }: RunContext,
  target: LedgerTarget,
  at: number,
): AsyncGenerator<readonly CatalogEntry[]> {
  const history = state.history(target);
  const ledger = state.ledger(target);
  async function* bodiesOf(keys: readonly string[], now: readonly (string | undefined)[]) {
    const bodies = now.values();
    for (const some of chunksOf(keys, KEYS_AT_ONCE)) {
      signal.throwIfAborted();
      const versions = await history.versions(some);
      yield some.flatMap((key, index) => {
        const entry = { key, ...bodyAt(versions[index] ?? [], at, bodies.next().value ?? null) };
        return entry.body === null ? [] : [entry];
      });
    }
  }
  for await (const page of ledger.allBodies()) {
    yield* bodiesOf(
      page.map(({ key }) => key),
      page.map(({ body }) => body),
    );
  }
  const gone = new Set<string>();
  for (const { id } of await history.runs()) {
    for await (const page of history.keysOf(id)) {
      const marks = await ledger.marks(page);
      const fresh = page.filter((key, index) => marks[index] === undefined && !gone.has(key));
      for (const key of fresh) gone.add(key);
      yield* bodiesOf([...new Set(fresh)], []);
    }
  }
}

/** The keys that a run has written, each once, with all of their versions, in groups of one query to the history. */
export async function* versionsOfRun(
  history: History,
  run: string,
  isWanted: (key: string) => boolean = () => true,
): AsyncGenerator<readonly (readonly [key: string, versions: readonly Version[]])[]> {
  const seen = new Set<string>();
  for await (const page of history.keysOf(run)) {
    const fresh = [...new Set(page)].filter((key) => !seen.has(key) && isWanted(key));
    for (const key of fresh) seen.add(key);
    for (const keys of chunksOf(fresh, KEYS_AT_ONCE)) {
      const versions = await history.versions(keys);
      yield keys.map((key, index) => [key, versions[index] ?? []] as const);
    }
  }
}

/** The body at a time; null where there was none. */
function bodyAt(versions: readonly Version[], at: number, now: string | null): Omit<CatalogEntry, 'key'> {
  const version = versions.find((known) => known.at <= at);
  // A damaged version of Redis has no time.
  if (version?.at === 0) return { body: undefined };
  if (version !== undefined) {
    return { body: version.body, owner: version.owner ?? version.run.job };
  }
  const oldest = versions.at(-1);
  return oldest === undefined
    ? { body: now, insteadBy: 'current' }
    : { body: oldest.before, insteadBy: 'oldest' };
}

/** The bytes of a catalog: a JSON object per product, or a table with a row per variant. `open` opens the bodies, each time from the first. */
export function catalogContent(
  open: () => AsyncIterable<readonly string[]>,
  format: RecordFormat,
): AsyncIterable<Uint8Array | string> {
  if (format === 'jsonl') return linesOf(open(), (body) => `${body}\n`);
  const columns = [...PRODUCT_COLUMNS, 'options', ...VARIANT_COLUMNS];
  const table = { name: 'Catalog', columns, rows: () => rowsOfAll(open()) };
  return format === 'csv' ? csvText(table, INERT_CSV) : writeTable(table, format);
}

/** The lines of each batch, as one text. */
export async function* linesOf<Item>(
  batches: AsyncIterable<readonly Item[]>,
  line: (item: Item) => string,
): AsyncGenerator<string> {
  for await (const batch of batches) yield batch.map(line).join('');
}

const PRODUCT_COLUMNS = [
  'url',
  'type',
  'title',
  'description',
  'hidden',
  'images',
  'categories',
  'subscription',
  'file',
];
const VARIANT_COLUMNS = ['sku', 'price', 'onSale', 'regularPrice', 'salePrice', 'quantity', 'weight'];

async function* rowsOfAll(bodies: AsyncIterable<readonly string[]>) {
  for await (const batch of bodies) {
    yield batch.flatMap((body) => {
      const product: unknown = JSON.parse(body);
      return isJsonObject(product) ? rowsOf(product) : [];
    });
  }
}

function rowsOf(product: JsonObject): (readonly TypedCell[])[] {
  const cells = PRODUCT_COLUMNS.map((column) => typedCell(member(product, column)));
  const found = objectsIn(product, 'variants');
  return (found.length === 0 ? [{}] : found).map((variant) => {
    const own = VARIANT_COLUMNS.map((column) => typedCell(member(variant, column)));
    return [...cells, optionsText(member(product, 'options'), member(variant, 'options')), ...own];
  });
}

/** `Size: L; Colour: Red`. */
function optionsText(options: unknown, chosen: unknown) {
  if (!Array.isArray(options) || !Array.isArray(chosen)) return '';
  return options
    .map((option, index) => {
      const name = isJsonObject(option) ? typedCell(member(option, 'name')) : null;
      return `${cellAsText(name)}: ${cellAsText(typedCell(chosen[index]))}`;
    })
    .join('; ');
}

/** A text, a truth value or a number as it is, a list of texts with `; ` between them, everything else as JSON. */
function typedCell(value: unknown): TypedCell {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return { number: String(value) };
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join('; ');
  return JSON.stringify(value);
}
