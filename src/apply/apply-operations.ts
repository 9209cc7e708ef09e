import { type Clock, systemClock } from '../model/clock.ts';
import { isJsonObject, member } from '../model/json-object.ts';
import {
  bodyOfPart,
  type DeleteProduct,
  fieldsInRequest,
  fieldsOfPart,
  isEmpty,
  type Operation,
  type Outcome,
  type RecordPart,
  type UpsertProduct,
  withStock,
} from '../model/operation.ts';
import { type SafetyLimitError, UnauthorizedError } from '../model/storeferry-error.ts';
import type { OutcomeTally } from '../state/state.ts';
import type { OnEnded, SendOptions, Storefront } from '../storefront/storefront.ts';
import { groupCommit, type HeldSlot, slots } from './slots.ts';
import { forbiddenRecords, stopOn } from './stop-on.ts';

/** Requests in flight get this long to end after an interruption. */
const GRACE_MS = 5_000;

/** The part of a storefront that writes. */
export type WritingStorefront = Pick<
  Storefront,
  'upsertProduct' | 'updateProduct' | 'updateContact' | 'upsertContact' | 'deleteProduct'
>;

/** An operation, the same object as the given one, and its outcome. */
export interface ApplyResult<Op extends Operation> {
  readonly operation: Op;
  readonly outcome: Outcome;
}

/** The outcomes that one apply has recorded so far, in records and rows; `applied` counts upserts. */
interface ApplyTally extends OutcomeTally {
  readonly unsent: number;
  readonly unsentRows: number;
}

/** Whether the store keeps the fields that a part of a product does not have. */
export interface PartRules {
  /** Whether a part may be sent; else the whole body is. */
  readonly allow: (part: RecordPart) => boolean;
  /** Called when an answer shows whether the store has kept the other fields; of a product that lost them, after the whole body was sent. */
  readonly onSeen: (hasKept: boolean) => Promise<void>;
}

/** What to send, the target, and the callbacks. */
export interface ApplyOptions<Op extends Operation> {
  /** May have more fields than an Operation, such as its shard: results return the same objects. */
  readonly operations: AsyncIterable<Op> | Iterable<Op>;
  readonly storefront: WritingStorefront;
  /** Left out: every part is sent. */
  readonly parts?: PartRules | undefined;
  /** The most operations that may have taken effect in the store without being recorded. */
  readonly concurrency: number;
  /**
   * Writes outcomes; they are durable when it resolves. Calls never overlap. `requests` were sent since the last
   * call, also for operations without an outcome; the last call may have requests only.
   */
  readonly record: (results: readonly ApplyResult<Op>[], requests: number) => Promise<void>;
  /** Called before each request; a returned promise is awaited. If it throws, the run stops and nothing is sent. */
  readonly permit?: () => Promise<void> | undefined;
  /**
   * Called at the end with operations that were begun and certainly not applied, unless nothing may be written any
   * more.
   */
  readonly onNotApplied?: (operations: readonly Op[]) => Promise<void>;
  /** Rejects with an error about the API key if the store does not accept it; called if every answer is 403. */
  readonly confirmKey?: (onRequest: () => undefined) => Promise<void>;
  /** Called after each rejection, counting outcomes that are not yet recorded; an error stops the run. */
  readonly judge?: ((tally: ApplyTally) => SafetyLimitError | undefined) | undefined;
  readonly signal: AbortSignal;
  /** Called after each record. */
  readonly onProgress?: ((tally: ApplyTally) => void) | undefined;
  /** Called for each request that has ended. */
  readonly onEnded?: OnEnded | undefined;
  /** The subject, such as the id of a run: part of the reported attempts. */
  readonly about?: string;
  /**
   * Of several applies on one storefront, the one with the lowest number is sent first; the others use the remaining
   * capacity.
   */
  readonly priority?: number;
  readonly graceMs?: number;
  readonly clock?: Clock;
}

/** The code of a 403. */
const FORBIDDEN = 'store-403';

interface Finished<Op extends Operation> extends ApplyResult<Op> {
  readonly slot: HeldSlot;
}

/**
 * Sends operations, and records the outcome of each. A slot is free for the next operation only when the outcome
 * is recorded or certainly had no effect, so a process that dies leaves at most `concurrency` effects unrecorded, which are
 * then sent again. Two operations on one key never overlap.
 *
 * Resolves with the tally when every operation has an outcome. Otherwise sends nothing more, records what was
 * answered and rejects: UnauthorizedError, StoreUnavailableError, SafetyLimitError, InterruptedError (the signal),
 * or what `operations` or `record` failed with. Operations without an outcome are left as planned.
 */
