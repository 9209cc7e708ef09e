import type { Observation } from '../../src/model/observation.ts';
import { fingerprintOf } from '../../src/plan/shard-writer.ts';
import { handlesOf, type ProductHandle, storedHandle } from '../../src/state/product-handle.ts';
import {
  type CompareQuery,
  IN_DOUBT,
  type Ledger,
  type LedgerMark,
  type MemoFact,
  type ObservedKey,
  type OwnedKey,
  type StoredView,
} from '../../src/state/state.ts';

interface Entry {
  readonly body: string;
  readonly id: number | null;
  readonly job: string;
  readonly memo?: string | undefined;
  readonly inDoubt?: true;
  readonly doubtedBy?: string | undefined;
  readonly idProof?: 'once' | 'changed' | undefined;
  readonly observation?: Observation | undefined;
}

/** A ledger in memory, filled as if the store had acknowledged what is put into it. */
export class MemoryLedger implements Ledger {
  readonly entries: Map<string, Entry>;
  questions = 0;
  /** How many SKUs or ids each look-up was about. */
  readonly lookUps: number[] = [];
  /** What a run that died may have created. */
  unconfirmedKeys: readonly string[] = [];

  /** With what another one knows. */
  constructor(like?: MemoryLedger) {
    this.entries = new Map(like?.entries);
  }

  put(
    key: string,
    body: object,
    { id = this.entries.size + 1, job = 'nightly', idProof }: Partial<Entry> = {},
  ): this {
    this.entries.set(key, { body: JSON.stringify(body), id, job, idProof });
    return this;
  }

  async keysNamed(): Promise<readonly string[]> {
    throw new Error('no plan searches');
  }

  async writtenSince(): Promise<ReadonlySet<string>> {
    throw new Error('no plan asks for versions');
  }

  async confirm(): Promise<void> {
    throw new Error('no plan confirms');
  }

  async forget(): Promise<boolean> {
    throw new Error('no plan forgets');
  }

  async marks(keys: readonly string[]): Promise<(LedgerMark | undefined)[]> {
    this.questions++;
    return keys.map((key) => {
      const entry = this.entries.get(key);
      return (
        entry && {
          fingerprint: entry.inDoubt ? IN_DOUBT : fingerprintOf(entry.body),
          id: entry.id,
          job: entry.job,
          ...(entry.memo === undefined ? {} : { memo: entry.memo }),
        }
      );
    });
  }

  async views(keys: readonly string[]): Promise<StoredView[]> {
    return keys.map((key) => {
      const { observation, inDoubt } = this.entries.get(key) ?? {};
      return { observation, doubted: inDoubt ? null : [] };
    });
  }

  async observe(observed: readonly ObservedKey[]): Promise<void> {
    for (const { key, observation } of observed) {
      const entry = this.entries.get(key);
      if (entry) this.entries.set(key, { ...entry, observation });
    }
  }

  async *edited(): AsyncGenerator<never> {}

  async compare({ keys, memos, job }: CompareQuery): Promise<(LedgerMark | 'same' | undefined)[]> {
    const marks = await this.marks(keys);
    return marks.map((mark, index) =>
      mark?.memo !== undefined && mark.memo === memos[index] && mark.job === job ? 'same' : mark,
    );
  }

  async remember(facts: readonly MemoFact[]): Promise<void> {
    for (const { key, fingerprint, memo } of facts) {
      const entry = this.entries.get(key);
      if (entry && fingerprintOf(entry.body) === fingerprint) this.entries.set(key, { ...entry, memo });
    }
  }

  async doubt(keys: readonly string[], doubtedBy?: string): Promise<void> {
    for (const key of keys) {
      const entry = this.entries.get(key);
      if (entry) this.entries.set(key, { ...entry, memo: undefined, inDoubt: true, doubtedBy });
    }
  }

  async bodies(keys: readonly string[]): Promise<(string | undefined)[]> {
    return keys.map((key) => this.entries.get(key)?.body);
  }

  async keysBy(handle: ProductHandle, values: readonly string[]): Promise<(readonly string[])[]> {
    this.lookUps.push(values.length);
    const keys = new Map<string, string[]>();
    for (const [key, { body, id }] of this.entries) {
      for (const stored of handlesOf(key, body, id)) keys.set(stored, [...(keys.get(stored) ?? []), key]);
    }
    return values.map((value) => keys.get(storedHandle(handle, value)) ?? []);
  }

  async *allBodies() {
    yield [...this.entries].map(([key, { body }]) => ({ key, body }));
  }

  async count(job: string): Promise<number> {
    return [...this.entries.values()].filter((entry) => entry.job === job).length;
  }

  async *unconfirmed(): AsyncIterable<readonly string[]> {
    yield this.unconfirmedKeys;
  }

  async sharedIds(): Promise<ReadonlyMap<number, readonly string[]>> {
    return new Map();
  }

  async proveIdsAgain(): Promise<void> {}

  async doubtedOnlyBy(job: string, keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(keys.filter((key) => this.entries.get(key)?.doubtedBy === job));
  }

  async position(): Promise<string> {
    return '';
  }

  async hasDoubts(): Promise<boolean> {
    return [...this.entries.values()].some(({ inDoubt }) => inDoubt);
  }

  async lostSince(): Promise<boolean> {
    return false;
  }

  async reconcile(): Promise<null> {
    return null;
  }

  async *keysOf(job: string): AsyncIterable<readonly OwnedKey[]> {
    const own = [...this.entries].filter(([, entry]) => entry.job === job);
    yield own.map(([key, { id, idProof }]) => ({ key, id, ...(idProof === undefined ? {} : { idProof }) }));
  }
}
