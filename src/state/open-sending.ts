import { fieldsOfPart } from '../model/operation.ts';
import { LockedError, StateError } from '../model/storeferry-error.ts';
import type { OperationGroup } from './ledger-rules.ts';
import { HEARTBEAT_VALID_MS, type Serial } from './serial.ts';
import type { Begun, Sending, SendingOptions } from './state.ts';
import { elapsedMs, type Moment, presentMoment } from './stored-moment.ts';
import type { WitnessFile } from './witness-files.ts';

/**
 * The operations of a state for sending to one target. All but `end` reject with LockedError if the lock of the fence
 * is lost.
 */
export interface SendingStore {
  begin(group: OperationGroup): Promise<Begun & { readonly serial: Serial }>;
  heartbeat(sender: string, attemptMs: number): Promise<void>;
  withdraw(sender: string, keys: readonly string[]): Promise<void>;
  end(sender: string): Promise<void>;
  /** Changes with each new connection to a server, which may have lost its last writes. */
  connections(): number;
}

/** The interval of heartbeats while a process sends. */
const HEARTBEAT_MS = 500;
/** If heartbeats could not be written for this long, the run fails: nothing may be sent without them. */
const HEARTBEAT_TIMEOUT_MS = 30_000;

/** Opens a sending. When it resolves, the first heartbeat is written. `sender` is a unique name without blanks. */
export async function openSending(
  { run, attemptMs }: SendingOptions,
  store: SendingStore,
  witness: WitnessFile | undefined,
  sender: string,
): Promise<Sending> {
  let confirmedAt: Moment | null = null;
  let writing: Promise<void> | null = null;
  let hasBegun = false;
  let locked: LockedError | null = null;

  const writeHeartbeat = async () => {
    if (locked !== null) throw locked;
    const asked = presentMoment();
    // The witness first: if the state is lost, the witness shows how long requests of this process may still run.
    if (hasBegun) await witness?.heartbeat();
    try {
      await store.heartbeat(sender, attemptMs);
    } catch (error) {
      // Another run may have reconciled the state since: do not overwrite its result.
      if (error instanceof LockedError) locked = error;
      throw error;
    }
    confirmedAt = asked;
  };
  const heartbeat = () => {
    writing ??= writeHeartbeat().finally(() => {
      writing = null;
    });
    return writing;
  };
  const isFresh = () => confirmedAt !== null && elapsedMs(confirmedAt) < HEARTBEAT_VALID_MS;
  /** A slow heartbeat may already be too old when it is written. */
  const untilFresh = async () => {
    const since = performance.now();
    while (!isFresh()) {
      if (performance.now() - since > HEARTBEAT_TIMEOUT_MS) throw tooSlow();
      await heartbeat();
    }
  };

  /** An older state that was restored after the comparison assigns serials a second time. */
  const refuseBehind = async (serial: Serial) => {
    const isBehind = seen.some(
      (one) => one.serial.lineage === serial.lineage && one.serial.value >= serial.value,
    );
    if (!isBehind) return;
    await witness?.noteLoss(serial, attemptMs);
    throw new StateError('The state is older than the last requests to this store: nothing more is sent.', {
      hint: 'An older copy was restored while the run was sending. Run the job again: it sends all records that may be affected.',
    });
  };

  await heartbeat();
  let comparedAt = store.connections();
  let seen = (await witness?.all()) ?? [];
  /** `seen` has earlier serials of other processes: a state that has lost nothing assigns higher ones. */
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
  // `permit` reports why a heartbeat cannot be written.
  const timer = setInterval(() => heartbeat().catch(() => {}), HEARTBEAT_MS).unref();
  return {
    async begin(operations) {
      const deletes = operations.flatMap((operation, position) =>
        operation.kind === 'delete-product'
          ? [{ position, id: operation.id, looksUpId: operation.idLookupBody !== undefined }]
          : [],
      );
      const parts = operations.flatMap((operation, position) =>
        'part' in operation && operation.part !== undefined
          ? [[position, fieldsOfPart(operation.part)] as const]
          : [],
      );
      const keys = operations.map(({ key }) => key);
      const { serial, ...begun } = await beginAfter({ job: run.job, sender, keys, parts, deletes });
      // After the state, so that only a state that has lost data is behind its witness.
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
      await writing?.catch(() => {});
      await witness?.close().catch(() => {});
      // If this fails, the next run waits for requests that have already ended; there is no other effect.
      await store.end(sender).catch(() => {});
    },
  };
}

function tooSlow() {
  return new StateError(
    `For ${HEARTBEAT_TIMEOUT_MS / 1_000} seconds the state and the artifacts could not be written within ${HEARTBEAT_VALID_MS / 1_000} seconds: nothing may be sent.`,
    {
      hint: 'Check the disk, the network and the place that ARTIFACTS_URL names (if it is set), then run again to continue.',
    },
  );
}