export async function applyOperations<Op extends Operation>(options: ApplyOptions<Op>): Promise<ApplyTally> {
  const { storefront, record, judge, onProgress, clock = systemClock, graceMs = GRACE_MS } = options;
  const stop = stopOn(options.signal, clock, graceMs);
  const freeSlots = slots(options.concurrency, stop.stopping);
  /** Keys in flight, each with the callback of the operation that waits for it, if any: at most one waits. */
  const openKeys = new Map<string, (() => void) | null>();
  let inFlight = 0;
  let onIdle: (() => void) | null = null;
  let requests = 0;
  let received = EMPTY_TALLY;
  let recorded = EMPTY_TALLY;
  const notApplied: Op[] = [];
  const about = options.about === undefined ? {} : { about: options.about };
  const { onEnded, priority = 0, permit } = options;
  const send = { signal: stop.ended, stopping: stop.stopping, onEnded, priority, ...about };

  const write = async (results: readonly ApplyResult<Op>[]): Promise<void> => {
    if (!stop.recording) return;
    const sent = requests;
    requests = 0;
    await record(results, sent);
    recorded = addToTally(recorded, results, sent);
    onProgress?.(recorded);
  };
  const closeKey = ({ key }: Op): void => {
    const onClosed = openKeys.get(key);
    openKeys.delete(key);
    onClosed?.();
  };
  const outcomes = groupCommit<Finished<Op>>({
    enough: Math.max(1, Math.floor(options.concurrency / 2)),
    write: (group) => write(group.map(({ operation, outcome }) => ({ operation, outcome }))),
    onWritten: (group) => {
      for (const { slot, operation } of group) {
        slot.free();
        closeKey(operation);
      }
    },
    onFailed: (error) => stop.stop(error, 'drop'),
  });

  const finish = (finished: Finished<Op>): void => {
    received = addToTally(received, [finished], 0);
    outcomes.add(finished);
    if (finished.outcome.kind !== 'rejected') return;
    const exceeded = judge?.(received);
    if (exceeded !== undefined) stop.stop(exceeded, 'drain');
  };
  const keyRefused = (): UnauthorizedError =>
    new UnauthorizedError('The store answers 403 to every request with this API key.', {
      hint: 'Check the permissions of the key in the store, then run the job again: it continues where it stopped.',
    });
  const refusals = forbiddenRecords<Finished<Op>>({
    confirmKey: async () => {
      if (options.confirmKey === undefined) throw keyRefused();
      await options.confirmKey(() => void requests++);
    },
    reject: finish,
    giveUp: (error) => stop.stop(error, 'drain'),
    refused: keyRefused,
  });
  const settle = (finished: Finished<Op>): void => {
    const { outcome, slot } = finished;
    if (outcome.kind === 'rejected' && outcome.reason.code === FORBIDDEN) {
      slot.free();
      refusals.add(finished);
      return;
    }
    if (outcome.kind !== 'unsent') refusals.accepted();
    finish(finished);
  };

  /** Sends one operation; its key is open until the outcome is recorded. Never rejects. */
  const start = async (operation: Op, slot: HeldSlot): Promise<void> => {
    openKeys.set(operation.key, null);
    inFlight++;
    let mayBeApplied = false;
    const onRequest = (): Promise<void> | undefined => {
      const permitted = permit?.();
      mayBeApplied = true;
      requests++;
      return permitted;
    };
    const onNotApplied = (): void => {
      mayBeApplied = false;
    };
    try {
      const outcome = await sendOperation(
        storefront,
        operation,
        { ...send, slot, onRequest, onNotApplied },
        options.parts,
      );
      settle({ operation, outcome, slot });
    } catch (error) {
      if (!mayBeApplied) notApplied.push(operation);
      slot.free();
      closeKey(operation);
      stop.stop(error, 'drain');
    }
    inFlight--;
    if (inFlight === 0) onIdle?.();
  };

  const stopped = new Promise<void>((resolve) => {
    stop.stopping.addEventListener('abort', () => resolve(), { once: true });
  });

  /** Null if the apply ends before there is one. */
  const slotFor = async ({ key }: Op): Promise<HeldSlot | null> => {
    if (stop.stopped) return null;
    if (openKeys.has(key)) {
      const closed = new Promise<void>((resolve) => openKeys.set(key, resolve));
      await Promise.race([closed, stopped]);
    }
    try {
      return await freeSlots.take();
    } catch {
      return null;
    }
  };

  try {
    for await (const operation of options.operations) {
      const slot = await slotFor(operation);
      if (slot === null) {
        notApplied.push(operation);
        break;
      }
      void start(operation, slot);
    }
  } catch (error) {
    stop.stop(error, 'drain');
  }
  if (inFlight > 0) {
    await new Promise<void>((resolve) => {
      onIdle = resolve;
    });
  }
  if (!stop.stopped) await refusals.finish();
  await outcomes.settled();
  stop.dispose();
  if (requests > 0) {
    try {
      await write([]);
    } catch (error) {
      stop.stop(error, 'drop');
    }
  }
  // A failure leaves them in doubt, which costs one more request later.
  if (notApplied.length > 0 && stop.recording) await options.onNotApplied?.(notApplied).catch(() => {});
  if (stop.stopped) throw stop.error;
  return recorded;
}

