import { isJsonObject, type JsonObject } from '../model/json-object.ts';
import type { PlannedShard } from '../model/plan.ts';
import type { RunFolder } from '../state/artifacts.ts';
import { IN_DOUBT, type Ledger, type LedgerMark, type OwnedKey } from '../state/state.ts';
import type { KeySet } from './key-set.ts';
import { type LeftOutKind, type LeftOutProduct, readHeld, readLeftOut, readShard } from './plan-file.ts';
import type { PlanTally } from './plan-tally.ts';
import { type MatchCandidate, type MatchKind, ProductMatcher, skusOf } from './product-matcher.ts';

/** How a product gets a new url: by its id, or created under it and then deleted under the old one; `hold`: a person decides. */
export type RenameMethod = 'put' | 'create' | 'hold';

/** The product that a new record continues: this job sent it under another key, or the store had it before the first import. */
export interface Predecessor {
  readonly key: string;
  /** `history`: an undo brings back the key, or a release gives it, that an earlier run has changed or held. `table`: a person has decided it. */
  readonly by: MatchKind | 'history' | 'table';
  /** Its old key and id, by which it is renamed or deleted; absent where the key stays the same. */
  readonly renamed?: OwnedKey;
  /** The key that the source has, where the record is sent under the key of the store. */
  readonly origin?: string;
}

/** What new records may continue. */
export interface Predecessors {
  readonly method: RenameMethod;
  /** By the key of the new record. */
  readonly certain: ReadonlyMap<string, Predecessor>;
  /** Of new records that wait for a decision. */
  readonly waiting: ReadonlyMap<string, readonly MatchCandidate[]>;
  /** Those of them that may be products which the store had before the first import. */
  readonly adopting?: ReadonlySet<string>;
  /** Known keys that a record which is left out under a new key may continue, and why it is. */
  readonly staying?: ReadonlyMap<string, LeftOutKind>;
  /** The last acknowledged bodies of predecessors, in the order of their keys. */
  readonly bodies: (keys: readonly string[]) => Promise<readonly (string | undefined)[]>;
}

/** A source that lacks a larger share of what its job sent is a part of a catalog, unless it has about as many new products instead. */
const MAX_MISSING_SHARE = 0.2;
/** So many of the missing products must be like new ones for a title alone to say that they have new urls. */
const MIN_TITLED_SHARE = 0.5;

/** What the search for renamed products reads. */
interface RenameSearch {
  readonly folder: RunFolder;
  readonly ledger: Ledger;
  readonly job: string;
  readonly method: RenameMethod;
  /** The source is the whole catalog: what it lacks is gone. */
  readonly isMirror: boolean;
  readonly upserts: readonly PlannedShard[];
  readonly tally: PlanTally;
  readonly seen: KeySet;
  readonly signal: AbortSignal;
}

/**
 * Finds products that have a new url: a new record, and a product that this job sent before and the source no longer has, with the same
 * SKUs, or the same title and pictures. Certain if neither is like any other; else they wait. Also finds what rejected and skipped
 * records may continue. Null if there are none.
 */
