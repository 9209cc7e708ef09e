import { setImmediate } from 'node:timers/promises';
import { isJsonObject, sumOf } from '../model/json-object.ts';
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
import { type CopyGroup, CopySpool, CopyTally } from './copies/copy-spool.ts';
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
  readonly maxMerged: number;
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
    using spool = new CopySpool();
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
        else {
          // Another patch of the product may have its other rows.
          const { partial: _, ...whole } = patch;
          spool.add(this.#unitOf(patch), whole, fingerprintOf(JSON.stringify(patch.body)), key);
        }
      }
      yield left;
    }
    for (const products = spool.owners(); ; ) {
      // `take` would end the iterator of the spool.
      const some = new Map<string, readonly CopyGroup[]>();
      while (some.size < PRODUCTS_AT_ONCE) {
        const { done, value } = products.next();
        if (done === true) break;
        some.set(value.owner, value.groups);
      }
      if (some.size === 0) return;
      this.#options.signal.throwIfAborted();
      yield await this.#merged(some);
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

  async #merged(products: ReadonlyMap<string, readonly CopyGroup[]>): Promise<Mapped[]> {
    const { ledger, name, advanced } = this.#options;
    const keys = [...products.keys()];
    const [marks, bodies] = [await ledger.marks(keys), await ledger.bodies(keys)];
    const inDoubt = keys.filter((_, index) => marks[index]?.fingerprint === IN_DOUBT);
    // A whole body overwrites what an earlier run of this job may have sent, and only that.
    const own = inDoubt.length === 0 ? new Set() : await ledger.doubtedOnlyBy(name, inDoubt);
    return [...products].flatMap(([key, groups], index) => {
      const copies = groups.map((group) => this.#resolve(key, group));
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
    const message = `no product that Storeferry has sent to this store has this ${WORDS[match]}; correct it, or let another job send the product first`;
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
      ...(notes.length !== 0 && { notes: [...new Set(notes)] }),
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
    rows: sumOf(items, ({ rows }) => rows),
    spans: items.flatMap(({ spans }) => spans),
  };
}
