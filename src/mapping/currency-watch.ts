import { currenciesNamed } from '../model/row.ts';
import { refuse } from './values/cell.ts';

/** What is known of the currency of the prices before a source is read. */
export interface KnownCurrency {
  /** What the store sells in, a code; undefined if stores.yaml does not say it. */
  readonly store?: string | undefined;
  /** What the prices of the last run named: a code or sign, '' if none; undefined without such a run. */
  readonly earlier?: string | undefined;
}

const SAY_IT = 'set `currency:` of the store in stores.yaml to what it sells in';
const CONVERT = 'correct it, or let the mapping `convert` the prices';
const MAX_NAMED = 4;

/**
 * Refuses amounts in another currency than the store's. Where stores.yaml does not name it, all prices that the job sends must be in
 * one currency: that of earlier runs, else the only one in the source, which is known when all of it was read.
 */
export class CurrencyWatch {
  readonly #known: KnownCurrency;
  /** What all amounts so far may mean. */
  #candidates: readonly string[] | undefined;
  readonly #words = new Set<string>();
  #isMixed = false;
  #refusesAll = false;
  #hasPrices = false;

  constructor(known: KnownCurrency = {}) {
    this.#known = known;
    this.#candidates = known.earlier ? currenciesNamed(known.earlier) : undefined;
  }

  /** What the store sells in; undefined if stores.yaml does not say it. */
  get ofStore(): string | undefined {
    return this.#known.store;
  }

  /** The codes and signs that amounts had, in the order in which they were met. */
  get words(): readonly string[] {
    return [...this.#words];
  }

  /** Whether no currency fits all amounts. */
  get isMixed(): boolean {
    return this.#isMixed;
  }

  /** For `earlier` of the next run; undefined if no price was read. */
  get found(): string | undefined {
    const { earlier } = this.#known;
    if (earlier === '') return '';
    const [only, second] = this.#candidates ?? [];
    if (only !== undefined && second === undefined) return only;
    return earlier ?? this.words[0] ?? (this.#hasPrices ? '' : undefined);
  }

  /** From now on each amount that names a currency is refused; false if this was so already. */
  refuseAll(): boolean {
    const wasNot = !this.#refusesAll;
    this.#refusesAll = true;
    return wasNot;
  }

  /** Says that a price was read, with or without currency. */
  price(): void {
    this.#hasPrices = true;
  }

  /** Refuses an amount with this code or sign if it is not what is sent. */
  check(word: string): void {
    const meant = currenciesNamed(word) ?? [word];
    if (this.#words.size < MAX_NAMED) this.#words.add(meant.length === 1 ? (meant[0] ?? word) : word);
    const { store, earlier } = this.#known;
    if (store !== undefined) {
      if (!meant.includes(store))
        differs(`the price is in ${shown(meant, word)}, and the store sells in ${store}: ${CONVERT}`);
      return;
    }
    if (this.#refusesAll) {
      differs(
        `the source has prices in ${[...this.#words].join(', ')}, and the store can sell in one currency only: ${SAY_IT}`,
      );
    }
    if (earlier === '') {
      differs(
        `the price is in ${shown(meant, word)}, and those of earlier runs named no currency: ${SAY_IT}`,
      );
    }
    const both = this.#candidates?.filter((code) => meant.includes(code)) ?? meant;
    if (both.length > 0) {
      this.#candidates = both;
      return;
    }
    const before = earlier && (currenciesNamed(earlier) ?? []);
    if (before && !before.some((code) => meant.includes(code))) {
      differs(
        `the price is in ${shown(meant, word)}, and those of earlier runs were in ${earlier}: ${SAY_IT}`,
      );
    }
    this.#isMixed = true;
  }
}

function shown(meant: readonly string[], word: string) {
  return meant.length === 1 ? (meant[0] ?? word) : `'${word}'`;
}

function differs(message: string): never {
  return refuse('currency-differs', message);
}

/** Refuses an amount that is not in the currency from which it is converted, or as which it is read. */
export function checkConverted(word: string, from: string, does = 'converts it from'): void {
  const meant = currenciesNamed(word) ?? [word];
  if (meant.includes(from.trim().toUpperCase())) return;
  differs(`the price is in ${shown(meant, word)}, and the mapping ${does} ${from}`);
}