export async function findRenamed(search: RenameSearch): Promise<Predecessors | null> {
  const { ledger, job, seen, isMirror, tally, signal } = search;
  const { new: created, held, rejected, skipped } = tally.counts;
  // What is no longer in the source is deleted by a mirror alone.
  const leftOut = isMirror ? rejected.records + skipped.records : 0;
  const news = created.records + held.records + leftOut;
  const sent = await ledger.count(job);
  if (news === 0 || sent === 0 || !(await hasMissing(search, sent))) return null;
  const gone = sent - tally.known;
  const hasMost = isMirror || gone <= sent * MAX_MISSING_SHARE;
  const isReplaced = !hasMost && news >= gone * (1 - MAX_MISSING_SHARE);
  // Of a part of a catalog, only what has the same SKUs is looked at.
  const isWhole = hasMost || isReplaced;
  const kinds: readonly MatchKind[] = isWhole ? ['url', 'skus', 'pictures'] : ['skus'];
  using matcher = new ProductMatcher(isReplaced ? [...kinds, 'title'] : kinds, isReplaced);
  // Of a rejected product, some SKUs may be unreadable. A skipped one is often a variant of another product.
  using rejects = new ProductMatcher(['pictures', 'sku']);
  using skips = new ProductMatcher(['skus', 'pictures']);
  const missing = new Map<string, OwnedKey>();
  const skus = new Map<string, readonly string[]>();
  const addMissing = async (owned: readonly OwnedKey[]) => {
    const bodies = await ledger.bodies(owned.map(({ key }) => key));
    for (const [index, one] of owned.entries()) {
      const body: unknown = JSON.parse(bodies[index] ?? 'null');
      if (!isJsonObject(body)) continue;
      if (isMirror) {
        rejects.addKnown(one.key, body);
        skips.addKnown(one.key, body);
      }
      if (matcher.addKnown(one.key, body)) missing.set(one.key, one);
    }
  };
  for await (const records of readNewRecords(search)) {
    for (const [key, body] of records) {
      matcher.addNew(key, body);
      skus.set(key, skusOf(body));
    }
    if (!isWhole)
      await addMissing(
        await findMissingBySku(
          search,
          records.flatMap(([, body]) => skusOf(body)),
        ),
      );
  }
  for await (const products of isMirror ? readUnknownLeftOut(search) : []) {
    for (const { key, kind, likeness } of products) {
      (kind === 'rejected' ? rejects : skips).addNew(key, likeness);
      skus.set(key, skusOf(likeness));
    }
  }
  for await (const owned of isWhole ? readMissingKeys(ledger, job, seen) : []) {
    signal.throwIfAborted();
    await addMissing(owned);
  }
  const isByTitle = ({ candidates: [first] }: ReturnType<typeof matcher.matches>[number]) =>
    first?.by === 'title';
  const found = matcher.matches().filter((match) => match.isCertain || !isByTitle(match));
  const areTitled = found.length >= gone * MIN_TITLED_SHARE;
  const matches = areTitled ? found : found.filter((match) => !isByTitle(match));
  const likelyRejected = rejects.matches();
  const likelySkipped = skips.matches();
  const shared = await findSharedSkus(
    search,
    [...matches, ...likelyRejected, ...likelySkipped].flatMap(({ key }) => skus.get(key) ?? []),
  );
  // An SKU of a product that is still in the source does not identify a missing one.
  const openCandidates = ({ key, candidates }: (typeof matches)[number], bySkus: MatchKind) =>
    skus.get(key)?.some((sku) => shared.has(sku)) === true
      ? candidates.filter(({ by }) => by !== bySkus)
      : candidates;
  const taken = search.method === 'put' ? await findTakenUrls(ledger, matches) : new Set();
  const certain = new Map<string, Predecessor>();
  const waiting = new Map<string, readonly MatchCandidate[]>();
  for (const match of matches) {
    const { key, isCertain } = match;
    if (taken.has(key)) continue;
    const open = openCandidates(match, 'skus');
    const [first] = open;
    const known = first && missing.get(first.key);
    if (first === undefined || known === undefined) continue;
    const isSure = isCertain && first.by !== 'title' && tally.unreadableKeys === 0;
    if (isSure && mayRename(search.method, known))
      certain.set(key, { key: known.key, by: first.by, renamed: known });
    else waiting.set(key, open);
  }
  const staying = new Map<string, LeftOutKind>();
  for (const match of likelySkipped)
    for (const { key } of openCandidates(match, 'skus')) staying.set(key, 'skipped');
  for (const match of likelyRejected)
    for (const { key } of openCandidates(match, 'sku')) staying.set(key, 'rejected');
  for (const { key } of certain.values()) staying.delete(key);
  if (certain.size + waiting.size + staying.size === 0) return null;
  return { method: search.method, certain, waiting, staying, bodies: (keys) => ledger.bodies(keys) };
}

/** The products that a draft leaves out and the ledger does not know, in batches. */
async function* readUnknownLeftOut({
  folder,
  ledger,
}: RenameSearch): AsyncGenerator<readonly LeftOutProduct[]> {
  for await (const products of readLeftOut(folder)) {
    const marks = await ledger.marks(products.map(({ key }) => key));
    yield products.filter((_, index) => marks[index] === undefined);
  }
}

/**
 * New urls that are in doubt: by a request without an answer the store may have another product there, and would not give the url to the
 * known one. Where the old key is in doubt as well, that request may have been the change of the url itself: they are left out.
 */
async function findTakenUrls(
  ledger: Ledger,
  matches: ReturnType<ProductMatcher['matches']>,
): Promise<ReadonlySet<string>> {
  const keys = matches.map(({ key }) => key);
  const [views, old] = await Promise.all([
    ledger.views(keys),
    ledger.marks(matches.map(({ candidates: [first] }) => first?.key ?? '')),
  ]);
  const isTaken = (at: number) =>
    views[at]?.doubted?.length !== 0 && old[at] !== undefined && old[at].fingerprint !== IN_DOUBT;
  return new Set(keys.filter((_, at) => isTaken(at)));
}

/**
 * The predecessors that are known already, by the keys of the new records: those that this job still has in the ledger, and that may be
 * renamed. Null if there are none.
 */
