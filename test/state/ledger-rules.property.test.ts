import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fieldsOfPart, type Operation, type Outcome } from '../../src/model/operation.ts';
import {
  type FactsByKey,
  type KeyFacts,
  type KeyWrites,
  ledgerRules,
  type OperationGroup,
  PRESENT_SERIAL,
  UNKNOWN,
} from '../../src/state/ledger-rules.ts';
import { IN_DOUBT } from '../../src/state/state.ts';
import { upsert } from './samples.ts';

const KEYS = ['shirt', 'hat'] as const;
const FIELDS = ['front', 'back'] as const;
type Key = (typeof KEYS)[number];

/**
 * What becomes of an operation that was begun. `late`: its process dies, or stops waiting (`recorded`), while the store still has the
 * request, which `lands` before it must be over, or never.
 */
type Fate =
  | { readonly kind: 'acknowledged' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'withdrawn' }
  | { readonly kind: 'unanswered'; readonly lands: boolean }
  | { readonly kind: 'late'; readonly lands: boolean; readonly recorded: boolean };

interface Send {
  readonly kind: 'send';
  readonly job: 'nightly' | 'weekly';
  /** A body has two fields, of one character each. A partial request sends only what changes, and what is in doubt. */
  readonly requests: readonly {
    readonly key: Key;
    readonly body: string | null;
    readonly isPartial: boolean;
    readonly fate: Fate;
  }[];
  /** Its deletes were planned so many steps ago. */
  readonly plannedAgo: number;
}

type Step =
  | Send
  | { readonly kind: 'wait' }
  | { readonly kind: 'confirm' }
  | { readonly kind: 'prove-again' }
  | { readonly kind: 'lose'; readonly steps: number };

