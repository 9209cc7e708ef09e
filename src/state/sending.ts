import { LockedError, StateError } from '../model/errors.ts';
import { elapsedMs, type Moment, presentMoment } from './elapsed.ts';
import { BEAT_MS, LEASE_MS } from './sender-time.ts';
import type { Begun, Sending, SendingOptions } from './state.ts';
import type { Serial, WitnessFile } from './witness.ts';

/** A group of operations on its way, as the state takes it. */
export interface OperationGroup {
  readonly job: string;
  readonly sender: string;
  readonly keys: readonly string[];
  /** The deletes among them, with the id they go by, and whether it is learned again first. */
  readonly deletes: readonly { readonly position: number; readonly id: number; readonly learns: boolean }[];
}

/** What a state does for those that send to one target. All but `end` reject with LockedError when the fence's lock is lost. */
export interface SendingStore {
  begin(group: OperationGroup): Promise<Begun & { readonly serial: Serial }>;
  beat(sender: string, attemptMs: number): Promise<void>;
  withdraw(sender: string, keys: readonly string[]): Promise<void>;
  end(sender: string): Promise<void>;
  /** Another number whenever a server was reached anew: it may have lost what was written last. */
  connections(): number;
}

/** A beat that cannot be written for so long ends the run: nothing may be sent without it. */
const BEAT_PATIENCE_MS = 30_000;

/** Opens a sending: the first beat is written when it resolves. `sender` is a name that nobody else has, without blanks. */
export async function openSending(
  { run, attemptMs }: SendingOptions,
  store: SendingStore,
  witness: WitnessFile | undefined,
  sender: string,
): Promise<Sending> {
  let confirmedAt: Moment | null = null;
  let beating: Promise<void> | null = null;
  let hasBegun = false;
  let locked: LockedError | null = null;

  const beatOnce = async (): Promise<void> => {
    if (locked !== null) throw locked;
    const asked = presentMoment();
    // First: whoever finds the state gone reads here until when something may have been sent.
    if (hasBegun) await witness?.beat();
    try {
      await store.beat(sender, attemptMs);
    } catch (error) {
      // Another run may have reconciled since: nothing is to be written over what it has left.
      if (error instanceof LockedError) locked = error;
      throw error;
    }
    confirmedAt = asked;
  };
  const beat = (): Promise<void> => {
    beating ??= beatOnce().finally(() => {
      beating = null;
    });
    return beating;
  };
  const isFresh = (): boolean => confirmedAt !== null && elapsedMs(confirmedAt) < LEASE_MS;
  /** A beat that took long may be too old as soon as it is written. */
  const untilFresh = async (): Promise<void> => {
    const since = performance.now();
    while (!isFresh()) {
      if (performance.now() - since > BEAT_PATIENCE_MS) throw tooSlow();
      await beat();
    }
  };

  /** A state that was put back after the run had looked at it goes on with serials that were given before. */
  const refuseBehind = async (serial: Serial): Promise<void> => {
    const isBehind = seen.some(
      (one) => one.serial.lineage === serial.lineage && one.serial.value >= serial.value,
    );
    if (!isBehind) return;
    await witness?.noteLoss(serial, attemptMs);
    throw new StateError('The state is older than what was sent to this store: nothing more is sent.', {
      hint: 'An older copy was put back while the run was at work. Run the job again: it sends everything that may be affected.',
    });
  };

  await beat();
  let comparedAt = store.connections();
  let seen = (await witness?.all()) ?? [];
  /** Serials that others were given before: those of a state that has lost nothing are higher. */
  const beginAfter = async (group: OperationGroup) => {
    for (;;) {
      const connections = store.connections();
      if (connections !== comparedAt) seen = (await witness?.all()) ?? [];
      const begun = await store.begin(group);
      if (!hasBegun || connections !== comparedAt) await refuseBehind(begun.serial);
      comparedAt = connections;
      if (store.connections() === connections) return begun;
    }
  };
  // What keeps a beat from being written is met by whoever asks for a permit.
  const timer = setInterval(() => beat().catch(() => {}), BEAT_MS).unref();
  return {
    async begin(operations) {
      const deletes = operations.flatMap((operation, position) =>
        operation.kind === 'delete-product'
          ? [{ position, id: operation.id, learns: operation.learn !== undefined }]
          : [],
      );
      const keys = operations.map(({ key }) => key);
      const { serial, ...begun } = await beginAfter({ job: run.job, sender, keys, deletes });
      // After the state: a witness that is ahead means that the state has lost something.
      await witness?.serial(serial, attemptMs);
      hasBegun = true;
      return begun;
    },
    permit: () => (isFresh() ? undefined : untilFresh()),
    withdraw: (operations) =>
      store.withdraw(
        sender,
        operations.map(({ key }) => key),
      ),
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await beating?.catch(() => {});
      await witness?.close().catch(() => {});
      // Left behind, it only makes the next run wait for requests that are over.
      await store.end(sender).catch(() => {});
    },
  };
}

function tooSlow(): StateError {
  return new StateError(
    `For ${BEAT_PATIENCE_MS / 1_000} seconds the state and the artifacts could not be written within ${LEASE_MS / 1_000} seconds: nothing may be sent.`,
    { hint: 'Look at the disk, the network or the bucket of ARTIFACTS_URL, then run again to continue.' },
  );
}
