import { BEAT_MS, LEASE_MS } from './sender-time.ts';
import type { Begun, Sending, SendingOptions } from './state.ts';
import type { Serial, WitnessFile } from './witness.ts';

/** A group of operations on its way, as the state takes it. */
export interface OperationGroup {
  readonly job: string;
  readonly sender: string;
  readonly keys: readonly string[];
  /** The deletes among them, with the id they go by; null where it is not known yet. */
  readonly deletes: readonly { readonly position: number; readonly id: number | null }[];
}

/** What a state does for those that send to one target. All but `end` reject with LockedError when the fence's lock is lost. */
export interface SendingStore {
  begin(group: OperationGroup): Promise<Begun & { readonly serial: Serial }>;
  beat(sender: string, attemptMs: number): Promise<void>;
  withdraw(sender: string, keys: readonly string[]): Promise<void>;
  end(sender: string): Promise<void>;
}

/** Opens a sending: the first beat is written when it resolves. `sender` is a name that nobody else has, without blanks. */
export async function openSending(
  { run, attemptMs }: SendingOptions,
  store: SendingStore,
  witness: WitnessFile | undefined,
  sender: string,
): Promise<Sending> {
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let beating: Promise<void> | null = null;

  const beatOnce = async (): Promise<void> => {
    const asked = performance.now();
    // First: whoever finds the state gone reads here until when something may have been sent.
    await witness?.beat(attemptMs);
    await store.beat(sender, attemptMs);
    confirmedAt = asked;
  };
  const beat = (): Promise<void> => {
    beating ??= beatOnce().finally(() => {
      beating = null;
    });
    return beating;
  };
  const isFresh = (): boolean => performance.now() - confirmedAt < LEASE_MS;
  /** A beat that took long may be too old as soon as it is written. */
  const untilFresh = async (): Promise<void> => {
    while (!isFresh()) await beat();
  };

  await beat();
  // What keeps a beat from being written is met by whoever asks for a permit.
  const timer = setInterval(() => beat().catch(() => {}), BEAT_MS).unref();
  return {
    async begin(operations) {
      const deletes = operations.flatMap((operation, position) =>
        operation.kind === 'delete-product' ? [{ position, id: operation.id }] : [],
      );
      const keys = operations.map(({ key }) => key);
      const { serial, ...begun } = await store.begin({ job: run.job, sender, keys, deletes });
      // After the state: a witness that is ahead means that the state has lost something.
      await witness?.serial(serial);
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
      // Left behind, it only makes the next run wait for requests that are over.
      await store.end(sender).catch(() => {});
    },
  };
}
