import type { Item, ItemPage } from '../../src/export/reading/page-ahead.ts';

/** Where something is added or removed: a share of the list's length at that moment. */
export interface Change {
  readonly kind: 'insert' | 'delete';
  readonly at: number;
}

export interface ChangingStoreOptions {
  readonly ids: readonly number[];
  /** Before each answer, these changes; when they are used up the list stays as it is. */
  readonly changes: readonly (readonly Change[])[];
  /** Items a page, whatever is asked for. */
  readonly cap?: number;
  /** Whether answers say how many items there are. */
  readonly counts?: boolean;
  /** Answers come after so many turns of the event loop, by the number of the request. */
  readonly turns?: (request: number) => number;
}

/** A list that changes between answers; ids of added items are above 1 000 000. */
export class ChangingStore {
  readonly list: number[];
  readonly #options: ChangingStoreOptions;
  readonly #removed = new Set<number>();
  #requests = 0;
  #lastAdded = 1_000_000;

  constructor(options: ChangingStoreOptions) {
    this.list = [...options.ids];
    this.#options = options;
  }

  get requests(): number {
    return this.#requests;
  }

  /** Ids that were there from the beginning to now. */
  stable(): number[] {
    return this.#options.ids.filter((id) => !this.#removed.has(id));
  }

  readonly fetch = async (skip: number, limit: number): Promise<ItemPage> => {
    const request = this.#requests++;
    const { changes, cap = limit, counts = true, turns = () => 0 } = this.#options;
    for (let turn = turns(request); turn > 0; turn--) await new Promise(setImmediate);
    for (const change of changes[request] ?? []) this.#apply(change);
    const ids = this.list.slice(skip, skip + Math.min(limit, cap));
    const items = ids.map((id): Item => ({ key: id, hasId: true, text: JSON.stringify({ id }) }));
    const page = { skip, items, totalCount: counts ? this.list.length : null };
    for (let turn = turns(request + 7); turn > 0; turn--) await new Promise(setImmediate);
    return page;
  };

  #apply({ kind, at }: Change): void {
    if (kind === 'insert') {
      this.list.splice(Math.floor(at * (this.list.length + 1)), 0, ++this.#lastAdded);
      return;
    }
    const [removed] = this.list.splice(Math.floor(at * this.list.length), 1);
    if (removed !== undefined) this.#removed.add(removed);
  }
}