export async function readKnownPredecessors(
  ledger: Ledger,
  job: string,
  method: RenameMethod,
  known: ReadonlyMap<string, string>,
): Promise<Predecessors | null> {
  const marks = await ledger.marks([...known.values()]);
  const certain = new Map<string, Predecessor>();
  for (const [index, [to, key]] of [...known].entries()) {
    const mark = marks[index];
    if (mark?.job !== job) continue;
    const renamed = ownedKey(key, mark);
    if (mayRename(method, renamed)) certain.set(to, { key, by: 'history', renamed });
  }
  if (certain.size === 0) return null;
  return { method, certain, waiting: new Map(), bodies: (keys) => ledger.bodies(keys) };
}

function ownedKey(key: string, { id, idProof }: LedgerMark): OwnedKey {
  return idProof === undefined ? { key, id } : { key, id, idProof };
}

/**
 * Whether the product may lose its old url: the store has answered its id, and never another one. To be changed by its id, that must be
 * proven; before a delete it is answered again if it is not (`planRenameDeletes`).
 */
function mayRename(method: RenameMethod, { id, idProof }: OwnedKey) {
  if (id === null || idProof === 'changed' || method === 'hold') return false;
  return method === 'create' || idProof === undefined;
}

async function hasMissing({ ledger, job, seen, tally }: RenameSearch, sent: number) {
  // Where no other job's products are among them, the figures say it without reading the keys.
  if (tally.takeovers().length === 0) return sent > tally.known;
  for await (const batch of readMissingKeys(ledger, job, seen)) if (batch.length > 0) return true;
  return false;
}

/** The keys that this job last sent and the source no longer has, in batches. Keys of other jobs are ignored. */
export async function* readMissingKeys(
  ledger: Ledger,
  job: string,
  seen: KeySet,
): AsyncGenerator<readonly OwnedKey[]> {
  for await (const batch of ledger.keysOf(job)) {
    yield batch.filter(({ key }) => !seen.has(key));
  }
}

/** Those of them that have any of these SKUs. */
async function findMissingBySku(
  { ledger, job, seen }: RenameSearch,
  skus: readonly string[],
): Promise<readonly OwnedKey[]> {
  const keys = (await ledger.keysBy('sku', skus)).flat().filter((key) => !seen.has(key));
  const distinct = [...new Set(keys)];
  const marks = await ledger.marks(distinct);
  return distinct.flatMap((key, index) => {
    const mark = marks[index];
    return mark?.job === job ? [ownedKey(key, mark)] : [];
  });
}

/** Those of the SKUs that a product has which is still in the source. */
async function findSharedSkus(
  { ledger, seen }: RenameSearch,
  skus: readonly string[],
): Promise<ReadonlySet<string>> {
  const keys = await ledger.keysBy('sku', skus);
  return new Set(skus.filter((_, index) => keys[index]?.some((key) => seen.has(key)) === true));
}

/** The records of a draft that the ledger does not know, with their bodies, in batches; those that guards hold, too. */
export async function* readNewRecords({
  folder,
  ledger,
  upserts,
  tally,
  signal,
}: Pick<RenameSearch, 'folder' | 'ledger' | 'upserts' | 'tally' | 'signal'>): AsyncGenerator<
  readonly (readonly [key: string, body: JsonObject])[]
> {
  const read = async function* () {
    for (const shard of upserts) yield await readShard(folder, shard);
    for await (const held of readHeld(folder, tally)) yield held.map(({ operation }) => operation);
  };
  for await (const operations of read()) {
    signal.throwIfAborted();
    const upserted = operations.filter((operation) => operation.kind === 'upsert-product');
    const marks = await ledger.marks(upserted.map(({ key }) => key));
    yield upserted.flatMap(({ key, body }, index) => {
      const product: unknown = marks[index] === undefined ? JSON.parse(body) : undefined;
      return isJsonObject(product) ? [[key, product] as const] : [];
    });
  }
}

/**
 * What either of two searches has found; of a key that both have, the first counts. If both have found something, `adopting` is that of
 * the first, `method` and `staying` are those of the second.
 */
export function joinPredecessors(
  first: Predecessors | null,
  second: Predecessors | null,
): Predecessors | null {
  if (first === null || second === null) return first ?? second;
  return {
    method: second.method,
    certain: new Map([...second.certain, ...first.certain]),
    waiting: new Map([...second.waiting, ...first.waiting]),
    ...(second.staying !== undefined && { staying: second.staying }),
    ...(first.adopting !== undefined && { adopting: first.adopting }),
    bodies: async (keys) => {
      const [ofFirst, ofSecond] = await Promise.all([first.bodies(keys), second.bodies(keys)]);
      return keys.map((_, index) => ofFirst[index] ?? ofSecond[index]);
    },
  };
}
