/** The first few of many in an order, without keeping the many. */
export class TopList<Item> {
  readonly #most: number;
  readonly #order: (one: Item, other: Item) => number;
  /** In order. */
  readonly #items: Item[] = [];

  /** `order` as for sorting: below 0 when the first goes before the second. */
  constructor(most: number, order: (one: Item, other: Item) => number) {
    this.#most = most;
    this.#order = order;
  }

  add(item: Item): void {
    const last = this.#items.at(-1);
    const isFull = this.#items.length === this.#most;
    if (isFull && last !== undefined && this.#order(item, last) >= 0) return;
    if (isFull) this.#items.pop();
    const place = this.#items.findIndex((kept) => this.#order(item, kept) < 0);
    this.#items.splice(place === -1 ? this.#items.length : place, 0, item);
  }

  /** The first so far, in order. */
  items(): Item[] {
    return [...this.#items];
  }
}