/** Sends the request of an operation; for a delete whose id must be looked up first, both requests. */
export function sendOperation(
  storefront: WritingStorefront,
  operation: Operation,
  options: SendOptions,
  parts?: PartRules,
): Promise<Outcome> {
  switch (operation.kind) {
    case 'upsert-product': {
      const { part, body, stock = [] } = operation;
      const sent = stock.length === 0 ? operation : { ...operation, body: withStock(body, stock) };
      if (part !== undefined && parts?.allow(part) !== false)
        return sendPart(storefront, sent, part, options, parts);
      return sendWhole(storefront, sent, options);
    }
    case 'update-contact': {
      const { key, body, part } = operation;
      if (part === undefined) return storefront.updateContact(key, body, options);
      return sendContactPart(storefront, key, bodyOfPart(body, part), { ...options, part });
    }
    case 'upsert-contact':
      return storefront.upsertContact(operation.key, operation.body, options);
    case 'delete-product': {
      const { id, idLookupBody } = operation;
      if (idLookupBody === undefined) return storefront.deleteProduct(id, options);
      return lookUpAndDelete(storefront, { ...operation, idLookupBody }, options);
    }
    default:
      throw new Error(`Unknown operation: ${operation satisfies never}`);
  }
}

/** Sends a whole product; one that a part was planned for by its id also by that, as the store may have another url by now. */
async function sendWhole(
  storefront: WritingStorefront,
  { key: url, body, putId: id, knownId, part }: UpsertProduct,
  options: SendOptions,
): Promise<Outcome> {
  if (part?.byId === true && knownId !== null) {
    const outcome = await storefront.updateProduct(knownId, { url, body }, options);
    if (outcome.kind !== 'rejected' || outcome.absent !== true) return outcome;
  }
  return await storefront.upsertProduct({ url, body, id }, options);
}

/**
 * Sends a part of a product. Where the store no longer has the product, an upsert by url has made one of this part alone, which another
 * id than the known one shows, and an update by id has done nothing: then the whole body is sent at once. So it is where the store, other
 * than a probe has seen, has emptied what the part does not have.
 */
async function sendPart(
  storefront: WritingStorefront,
  operation: UpsertProduct,
  part: RecordPart,
  options: SendOptions,
  parts: PartRules | undefined,
): Promise<Outcome> {
  const { key: url, body: whole, knownId } = operation;
  const body = bodyOfPart(whole, part);
  let answer: unknown;
  const listening: SendOptions = {
    ...options,
    onAnswer(value) {
      answer = value;
      options.onAnswer?.(value);
    },
  };
  const outcome =
    part.byId === true && knownId !== null
      ? await storefront.updateProduct(knownId, { url, body }, listening)
      : await storefront.upsertProduct({ url, body, isPart: true }, listening);
  const isOther =
    outcome.kind === 'rejected' ? outcome.absent : outcome.kind === 'applied' && outcome.id !== knownId;
  const hasKept =
    isOther !== true && outcome.kind === 'applied' ? keepsOthers(answer, whole, part) : undefined;
  if (isOther !== true && hasKept !== false) {
    if (hasKept !== undefined) await parts?.onSeen(true);
    return outcome.kind === 'applied' ? { ...outcome, part: fieldsOfPart(part) } : outcome;
  }
  const { onNotApplied: _, ...further } = options;
  const again =
    hasKept === false
      ? await sendWhole(storefront, operation, further)
      : await storefront.upsertProduct({ url, body: whole }, further);
  if (hasKept === false) await parts?.onSeen(false);
  return again.kind === 'rejected' || again.kind === 'unsent' ? { ...again, inDoubt: true } : again;
}

