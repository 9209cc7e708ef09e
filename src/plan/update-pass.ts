import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { isJsonObject } from '../model/json-object.ts';
import type {
  DeferredRecord,
  Mapped,
  MappedRecord,
  MappedRejection,
  UpdateMatch,
} from '../model/mapped-record.ts';
import type { DuplicatesFound, DuplicatesPolicy } from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import { StateError } from '../model/storeferry-error.ts';
import { IN_DOUBT, type Ledger, type LedgerMark } from '../state/state.ts';
import { type CopyGroup, CopyTally } from './copies/copy-spool.ts';
import { resolveCopies } from './copies/resolve-copies.ts';
import { patchProduct } from './patch-product.ts';
import { fingerprintOf } from './shard-writer.ts';

/** What merging patches into acknowledged products needs. */
export interface UpdateOptions {
  readonly ledger: Ledger;
  /** The name of the job. */
  readonly name: string;
  readonly match: UpdateMatch;
  readonly duplicates: DuplicatesPolicy;
  readonly mostMerged: number;
  /** What the mapping says of `options[].advanced`. */
  readonly advanced: boolean | undefined;
  readonly signal: AbortSignal;
}

/** Products of one look-up in the ledger; with 500 their bodies take a few megabytes. */
const PRODUCTS_AT_ONCE = 500;

/** The records of an update job: each product once, with its patches merged into the body that the store acknowledged. */
export class UpdatePass {
  readonly #options: UpdateOptions;
  #copies = new CopyTally();

  constructor(options: UpdateOptions) {
    this.#options = options;
  }

  /** SKUs, urls or ids that occurred more than once; null when there were none. Complete when all records were read. */
  get duplicates(): DuplicatesFound | null {
    return this.#copies.found(this.#options.duplicates);
  }

