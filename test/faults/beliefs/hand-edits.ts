import { isJsonObject, type JsonObject } from '../../../src/model/json-object.ts';
import type { Operation, UpsertProduct } from '../../../src/model/operation.ts';
import type { OperationResult, StoredView } from '../../../src/state/state.ts';
import type { HandEdit, SimulatedStore } from './simulated-store.ts';

/** What the requests of a run were planned with. */
export interface Planned {
  readonly at: number;
  /** The result of a probe was there. */
  readonly isProbed: boolean;
  /** Whole records are sent, whatever was changed. */
  readonly resend: boolean;
  readonly conflicts: 'hold' | 'source' | 'store';
  readonly isUndo: boolean;
}

/** What was acknowledged of a key. */
interface Acknowledged {
  readonly fields: JsonObject;
  /** Its answer was compared with what was sent. */
  readonly isObserved: boolean;
  /** The store has answered another id than before. */
  readonly hasNewId: boolean;
}

interface KnownKey {
  /** Null: nothing, or nobody can say. */
  acknowledged: Acknowledged | null;
  /** Fields in requests without a certain end, by process; null: any. */
  readonly open: Map<symbol, ReadonlySet<string> | null>;
  /** It was put in doubt while it was, since its last acknowledgement. */
  wasOpenTwice: boolean;
}

/** A request as it leaves for the store. */
interface SentProduct {
  readonly run: string;
  readonly process: symbol;
  readonly operation: UpsertProduct;
  readonly body: string;
  /** Of an update by id. */
  readonly id: number | null;
}

/**
 * Judges by the requests that reach a store which keeps absent fields whether they overwrite what somebody has changed there by hand
 * (docs/using.md, What people edit in the store), by what was sent and answered alone.
 */
export class HandEdits {
  /** Changes by hand that were lost and need not have been. */
  readonly lost: string[] = [];
  readonly #store: SimulatedStore;
  readonly #normalises: boolean;
  readonly #next: () => number;
  readonly #note: (fault: string) => void;
  readonly #planned = new Map<string, Planned>();
  readonly #keys = new Map<string, KnownKey>();
  /** The store has answered another id for some key: from then on ids must be answered again before anything is sent by them. */
  #hasNewIds = false;

  constructor(
    store: SimulatedStore,
    options: {
      readonly normalises: boolean;
      readonly next: () => number;
      readonly note: (fault: string) => void;
    },
  ) {
    this.#store = store;
    this.#normalises = options.normalises;
    this.#next = options.next;
    this.#note = options.note;
  }

  plan(run: string, planned: Planned): void {
    this.#planned.set(run, planned);
  }

  /** The store has answered another id, whatever becomes of the record of it. */
  learnNewIds(): void {
    this.#hasNewIds = true;
  }

