import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockedError } from '../../src/model/storeferry-error.ts';
import { openSending, type SendingStore } from '../../src/state/open-sending.ts';
import { detectLoss, HEARTBEAT_VALID_MS } from '../../src/state/serial.ts';
import { type WitnessFile, witnessFile } from '../../src/state/witness-files.ts';
import { MemoryRunFolder } from '../plan/memory-run-folder.ts';
import { deletion, sampleRun, upsert } from './samples.ts';

const SERIAL = { lineage: 'l', value: 3 };

/** A store of doubts that notes what it was asked; heartbeats fail while `broken`. */
function noting() {
  const asked: string[] = [];
  let broken = false;
  const store: SendingStore = {
    async begin({ keys, deletes }) {
      asked.push(`begin ${keys} ${JSON.stringify(deletes)}`);
      return { waitMs: keys.map(() => 0), overtaken: keys.map(() => false), serial: SERIAL };
    },
    async heartbeat() {
      asked.push('heartbeat');
      if (broken) throw new Error('the disk is full');
    },
    async withdraw(_, keys) {
      asked.push(`withdraw ${keys}`);
    },
    async end() {
      asked.push('end');
    },
    connections: () => 0,
  };
  return {
    asked,
    store,
    break: (now: boolean) => {
      broken = now;
    },
  };
}

describe('sending', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const open = (store: SendingStore, witness?: WitnessFile) =>
    openSending({ run: sampleRun(), attemptMs: 1_000 }, store, witness, 'sender');

  it('is permitted at once while the last written heartbeat is young', async () => {
    const { asked, store } = noting();
    await using sending = await open(store);
    expect(asked).toEqual(['heartbeat']);
    expect(sending.permit()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10 * HEARTBEAT_VALID_MS);
    expect(sending.permit()).toBeUndefined();
  });

  it('waits for a heartbeat after the process was stopped', async () => {
    const { asked, store } = noting();
    await using sending = await open(store);
    vi.setSystemTime(Date.now());
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + HEARTBEAT_VALID_MS);
    const permit = sending.permit();
    expect(permit).toBeInstanceOf(Promise);
    await permit;
    expect(asked).toEqual(['heartbeat', 'heartbeat']);
    vi.restoreAllMocks();
  });

  it('is refused when the heartbeat cannot be written', async () => {
    const noted = noting();
    await using sending = await open(noted.store);
    noted.break(true);
    await vi.advanceTimersByTimeAsync(HEARTBEAT_VALID_MS - 1);
    expect(sending.permit()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await expect(sending.permit()).rejects.toThrow('the disk is full');
    noted.break(false);
    await sending.permit();
    expect(sending.permit()).toBeUndefined();
  });

  it('puts keys in doubt in the state before the witness, and says which deletes are among them', async () => {
    const noted = noting();
    const folder = new MemoryRunFolder();
    const write = folder.write.bind(folder);
    folder.write = async (...args) => {
      noted.asked.push('witness');
      return await write(...args);
    };
    {
      await using sending = await open(noted.store, witnessFile(folder, 'tag', 'process'));
      const operations = [upsert(0, 'shirt'), deletion(1, 'hat', 7)];
      const begun = await sending.begin(operations);
      expect(begun).toEqual({ waitMs: [0, 0], overtaken: [false, false] });
      await sending.withdraw(operations);
    }
    expect(noted.asked).toEqual([
      'heartbeat',
      'begin shirt,hat [{"position":1,"id":7,"looksUpId":false}]',
      'witness',
      'withdraw shirt,hat',
      'end',
    ]);
    const [witness] = await witnessFile(folder, 'tag', 'another').all();
    expect(witness).toMatchObject({ serial: SERIAL, requestsEndWithinMs: HEARTBEAT_VALID_MS + 1_000 });
  });

  it('is refused when the state gives a serial again that was given before', async () => {
    const folder = new MemoryRunFolder();
    await witnessFile(folder, 'tag', 'before').serial({ ...SERIAL, value: SERIAL.value + 2 });
    await using sending = await open(noting().store, witnessFile(folder, 'tag', 'process'));
    await expect(sending.begin([upsert(0, 'shirt')])).rejects.toThrow('The state is older');
    const witnesses = await witnessFile(folder, 'tag', 'another').all();
    expect(detectLoss(witnesses, { ...SERIAL, value: SERIAL.value + 9 })).toBe('behind');
  });

  it('writes no witness any more once its lock is lost', async () => {
    const noted = noting();
    const folder = new MemoryRunFolder();
    await using sending = await open(noted.store, witnessFile(folder, 'tag', 'process'));
    await sending.begin([upsert(0, 'shirt')]);
    noted.store.heartbeat = async () => {
      throw new LockedError('somebody else has it');
    };
    await vi.advanceTimersByTimeAsync(HEARTBEAT_VALID_MS);
    await folder.remove(await folder.list());
    await vi.advanceTimersByTimeAsync(HEARTBEAT_VALID_MS);
    expect(await folder.list()).toEqual([]);
    await expect(sending.permit()).rejects.toThrow('somebody else has it');
  });

  it('compares again after each new connection: the server may have been restarted without the last groups of others', async () => {
    const { store } = noting();
    const folder = new MemoryRunFolder();
    const other = witnessFile(folder, 'tag', 'other');
    let connections = 1;
    let value = 2;
    const reconnecting: SendingStore = {
      ...store,
      connections: () => connections,
      begin: async (group) => ({ ...(await store.begin(group)), serial: { lineage: 'l', value: value++ } }),
    };
    await using sending = await open(reconnecting, witnessFile(folder, 'tag', 'own'));
    await sending.begin([upsert(0, 'shirt')]);
    await other.serial({ lineage: 'l', value: 3 });
    connections++;
    await expect(sending.begin([upsert(1, 'hat')])).rejects.toThrow('older than the last requests');
    expect(detectLoss(await other.all(), { lineage: 'l', value: 9 })).toBe('behind');
  });
});