  /**
   * Finds the product of each patch, and keeps the patches on disk until all are read, because the rows of a product may be
   * anywhere in the file. Then yields the merged products, in the order of their first rows. A patch without a product, or
   * one that cannot be merged, is rejected. Such a rejection has no key: a retry recognises its rows by their lines, even
   * if the key is corrected.
   */
  async *records(
    batches: AsyncIterable<readonly (Mapped | DeferredRecord)[]>,
  ): AsyncGenerator<readonly Mapped[]> {
    this.#copies = new CopyTally();
    using spool = new PatchSpool();
    for await (const batch of batches) {
      const mapped = batch.map((item) => (item.kind === 'deferred' ? item.map() : item));
      const patches = mapped.filter((item) => item.kind === 'record');
      const keys = await this.#keysOf(patches.map(({ key }) => key));
      const left: Mapped[] = mapped.filter((item) => item.kind === 'skipped');
      for (const item of mapped) if (item.kind === 'rejected') left.push({ ...item, key: null });
      for (const [index, patch] of patches.entries()) {
        const [key, ...others] = keys[index] ?? [];
        if (key === undefined) left.push(rejection([patch], this.#noMatch()));
        else if (others.length > 0) left.push(rejection([patch], this.#ambiguous([key, ...others])));
        else spool.add(key, this.#unitOf(patch), patch);
      }
      yield left;
    }
    for (const keys of spool.products()) {
      this.#options.signal.throwIfAborted();
      yield await this.#merged(spool, keys);
      // SQLite calls are synchronous: signals and locks are processed here.
      await setImmediate();
    }
  }

  async #keysOf(values: readonly string[]): Promise<(readonly string[])[]> {
    const { ledger, match } = this.#options;
    if (match !== 'url') return await ledger.keysBy(match, values);
    const marks = await ledger.marks(values);
    return values.map((key, index) => (marks[index] === undefined ? [] : [key]));
  }

  /** Patches of one product with the same unit are copies; patches with other units change other variants. */
  #unitOf({ key, body }: MappedRecord): string {
    if (this.#options.match === 'sku' || !('variants' in body)) return key;
    return JSON.stringify(body.variants.map(({ sku, options }) => [sku, options]));
  }

  async #merged(spool: PatchSpool, keys: readonly string[]): Promise<Mapped[]> {
    const { ledger, name, advanced } = this.#options;
    const [marks, bodies] = [await ledger.marks(keys), await ledger.bodies(keys)];
    const inDoubt = keys.filter((_, index) => marks[index]?.fingerprint === IN_DOUBT);
    // A whole body overwrites what an earlier run of this job may have sent, and only that.
    const own = inDoubt.length === 0 ? new Set() : await ledger.doubtedOnlyBy(name, inDoubt);
    return keys.flatMap((key, index) => {
      const copies = spool.groupsOf(key).map((group) => this.#resolve(key, group));
      const patches = copies.flatMap(({ kept }) => kept);
      const left = copies.flatMap((resolved) => resolved.left);
      return [
        ...left,
        ...mergedInto(key, patches, { mark: marks[index], isOwn: own.has(key), advanced }, bodies[index]),
      ];
    });
  }

  /** The patch of a unit that is sent, if any, and the copies that are left out. */
  #resolve(
    key: string,
    group: CopyGroup,
  ): { readonly kept: readonly MappedRecord[]; readonly left: readonly Mapped[] } {
    if (group.copies > 1) this.#copies.count(group);
    const kept: MappedRecord[] = [];
    const skipped: Mapped[] = [];
    const rejected: MappedRejection[] = [];
    const rules = { ...this.#options, resource: 'products', keyField: this.#options.match } as const;
    for (const { item } of resolveCopies(group, rules)) {
      if (item.kind === 'record') kept.push(item);
      else if (item.kind === 'skipped') skipped.push({ ...item, key });
      else rejected.push(item);
    }
    const [first] = rejected;
    return { kept, left: first === undefined ? skipped : [...skipped, rejection(rejected, first.reason)] };
  }

  #noMatch(): Reason {
    const { match } = this.#options;
    const message = `no product that Storeferry has sent to this store has this ${WORDS[match]}; correct it, or let a job with \`mode: upsert\` send the product first`;
    return { code: 'no-match', message, field: FIELDS[match] };
  }

  #ambiguous(keys: readonly string[]): Reason {
    const { match } = this.#options;
    const named = keys.slice(0, 3).map((key) => `'${key}'`);
    const message = `${keys.length} products have this ${WORDS[match]}: ${named.join(', ')}${keys.length > 3 ? ' …' : ''}; make it unique in the store, or match by url`;
    return { code: 'ambiguous-match', message, field: FIELDS[match] };
  }
}

const WORDS = { sku: 'SKU', url: 'url', id: 'id' } as const satisfies Record<UpdateMatch, string>;
const FIELDS = { sku: 'variants.sku', url: 'url', id: 'id' } as const satisfies Record<UpdateMatch, string>;

function mergedInto(
  key: string,
  patches: readonly MappedRecord[],
  {
    mark,
    isOwn,
    advanced,
  }: {
    readonly mark: LedgerMark | undefined;
    readonly isOwn: boolean;
    readonly advanced: boolean | undefined;
  },
  body: string | undefined,
): readonly Mapped[] {
  if (patches.length === 0) return [];
  if (mark === undefined) return [rejection(patches, GONE)];
  if (mark.fingerprint === IN_DOUBT && !isOwn) return [rejection(patches, inDoubt(mark))];
  const acknowledged: unknown = JSON.parse(body ?? 'null');
  if (!isJsonObject(acknowledged)) {
    throw new StateError(
      `The state has lost the acknowledged product ${JSON.stringify(key)}: no fields can be merged into it.`,
      { hint: `Send everything again: storeferry run ${mark.job} --resend` },
    );
  }
  const merged = patchProduct(
    acknowledged,
    patches.map(({ body }) => body).filter((body) => 'variants' in body),
    advanced,
  );
  if ('refused' in merged) return [rejection(patches, merged.refused)];
  const notes = patches.flatMap((patch) => patch.notes ?? []);
  return [
    {
      kind: 'record',
      key,
      body: merged.product,
      ...together(patches),
      ...(notes.length === 0 ? {} : { notes: [...new Set(notes)] }),
    },
  ];
}

const GONE: Reason = {
  code: 'no-match',
  message: 'the product was deleted while the plan was made; plan again',
};

function inDoubt({ job }: LedgerMark): Reason {
  const message = `a run ended while it sent this product, so the store may have another version than the last acknowledged one: first send the whole product${job === '' ? '' : ` (storeferry run ${job})`}, then retry`;
  return { code: 'in-doubt', message };
}

function rejection(items: readonly Pick<MappedRecord, 'rows' | 'spans'>[], reason: Reason): MappedRejection {
  const line = reason.line ?? items[0]?.spans[0]?.from;
  return {
    kind: 'rejected',
    key: null,
    ...together(items),
    reason: line === undefined ? reason : { ...reason, line },
  };
}

function together(items: readonly Pick<MappedRecord, 'rows' | 'spans'>[]) {
  return {
    rows: items.reduce((sum, { rows }) => sum + rows, 0),
    spans: items.flatMap(({ spans }) => spans),
  };
}

/** Patches by product, in a temporary SQLite database: on disk when they are many, and gone with the process. */
class PatchSpool implements Disposable {
  readonly #database = new DatabaseSync('');
  readonly #insert;
  readonly #selectUnits;
  readonly #selectItems;

  constructor() {
    this.#database.exec(`
      PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF;
      PRAGMA cache_size = -32000;
      CREATE TABLE products (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
      CREATE TABLE patches (
        seq INTEGER PRIMARY KEY, product TEXT NOT NULL, unit TEXT NOT NULL, print TEXT NOT NULL, item TEXT NOT NULL);
      CREATE INDEX patches_of_product ON patches (product, unit, seq);
      BEGIN;
    `);
    const product = this.#database.prepare('INSERT OR IGNORE INTO products (key) VALUES (?)');
    const patch = this.#database.prepare(
      'INSERT INTO patches (product, unit, print, item) VALUES (?, ?, ?, ?)',
    );
    this.#insert = (key: string, unit: string, print: string, item: string) => {
      product.run(key);
      patch.run(key, unit, print, item);
    };
    this.#selectUnits = this.#database.prepare(
      `SELECT unit, count(*) AS copies, count(DISTINCT print) AS prints FROM patches
       WHERE product = ? GROUP BY unit ORDER BY min(seq)`,
    );
    this.#selectItems = this.#database.prepare(
      'SELECT item FROM patches WHERE product = ? AND unit = ? ORDER BY seq',
    );
  }

  add(key: string, unit: string, patch: MappedRecord): void {
    this.#insert(key, unit, fingerprintOf(JSON.stringify(patch.body)), JSON.stringify(patch));
  }

  /** The keys of the products, in batches, in the order in which they were met. */
  *products(): Generator<readonly string[]> {
    const select = this.#database.prepare(
      `SELECT number, key FROM products WHERE number > ? ORDER BY number LIMIT ${PRODUCTS_AT_ONCE}`,
    );
    for (let last = 0; ; ) {
      const page = select.all(last);
      if (page.length === 0) return;
      last = Number(page.at(-1)?.['number']);
      yield page.map(({ key }) => String(key));
    }
  }

  /** The patches of a product, those of one unit together. */
  groupsOf(key: string): readonly CopyGroup[] {
    const items = this.#selectItems;
    return this.#selectUnits.all(key).map(({ unit, copies, prints }) => ({
      key: String(unit),
      copies: Number(copies),
      identical: prints === 1,
      anyRejected: false,
      hasPartial: false,
      *read() {
        for (const { item } of items.all(key, String(unit))) yield parsePatch(String(item));
      },
    }));
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

/** Reads what `add` has written in this process. */
function parsePatch(item: string): MappedRecord {
  const patch: MappedRecord = JSON.parse(item);
  return patch;
}