  /** The state or its witness is gone: what was acknowledged before is not known any more. */
  lose(): void {
    this.#hasNewIds = true;
    for (const known of this.#keys.values()) known.acknowledged = null;
  }

  /** A comparison with the store is over: what the ledger now knows of edits. */
  compared(key: string, [view]: readonly (StoredView | undefined)[]): void {
    for (const [field, edit] of this.#store.editsOf(key)) {
      const known = view?.observation?.edited[field];
      if (known !== undefined && JSON.stringify(known.value) === edit.value) edit.knownAt ??= this.#next();
    }
  }

  /** The keys are about to be put in doubt by a process. */
  begin(process: symbol, operations: readonly Operation[]): void {
    for (const operation of operations) {
      const known = this.#of(operation.key);
      if (known.open.size > 0) known.wasOpenTwice = true;
      const part = operation.kind === 'upsert-product' ? operation.part : undefined;
      const before = known.open.get(process);
      const fields =
        part === undefined || before === null ? null : new Set([...part.fields, 'title', ...(before ?? [])]);
      known.open.set(process, fields);
    }
  }

  withdraw(process: symbol, operations: readonly Operation[]): void {
    for (const { key } of operations) this.#of(key).open.delete(process);
  }

  /** An outcome is in the state. `isObserved`: its answer was compared with what was sent. */
  recorded(process: symbol, { operation, outcome }: OperationResult, isObserved: boolean): void {
    const known = this.#of(operation.key);
    switch (outcome.kind) {
      case 'applied':
        if (operation.kind === 'upsert-product') this.#acknowledge(operation, outcome, isObserved);
        else this.#forget(known);
        return;
      case 'left':
        return;
      case 'rejected':
      case 'unsent':
        if (outcome.kind === 'rejected' && outcome.absent === true) this.#forget(known);
        else if (outcome.inDoubt !== true && outcome.atWork !== true) known.open.delete(process);
        return;
      default:
        outcome satisfies never;
    }
  }

  /** A request for a product leaves for the store. */
  request({ run, process, operation, body, id }: SentProduct): void {
    const { key, part, knownId } = operation;
    const edits = this.#store.editsOf(key);
    if (edits.size === 0) return;
    const overwritten = this.#store.editsOverwritten(key, body, id);
    const { keepsByUrl, keepsById } = this.#store.profile;
    if (overwritten.size < edits.size && part !== undefined) this.#note('kept edits');
    const planned = this.#planned.get(run);
    const { acknowledged, open, wasOpenTwice } = this.#of(key);
    if (planned === undefined || !planned.isProbed || planned.resend || acknowledged === null) return;
    // The product has another id than was known, so it is sent anew.
    if (acknowledged.hasNewId || this.#store.hasUnansweredId(key) || this.#store.idOf(key) !== knownId)
      return;
    const replaces = !keepsByUrl && !keepsById;
    const needsId = keepsById && !keepsByUrl;
    if (needsId && (this.#normalises || this.#hasNewIds || wasOpenTwice)) return;
    const whole = objectIn(operation.body);
    for (const [field, edit] of overwritten) {
      const isOpen = [...open].some(
        ([other, fields]) => other !== process && (fields === null || fields.has(field)),
      );
      if (isOpen) continue;
      const isChanged = JSON.stringify(whole[field]) !== JSON.stringify(acknowledged.fields[field]);
      const isKnown = this.#isKnown(key, acknowledged, edit, planned);
      const isRepeated = field === 'title' && id === null && part !== undefined && !isKnown;
      const mayOverwrite = isChanged
        ? planned.conflicts === 'source' || !isKnown || (replaces && planned.isUndo)
        : replaces || isRepeated;
      if (!mayOverwrite) this.lost.push(`${run} overwrites ${field} of ${key}: ${edit.value}`);
    }
  }

  #isKnown(key: string, acknowledged: Acknowledged, edit: HandEdit, { at }: Planned): boolean {
    const { reads } = this.#store.profile;
    const isRead = reads && edit.at < at && this.#hasBaseline(acknowledged);
    const isRespelled = this.#normalises && key !== key.toLowerCase();
    return (isRead && !isRespelled) || (edit.knownAt !== null && edit.knownAt < at);
  }

  #hasBaseline({ isObserved }: Acknowledged): boolean {
    return isObserved || this.#store.profile.unaltered;
  }

  #forget(known: KnownKey): void {
    known.acknowledged = null;
    known.open.clear();
  }

  #acknowledge(
    { key, body, knownId }: UpsertProduct,
    { id, part }: { readonly id: number | null; readonly part?: readonly string[] | undefined },
    isObserved: boolean,
  ): void {
    const known = this.#of(key);
    const hasNewId = knownId !== null && id !== knownId;
    if (hasNewId) this.#hasNewIds = true;
    if (part === undefined) {
      known.open.clear();
      known.wasOpenTwice = false;
      known.acknowledged = { fields: objectIn(body), isObserved, hasNewId };
      return;
    }
    this.#note('partial bodies');
    for (const [process, fields] of known.open) {
      if (fields === null) continue;
      const left = new Set([...fields].filter((field) => !part.includes(field)));
      if (left.size === 0) known.open.delete(process);
      else known.open.set(process, left);
    }
    if (known.acknowledged === null) return;
    if (isObserved && this.#hasBaseline(known.acknowledged)) {
      for (const [field, edit] of this.#store.editsOf(key))
        if (!part.includes(field)) edit.knownAt ??= this.#next();
    }
    known.acknowledged = { fields: objectIn(body), isObserved, hasNewId };
  }

  #of(key: string): KnownKey {
    const known = this.#keys.get(key) ?? { acknowledged: null, open: new Map(), wasOpenTwice: false };
    this.#keys.set(key, known);
    return known;
  }
}

function objectIn(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  return isJsonObject(value) ? value : {};
}