/** Fields that no store empties, or whose loss says nothing. */
const FIXED: ReadonlySet<string> = new Set(['title', 'type', 'hidden', 'url']);

/**
 * Whether an answer has something in the fields that were not sent, or nothing in all of them; undefined where it does not say. A person
 * who edits a product in the store empties neither its title nor everything else.
 */
function keepsOthers(answer: unknown, whole: string, part: RecordPart): boolean | undefined {
  const before: unknown = isJsonObject(answer) ? JSON.parse(whole) : undefined;
  if (!isJsonObject(answer) || !isJsonObject(before)) return undefined;
  const isNowEmpty = (name: string) => isEmpty(member(answer, name) ?? null);
  const sent = fieldsInRequest(part);
  const others = Object.keys(before).filter(
    (name) => !FIXED.has(name) && !sent.has(name) && !isEmpty(before[name]),
  );
  const lacksTitle = !sent.has('title') && isNowEmpty('title');
  if (others.some((name) => !isNowEmpty(name))) return true;
  const isCleared =
    (lacksTitle || others.length > 1) &&
    ['title', ...others].some((name) => Object.hasOwn(answer, name) && isNowEmpty(name));
  return isCleared ? false : undefined;
}

/** Sends a part of a contact. The blank keeps an answer from repeating it as it is: it must be parsed. */
async function sendContactPart(
  storefront: WritingStorefront,
  key: string,
  body: string,
  { part, ...options }: SendOptions & { readonly part: RecordPart },
): Promise<Outcome> {
  const outcome = await storefront.updateContact(key, `{ ${body.slice(1)}`, options);
  return outcome.kind === 'applied' ? { ...outcome, part: fieldsOfPart(part) } : outcome;
}

type LookedUpDelete = DeleteProduct & { readonly idLookupBody: string };

/**
 * Sends `idLookupBody` so that the store answers the id once more, then deletes by it. Without that delete the key is in doubt,
 * because the store then has a body that is not the acknowledged one.
 */
async function lookUpAndDelete(
  storefront: WritingStorefront,
  { key, id, idLookupBody }: LookedUpDelete,
  { onNotApplied: _, ...options }: SendOptions,
): Promise<Outcome> {
  const lookedUp = await storefront.upsertProduct({ url: key, body: idLookupBody }, options);
  if (lookedUp.kind !== 'applied') return lookedUp;
  // For exactly the sent url the store may answer another id, as after a restore; for another spelling of it, that id
  // may belong to another job's product.
  const isProven = lookedUp.id === id || lookedUp.answeredUrl === undefined;
  if (lookedUp.id === null || !isProven) {
    const message = `not deleted: the store answers ${lookedUp.id === null ? 'no id' : `another id (${lookedUp.id}) than before (${id})`}; delete it in the store by hand`;
    return { kind: 'rejected', reason: { code: 'unknown-id', message }, inDoubt: true };
  }
  const outcome = await storefront.deleteProduct(lookedUp.id, options);
  return outcome.kind === 'rejected' || outcome.kind === 'unsent' ? { ...outcome, inDoubt: true } : outcome;
}

/** Nothing recorded yet. */
const EMPTY_TALLY: ApplyTally = {
  applied: 0,
  appliedRows: 0,
  rejected: 0,
  rejectedRows: 0,
  deleted: 0,
  left: 0,
  unsent: 0,
  unsentRows: 0,
  requests: 0,
};

/** The tally with these results added. */
function addToTally(
  tally: ApplyTally,
  results: readonly ApplyResult<Operation>[],
  requests: number,
): ApplyTally {
  const sum = { ...tally, requests: tally.requests + requests };
  for (const { operation, outcome } of results) {
    switch (outcome.kind) {
      case 'applied':
        if (operation.kind === 'delete-product') {
          sum.deleted++;
        } else {
          sum.applied++;
          sum.appliedRows += operation.rows;
        }
        break;
      case 'rejected':
        sum.rejected++;
        sum.rejectedRows += operation.rows;
        break;
      case 'unsent':
        sum.unsent++;
        sum.unsentRows += operation.rows;
        break;
      case 'left':
        sum.left++;
        break;
      default:
        throw new Error(`Unknown outcome: ${outcome satisfies never}`);
    }
  }
  return sum;
}