const fate = fc.oneof<fc.Arbitrary<Fate>[]>(
  fc.constant({ kind: 'acknowledged' }),
  fc.constantFrom({ kind: 'acknowledged' }, { kind: 'refused' }, { kind: 'withdrawn' }),
  fc.record({ kind: fc.constant('unanswered'), lands: fc.boolean() }),
  fc.record({ kind: fc.constant('late'), lands: fc.boolean(), recorded: fc.boolean() }),
);
const send: fc.Arbitrary<Send> = fc.record({
  kind: fc.constant('send'),
  job: fc.constantFrom('nightly', 'weekly'),
  requests: fc.uniqueArray(
    fc.record({
      key: fc.constantFrom(...KEYS),
      body: fc.constantFrom('aa', 'ab', 'ba', 'bb', 'cc', null),
      isPartial: fc.boolean(),
      fate,
    }),
    { selector: ({ key }) => key, minLength: 1 },
  ),
  plannedAgo: fc.nat(2),
});
const step = fc.oneof<fc.WeightedArbitrary<Step>[]>(
  { weight: 8, arbitrary: send },
  { weight: 2, arbitrary: fc.constantFrom({ kind: 'wait' }, { kind: 'confirm' }, { kind: 'prove-again' }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lose'), steps: fc.nat(3) }) },
);

interface Product {
  readonly id: number;
  readonly print: string;
  readonly job: string;
}

/** A store, and what a ledger knows of it by the rules alone. */
class World {
  facts = new Map<string, KeyFacts>();
  serial = 0;
  readonly #deletedAt = new Map<string, number>();
  readonly #store = new Map<string, Product>();
  /** Requests of dead processes that the store still has. */
  #late: { readonly key: string; readonly sender: string; readonly land: () => void }[] = [];
  #senders = 0;
  #ids = 0;
  #hasLost = false;
  #isLoseWaiting = false;
  #copies: { readonly facts: ReadonlyMap<string, KeyFacts>; readonly serial: number }[] = [];
  /** How many requests that the store may have executed each key has had, also at each serial at which somebody looked. */
  readonly #changes = new Map<string, number>();
  readonly #seen: { readonly serial: number; readonly changes: ReadonlyMap<string, number> }[] = [];

  live(step: Step): void {
    this.#copies.push({ facts: new Map(this.facts), serial: this.serial });
    if (step.kind === 'send') this.#send(step);
    else if (step.kind === 'wait') this.#wait();
    else if (step.kind === 'confirm') this.#apply(ledgerRules.confirmKeys(this.facts), ++this.serial);
    else if (step.kind === 'prove-again') this.#apply(ledgerRules.proveIdsAgain(this.facts), this.serial);
    else this.#lose(step.steps);
    this.#expectTrue();
    this.#seen.push({ serial: this.serial, changes: new Map(this.#changes) });
  }

  #of(key: string): KeyFacts {
    return this.facts.get(key) ?? UNKNOWN;
  }

  /** The facts that a state reads before it begins a group. */
  #read(group: OperationGroup): FactsByKey {
    const marked = ledgerRules.keysWithMarks(group);
    return new Map(
      group.keys.map((key) => {
        const { mark, doubt } = this.#of(key);
        return [key, { mark: doubt === null && !marked.has(key) ? null : mark, doubt }];
      }),
    );
  }

  #apply({ doubts, marks }: KeyWrites, present: number): void {
    const serialOf = (serial: number) => (serial === PRESENT_SERIAL ? present : serial);
    for (const [doubt, keys] of doubts) {
      for (const key of keys) {
        const stored = doubt && { ...doubt, serial: serialOf(doubt.serial) };
        this.facts.set(key, { ...this.#of(key), doubt: stored });
      }
    }
    for (const [key, change] of marks) {
      const { mark, doubt } = this.#of(key);
      if (mark === null) continue;
      const changed = { ...mark, ...change };
      this.facts.set(key, { mark: { ...changed, serial: serialOf(changed.serial) }, doubt });
    }
  }

  #send({ job, requests, plannedAgo }: Send): void {
    const sender = `sender-${++this.#senders}`;
    const planned = this.#copies.at(-1 - plannedAgo)?.facts ?? this.facts;
    const sent = requests.flatMap(
      ({ key, body, isPartial, fate }): { operation: Operation; fate: Fate }[] => {
        if (body !== null)
          return [
            {
              operation: upsert(0, key, {
                fingerprint: body,
                knownId: planned.get(key)?.mark?.id ?? null,
                ...(isPartial ? this.#part(key, body) : {}),
              }),
              fate,
            },
          ];
        const { id = null, idProof } = planned.get(key)?.mark ?? {};
        const lookup = idProof === undefined ? {} : { idLookupBody: key };
        return id === null
          ? []
          : [
              {
                operation: { kind: 'delete-product', index: 0, key, rows: 0, spans: [], id, ...lookup },
                fate,
              },
            ];
      },
    );
    const keys = sent.map(({ operation }) => operation.key);
    const deletes = sent.flatMap(({ operation }, position) =>
      operation.kind === 'delete-product'
        ? [{ position, id: operation.id, looksUpId: operation.idLookupBody !== undefined }]
        : [],
    );
    const parts = sent.flatMap(({ operation }, position) =>
      operation.kind === 'upsert-product' && operation.part !== undefined
        ? [[position, fieldsOfPart(operation.part)] as const]
        : [],
    );
    const running = {
      bySender: new Map(this.#late.map((late) => [late.sender, 1])),
      ofAnyKey: this.#isLoseWaiting ? 1 : 0,
    };
    const group = { job, sender, keys, parts, deletes };
    const { waitMs, overtaken, writes } = ledgerRules.beginKeys(group, this.#read(group), running);
    this.#apply(writes, ++this.serial);
    for (const [position, { operation, fate }] of sent.entries()) {
      if (overtaken[position]) continue;
      if (fate.kind === 'withdrawn') {
        this.#withdraw(operation.key, sender);
        continue;
      }
      if ((waitMs[position] ?? 0) > 0) this.#wait();
      expect(
        this.#late.filter(({ key }) => key === operation.key),
        'no two requests for a key',
      ).toEqual([]);
      this.#request(operation, job, sender, fate);
    }
  }

  /** What a plan sends of a body: fields that differ from the mark's, and those in doubt; everything where any may be. */
  #part(key: string, body: string): { readonly part?: { readonly fields: readonly string[] } } {
    const { mark } = this.#of(key);
    const doubted = ledgerRules.doubtedFields(this.#of(key));
    if (mark === null || doubted === null) return {};
    const fields = FIELDS.filter((field, at) => doubted.includes(field) || mark.fingerprint[at] !== body[at]);
    return { part: { fields } };
  }

  #request(
    operation: Operation,
    job: string,
    sender: string,
    fate: Exclude<Fate, { kind: 'withdrawn' }>,
  ): void {
    const { key } = operation;
    const land = () => this.#land(operation, job);
    if (fate.kind !== 'refused') this.#changes.set(key, (this.#changes.get(key) ?? 0) + 1);
    const reason = { code: 'store-503', message: 'The store answered 503.' };
    if (fate.kind === 'acknowledged') {
      const part = operation.kind === 'upsert-product' ? operation.part?.fields : undefined;
      this.#record(operation, job, { kind: 'applied', id: land(), part });
    } else if (fate.kind === 'refused') {
      this.#record(operation, job, { kind: 'rejected', reason });
    } else if (fate.kind === 'unanswered') {
      if (fate.lands) land();
      this.#record(operation, job, { kind: 'unsent', reason, inDoubt: true });
    } else {
      this.#late.push({ key, sender, land: fate.lands ? land : () => {} });
      if (fate.recorded)
        this.#record(operation, job, { kind: 'unsent', reason, inDoubt: true, atWork: true });
    }
  }

  #withdraw(key: string, sender: string): void {
    this.#apply(ledgerRules.withdrawKeys(sender, new Map([[key, this.#of(key)]])), this.serial);
  }

  #record(operation: Operation, job: string, outcome: Outcome): void {
    const { key } = operation;
    const effect = ledgerRules.outcomeEffect(job, { operation, outcome });
    const { doubt, acknowledged } = effect;
    this.#apply(ledgerRules.settleDoubts([effect], this.facts), this.serial);
    if (acknowledged !== undefined) {
      this.facts.set(key, { ...this.#of(key), mark: { ...acknowledged.mark, serial: this.serial } });
    }
    if (doubt !== 'forget-key') return;
    this.facts.set(key, { ...this.#of(key), mark: null });
    this.#deletedAt.set(key, this.serial);
  }

  /** The id that the store answers. */
  #land(operation: Operation, job: string): number | null {
    const { key } = operation;
    if (operation.kind === 'delete-product') {
      for (const [held, product] of this.#store) {
        // By the id that the store answers for the key, or by the one that was planned.
        const isMeant = operation.idLookupBody === undefined ? product.id === operation.id : held === key;
        if (!isMeant) continue;
        expect([held, product.job], 'a delete is of the job’s own product').toEqual([key, job]);
        this.#store.delete(held);
      }
      return null;
    }
    const known = this.#store.get(key);
    const id = known?.id ?? ++this.#ids;
    // A part of a product that is gone makes one that has only this part, unless the caller then sends the whole.
    const before = known?.print ?? operation.fingerprint;
    const { fields = FIELDS } = (operation.kind === 'upsert-product' && operation.part) || {};
    const print = FIELDS.map(
      (field, at) => (fields.includes(field) ? operation.fingerprint : before)[at],
    ).join('');
    this.#store.set(key, { id, print, job });
    return id;
  }

  /** Until the requests of all dead processes are over. */
  #wait(): void {
    const late = this.#late;
    this.#late = [];
    this.#isLoseWaiting = false;
    for (const { land } of late) land();
  }

  /** An older copy is restored, and the loss noticed. */
  #lose(steps: number): void {
    const copy = this.#copies.at(-1 - steps) ?? { facts: new Map(), serial: 0 };
    this.#hasLost = true;
    this.#isLoseWaiting = true;
    this.serial += 1;
    this.facts = new Map(copy.facts);
    this.#copies = [];
    this.#apply(ledgerRules.loseMarks(this.facts, this.serial), this.serial);
    this.#seen.length = 0;
  }

  #expectTrue(): void {
    for (const key of KEYS) {
      const { mark, doubt } = this.#of(key);
      const product = this.#store.get(key);
      if (doubt !== null) continue;
      if (mark === null) {
        if (!this.#hasLost) expect(product, `${key} is unknown`).toBeUndefined();
      } else if (mark.fingerprint !== IN_DOUBT) {
        expect(product?.print, `${key} is acknowledged`).toBe(mark.fingerprint);
        expect(this.#late.filter((late) => late.key === key)).toEqual([]);
      }
    }
    for (const { serial, changes } of this.#seen) {
      for (const key of KEYS) {
        if (changes.get(key) === this.#changes.get(key)) continue;
        const isKnown = ledgerRules.wasWrittenSince(serial, this.#of(key), this.#deletedAt.get(key) ?? 0);
        expect(isKnown, `${key} was written since ${serial}`).toBe(true);
      }
    }
  }
}

it('the rules believe nothing that a store does not hold, whatever becomes of requests, processes and states', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const world = new World();
      for (const step of steps) world.live(step);
    }),
    { numRuns: 8_000 },
  );
});
