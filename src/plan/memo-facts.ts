import type { Ledger, MemoFact } from '../state/state.ts';

/** How many go to the ledger at once: each time is a commit. */
const FACTS_AT_ONCE = 2000;

/**
 * Memos that the ledger lacks: of records that were mapped and found to be what the store acknowledged. Without them a
 * catalog that was sent before there were memos, or before the mapping was edited, would be mapped in every run.
 */
export class MemoFacts {
  readonly #ledger: Ledger;
  #facts: MemoFact[] = [];

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  add(fact: MemoFact): void {
    this.#facts.push(fact);
  }

  /** Writes them down when they have become many. */
  async room(): Promise<void> {
    if (this.#facts.length >= FACTS_AT_ONCE) await this.finish();
  }

  /** Writes down what is left. */
  async finish(): Promise<void> {
    const facts = this.#facts;
    this.#facts = [];
    if (facts.length > 0) await this.#ledger.remember(facts);
  }
}
