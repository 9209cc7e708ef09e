import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import type { Operation, Outcome } from '../../src/model/operation.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { IN_DOUBT, type OperationResult, type State } from '../../src/state/state.ts';
import { type Opening, openAs } from './child.ts';
import { applied, deletion, range, rejected, sampleRun, TARGET, unsent, upsert } from './samples.ts';
import { collected, twoProcesses } from './two-processes.ts';

/** Attempts that outlast any test: that something waits for one shows in every case. */
const ATTEMPT_MS = 3_600_000;
const NIGHTLY = sampleRun();
const WEEKLY = sampleRun({ id: 'run-2', job: 'weekly' });
const REASON = { code: 'connection-lost', message: 'the connection failed' };

function ended(operation: Operation, outcome: Outcome): OperationResult {
  return { operation, outcome };
}

/** What every state promises about keys that are in doubt, and about a state that has lost something. */
export function describeDoubts(fresh: () => Promise<Opening>): void {
  const root = mkdtempSync(join(tmpdir(), 'storeferry-doubts-'));
  let made = 0;
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const artifacts = () => join(root, `${++made}`);
  const withArtifacts = async (): Promise<Opening> => ({ ...(await fresh()), artifacts: artifacts() });

  describe('keys in doubt', () => {
    const processes = twoProcesses(withArtifacts);
    const ledger = () => processes.other.ledger(TARGET);
    const prints = async (...keys: string[]) =>
      (await ledger().marks(keys)).map((mark) => mark?.fingerprint ?? null);
    const begin = async (state: State, run: typeof NIGHTLY, ...operations: Operation[]) => {
      await using sending = await state.sending({ run, attemptMs: ATTEMPT_MS });
      return await sending.begin(operations);
    };
    const record = (run: typeof NIGHTLY, ...results: OperationResult[]) =>
      processes.state.runs.record(run, 1, results, results.length);
    const createRuns = async () => {
      for (const run of [NIGHTLY, WEEKLY]) await processes.state.runs.create(run);
    };

    it('are seen by every process and job until the store has acknowledged them', async () => {
      await createRuns();
      const shirt = upsert(0, 'shirt');
      await record(NIGHTLY, applied(shirt, 7));
      expect(await ledger().hasDoubts()).toBe(false);
      const begun = await begin(processes.state, NIGHTLY, shirt, upsert(1, 'hat'));
      expect(begun).toEqual({ waitMs: [0, 0], overtaken: [false, false] });
      expect(await prints('shirt', 'hat')).toEqual([IN_DOUBT, null]);
      expect(await ledger().hasDoubts()).toBe(true);
      await record(WEEKLY, applied(shirt, 7), applied(upsert(1, 'hat'), 8));
      expect(await prints('shirt', 'hat')).toEqual(['print-of-shirt', 'print-of-hat']);
      expect(await ledger().hasDoubts()).toBe(false);
    });

    it('and all that was written count as another version since an earlier position', async () => {
      await createRuns();
      const verify = sampleRun({ id: 'run-3', job: 'nightly', kind: 'verify' });
      await processes.state.runs.create(verify);
      const keys = ['shirt', 'hat'];
      const since = async (position: string) => [...(await ledger().writtenSince(position, keys))];
      const send = async (run: typeof NIGHTLY, operation: Operation, end = applied(operation, 7)) => {
        await begin(processes.state, run, operation);
        await record(run, end);
        return await ledger().position();
      };
      const [shirt, hat] = [upsert(0, 'shirt'), upsert(1, 'hat')];
      expect(await since('')).toEqual([]);
      const sent = await send(NIGHTLY, shirt);
      expect([await since(''), await since(sent)]).toEqual([['shirt'], []]);
      // The same body again is another version; a verification is none, nor is what certainly did not arrive.
      const again = await send(WEEKLY, shirt);
      expect([await since(sent), await since(again)]).toEqual([['shirt'], []]);
      await send(verify, shirt);
      await send(NIGHTLY, shirt, rejected(shirt));
      expect(await since(again)).toEqual([]);
      await begin(processes.state, NIGHTLY, shirt);
      expect(await since(again)).toEqual(['shirt']);
      // What was created and deleted since is as absent as before.
      await send(NIGHTLY, shirt);
      const before = await ledger().position();
      await send(WEEKLY, hat);
      await send(WEEKLY, deletion(1, 'hat', 7));
      expect(await ledger().marks(keys)).toEqual([expect.anything(), undefined]);
      expect(await since(before)).toEqual(['hat']);
      const deleted = await send(NIGHTLY, deletion(0, 'shirt', 7));
      expect(await since(before)).toEqual(keys);
      await send(NIGHTLY, shirt);
      expect(await since(deleted)).toEqual(['shirt']);
      const made = await ledger().position();
      await ledger().confirm(keys);
      expect(await since(made)).toEqual(['shirt']);
      expect(await since(await ledger().position())).toEqual([]);
      expect(await since('another-state 1')).toEqual(keys);
    });

    it('end with what certainly did not arrive, but only as far as this attempt caused the doubt', async () => {
      await createRuns();
      const [shirt, hat] = [upsert(0, 'shirt'), upsert(1, 'hat')];
      await record(NIGHTLY, applied(shirt, 7), applied(hat, 8));
      await begin(processes.state, NIGHTLY, shirt, hat);
      await record(NIGHTLY, rejected(shirt), ended(hat, { kind: 'unsent', reason: REASON, inDoubt: true }));
      expect(await prints('shirt', 'hat')).toEqual(['print-of-shirt', IN_DOUBT]);
      await begin(processes.state, NIGHTLY, hat);
      await record(NIGHTLY, rejected(hat));
      expect(await prints('hat')).toEqual([IN_DOUBT]);
      await begin(processes.state, NIGHTLY, hat);
      await record(NIGHTLY, unsent(hat));
      expect(await prints('hat')).toEqual([IN_DOUBT]);
      await begin(processes.state, NIGHTLY, hat);
      await record(NIGHTLY, applied(hat, 8));
      expect(await prints('hat')).toEqual(['print-of-hat']);
    });

    it.each<Outcome>([
      { kind: 'rejected', reason: REASON, inDoubt: true },
      { kind: 'unsent', reason: REASON, inDoubt: true },
      { kind: 'unsent', reason: REASON, inDoubt: true, atWork: true },
    ])('stay where an attempt may have arrived (%j)', async (outcome) => {
      await createRuns();
      await record(NIGHTLY, applied(upsert(0, 'shirt'), 7));
      await begin(processes.state, NIGHTLY, upsert(0, 'shirt'));
      await record(NIGHTLY, ended(upsert(0, 'shirt'), outcome));
      expect(await prints('shirt')).toEqual([IN_DOUBT]);
    });

    it('end, with the mark, when the store says that it holds nothing', async () => {
      await createRuns();
      await record(NIGHTLY, applied(upsert(0, 'shirt'), 7));
      await begin(processes.state, NIGHTLY, upsert(0, 'shirt'));
      await record(
        NIGHTLY,
        ended(upsert(0, 'shirt'), { kind: 'rejected', reason: REASON, inDoubt: true, absent: true }),
      );
      expect(await prints('shirt')).toEqual([null]);
      expect(await ledger().hasDoubts()).toBe(false);
      expect(await collected(ledger().keysOf('nightly'))).toEqual([]);
    });

    it('are a job’s own until another job sends the key', async () => {
      await createRuns();
      const [shirt, hat, coat] = [upsert(0, 'shirt'), upsert(1, 'hat'), upsert(2, 'coat')];
      await record(WEEKLY, applied(shirt, 7), applied(hat, 8));
      await begin(processes.state, NIGHTLY, shirt, hat, coat);
      const own = (job: string) => ledger().doubtedOnlyBy(job, ['coat', 'hat', 'none', 'shirt']);
      expect(await own(NIGHTLY.job)).toEqual(new Set(['coat', 'hat', 'shirt']));
      expect(await own(WEEKLY.job)).toEqual(new Set());
      await begin(processes.other, WEEKLY, hat, coat);
      expect(await own(NIGHTLY.job)).toEqual(new Set(['shirt']));
      await record(NIGHTLY, applied(shirt, 7));
      expect(await own(NIGHTLY.job)).toEqual(new Set());
    });

    it('end with a delete', async () => {
      await createRuns();
      await record(NIGHTLY, applied(upsert(0, 'shirt'), 7));
      await begin(processes.state, NIGHTLY, deletion(0, 'shirt', 7));
      expect(await prints('shirt')).toEqual([IN_DOUBT]);
      await record(NIGHTLY, applied(deletion(0, 'shirt', 7), null));
      expect(await prints('shirt')).toEqual([null]);
      expect(await ledger().hasDoubts()).toBe(false);
    });

    it('end when they are withdrawn, except those that were in doubt before', async () => {
      await createRuns();
      const [shirt, hat] = [upsert(0, 'shirt'), upsert(1, 'hat')];
      await record(NIGHTLY, applied(shirt, 7), applied(hat, 8));
      await begin(processes.other, WEEKLY, hat);
      await record(WEEKLY, ended(hat, { kind: 'unsent', reason: REASON, inDoubt: true }));
      await using sending = await processes.state.sending({ run: NIGHTLY, attemptMs: ATTEMPT_MS });
      await sending.begin([shirt, hat, upsert(2, 'coat')]);
      await sending.withdraw([shirt, hat, upsert(2, 'coat')]);
      expect(await prints('shirt', 'hat', 'coat')).toEqual(['print-of-shirt', IN_DOUBT, null]);
      expect(await collected(ledger().unconfirmed('nightly'))).toEqual([]);
      await sending.begin([hat]);
      await record(NIGHTLY, applied(hat, 8));
      expect(await ledger().hasDoubts()).toBe(false);
    });

    it('stay when somebody withdraws what was not begun, or leaves a delete to others', async () => {
      await createRuns();
      const [shirt, hat] = [upsert(0, 'shirt'), upsert(1, 'hat')];
      await record(NIGHTLY, applied(shirt, 7), applied(hat, 8));
      await begin(processes.other, NIGHTLY, shirt, hat);
      await record(
        NIGHTLY,
        ended(shirt, { kind: 'unsent', reason: REASON, inDoubt: true }),
        ended(hat, { kind: 'unsent', reason: REASON, inDoubt: true }),
      );
      await using failed = await processes.state.sending({ run: WEEKLY, attemptMs: ATTEMPT_MS });
      await failed.withdraw([shirt]);
      expect((await failed.begin([deletion(0, 'hat', 8)])).overtaken).toEqual([true]);
      await record(WEEKLY, ended(deletion(0, 'hat', 8), { kind: 'left' }));
      expect(await prints('shirt', 'hat')).toEqual([IN_DOUBT, IN_DOUBT]);
    });

    it('wait for the requests of a process that is gone, and for those only that may be at work', async () => {
      await createRuns();
      const keys = ['at-work', 'answered', 'arrived', 'withdrawn'];
      const operations = keys.map((key, index) => upsert(index, key));
      const [atWork, answered, arrived, withdrawn] = operations;
      if (!atWork || !answered || !arrived || !withdrawn) throw new Error('four operations');
      {
        await using gone = await processes.other.sending({ run: NIGHTLY, attemptMs: ATTEMPT_MS });
        await gone.begin(operations);
        await record(
          NIGHTLY,
          ended(answered, { kind: 'applied', id: 1 }),
          ended(arrived, { kind: 'unsent', reason: REASON, inDoubt: true }),
        );
        await gone.withdraw([withdrawn]);
      }
      const { waitMs } = await begin(processes.state, WEEKLY, ...operations, upsert(4, 'new'));
      expect(waitMs.map((ms) => ms > 0)).toEqual([true, false, false, false, false]);
      expect(Math.max(...waitMs)).toBeLessThanOrEqual(ATTEMPT_MS + 2_000);
    });

    it('wait as long when the one who took over is withdrawn or gone as well', async () => {
      await createRuns();
      await begin(processes.other, NIGHTLY, upsert(0, 'shirt'));
      {
        await using interrupted = await processes.state.sending({ run: NIGHTLY, attemptMs: 1 });
        await interrupted.begin([upsert(0, 'shirt')]);
        await interrupted.withdraw([upsert(0, 'shirt')]);
      }
      {
        await using died = await processes.state.sending({ run: NIGHTLY, attemptMs: 1 });
        const { waitMs } = await died.begin([upsert(0, 'shirt')]);
        expect(waitMs[0]).toBeGreaterThan(ATTEMPT_MS / 2);
      }
      const { waitMs } = await begin(processes.other, WEEKLY, upsert(0, 'shirt'));
      expect(waitMs[0]).toBeGreaterThan(ATTEMPT_MS / 2);
    });

    it('do not wait for what the same process has sent itself, and awaits the answer of', async () => {
      await createRuns();
      await using sending = await processes.state.sending({ run: NIGHTLY, attemptMs: ATTEMPT_MS });
      await sending.begin([upsert(0, 'shirt')]);
      expect(await sending.begin([upsert(0, 'shirt')])).toEqual({ waitMs: [0], overtaken: [false] });
    });

    it('are not begun for deletes that another job, or another id, has overtaken', async () => {
      await createRuns();
      await record(NIGHTLY, applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), 8));
      await record(WEEKLY, applied(upsert(2, 'coat'), 9));
      const { overtaken } = await begin(
        ...([processes.state, NIGHTLY] as const),
        ...[deletion(0, 'shirt', 7), deletion(1, 'hat', 80), deletion(2, 'coat', 9)],
        deletion(3, 'gone', 10),
      );
      expect(overtaken).toEqual([false, true, true, true]);
      expect(await prints('shirt', 'hat', 'coat')).toEqual([IN_DOUBT, 'print-of-hat', 'print-of-coat']);
    });

    it('leave no id proven where an upsert follows what may have been a delete', async () => {
      await createRuns();
      const [shirt, hat] = [upsert(0, 'shirt'), upsert(1, 'hat')];
      await record(NIGHTLY, applied(shirt, 7), applied(hat, 8));
      const proofs = async () => {
        const marks = await ledger().marks(['shirt', 'hat']);
        return marks.map((mark) => mark?.idProof ?? 'proven');
      };
      await begin(processes.state, NIGHTLY, deletion(0, 'shirt', 7), hat);
      expect(await proofs()).toEqual(['proven', 'proven']);
      await begin(processes.state, NIGHTLY, shirt);
      expect(await proofs()).toEqual(['once', 'proven']);
      // The store answers the id it had before: the delete was not done.
      await record(NIGHTLY, applied({ ...shirt, knownId: 7 }, 7));
      expect(await proofs()).toEqual(['proven', 'proven']);
    });

    it('are begun for deletes by ids from before the store changed others only where they are looked up again', async () => {
      await createRuns();
      await record(NIGHTLY, applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), 8));
      await ledger().proveIdsAgain();
      const lookedUp = { ...deletion(1, 'hat', 8), idLookupBody: '{"url":"hat"}' };
      const { overtaken } = await begin(processes.state, NIGHTLY, deletion(0, 'shirt', 7), lookedUp);
      expect(overtaken).toEqual([true, false]);
      await record(NIGHTLY, applied(upsert(0, 'shirt', { knownId: 7 }), 7));
      expect((await begin(processes.state, NIGHTLY, deletion(0, 'shirt', 7))).overtaken).toEqual([false]);
    });

    it('are not begun for deletes of what another job may have taken over before it died', async () => {
      await createRuns();
      await record(NIGHTLY, applied(upsert(0, 'shirt'), 7));
      await begin(processes.other, WEEKLY, upsert(0, 'shirt'));
      const { overtaken } = await begin(processes.state, NIGHTLY, deletion(0, 'shirt', 7));
      expect(overtaken).toEqual([true]);
      await record(WEEKLY, rejected(upsert(0, 'shirt')));
      expect((await begin(processes.state, NIGHTLY, deletion(0, 'shirt', 7))).overtaken).toEqual([false]);
    });

    it('are unconfirmed while nothing of them is known but who has sent them', async () => {
      await createRuns();
      await record(NIGHTLY, applied(upsert(0, 'shirt'), 7));
      const orphans = range(1_200).map((index) => upsert(index, `orphan-${index}`));
      await begin(processes.state, NIGHTLY, upsert(0, 'shirt'), ...orphans);
      await begin(processes.state, WEEKLY, upsert(0, 'of-weekly'), upsert(5, 'orphan-5'));
      const found = await collected(ledger().unconfirmed('nightly'));
      expect(found.sort()).toEqual(orphans.map(({ key }) => key).sort());
      // Of several jobs: each of them says so, and any other.
      const ofSeveral = 'orphan-5';
      expect((await collected(ledger().unconfirmed('weekly'))).sort()).toEqual(['of-weekly', ofSeveral]);
      expect(await collected(ledger().unconfirmed('another'))).toEqual([ofSeveral]);
      await record(WEEKLY, applied(upsert(0, 'of-weekly'), 9), applied(upsert(5, ofSeveral), 10));
      expect(await collected(ledger().unconfirmed('weekly'))).toEqual([]);
    });

    it('count the keys of an id, whichever jobs sent them', async () => {
      await createRuns();
      await record(NIGHTLY, applied(upsert(0, 'Shirt'), 7), applied(upsert(1, 'hat'), 8));
      await record(WEEKLY, applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'coat'), 9));
      expect(await ledger().sharedIds(new Set([7, 8, 10]))).toEqual(new Map([[7, ['Shirt', 'shirt']]]));
      expect(await ledger().sharedIds(new Set())).toEqual(new Map());
    });
  });

  describe('a state and its witness', () => {
    const open = (opening: Opening, folder: string) => openAs({ ...opening, artifacts: folder });
    const send = async (state: State, key: string) => {
      await state.runs.create(NIGHTLY).catch(() => {});
      await using sending = await state.sending({ run: NIGHTLY, attemptMs: ATTEMPT_MS });
      const operation = upsert(0, key, { memo: `memo-of-${key}` });
      await sending.begin([operation]);
      await state.runs.record(NIGHTLY, 1, [applied(operation, 7)], 1);
    };

    it('agree as long as nothing is lost, in every process', async () => {
      const opening = await withArtifacts();
      await using state = await openAs(opening);
      await using other = await openAs(opening);
      expect(await state.ledger(TARGET).reconcile()).toBeNull();
      await send(state, 'shirt');
      await send(other, 'hat');
      for (const asked of [state, other]) expect(await asked.ledger(TARGET).reconcile()).toBeNull();
      expect(await state.ledger({ ...TARGET, storeId: '//other.example' }).reconcile()).toBeNull();
      expect((await state.ledger(TARGET).marks(['shirt']))[0]?.fingerprint).toBe('print-of-shirt');
    });

    it('differ when the witness has seen more: all is in doubt, said once, and waits', async () => {
      const opening = await fresh();
      const folder = artifacts();
      await using state = await open(opening, folder);
      await send(state, 'shirt');
      await advanceWitness(folder);
      await using later = await open(opening, folder);
      const ledger = later.ledger(TARGET);
      expect(await ledger.reconcile()).toEqual({ kind: 'behind', keys: 1 });
      const mark = { fingerprint: IN_DOUBT, id: 7, idProof: 'changed', job: 'nightly' };
      expect(await ledger.marks(['shirt'])).toEqual([mark]);
      expect(await ledger.lostSince((await state.runs.get(NIGHTLY.id)) ?? NIGHTLY)).toBe(true);
      expect(await ledger.reconcile()).toBeNull();
      expect(await state.ledger(TARGET).reconcile()).toBeNull();
      await later.runs.create(WEEKLY);
      await using sending = await later.sending({ run: WEEKLY, attemptMs: ATTEMPT_MS });
      await using own = await later.sending({ run: NIGHTLY, attemptMs: ATTEMPT_MS });
      expect((await own.begin([deletion(0, 'shirt', 7)])).overtaken).toEqual([true]);
      const { waitMs } = await sending.begin([upsert(0, 'shirt'), upsert(1, 'unheard-of')]);
      expect(waitMs.every((ms) => ms > 0)).toBe(true);
      expect(await ledger.doubtedOnlyBy(WEEKLY.job, ['shirt'])).toEqual(new Set());
      await later.runs.record(WEEKLY, 1, [applied(upsert(0, 'shirt'), 7)], 1);
      expect((await ledger.marks(['shirt']))[0]?.fingerprint).toBe('print-of-shirt');
      expect(await ledger.reconcile()).toBeNull();
    });

    it('differ when the state is another one', async () => {
      const folder = artifacts();
      {
        await using lost = await open(await fresh(), folder);
        await send(lost, 'shirt');
      }
      await using state = await open(await fresh(), folder);
      expect(await state.ledger(TARGET).reconcile()).toEqual({ kind: 'lost', keys: 0 });
      expect(await state.ledger(TARGET).reconcile()).toBeNull();
      await send(state, 'hat');
      expect(await state.ledger(TARGET).reconcile()).toBeNull();
    });

    it('differ when the witness is gone', async () => {
      const opening = await fresh();
      {
        await using state = await open(opening, artifacts());
        await send(state, 'shirt');
      }
      await using state = await open(opening, artifacts());
      const ledger = state.ledger(TARGET);
      expect(await ledger.reconcile()).toEqual({ kind: 'unwitnessed', keys: 1 });
      expect((await ledger.marks(['shirt']))[0]?.fingerprint).toBe(IN_DOUBT);
      expect(await ledger.reconcile()).toBeNull();
    });
  });
}

/** As if a group had been sent that the state knows nothing of. */
async function advanceWitness(folder: string): Promise<void> {
  const sent = folderArtifacts(folder).run('sent');
  for (const name of await sent.list()) {
    const lines = (await text(await sent.read(name))).trim().split('\n');
    const advanced = lines.map((line) => {
      const witness: { serial: { value: number } } = JSON.parse(line);
      witness.serial.value += 1;
      return JSON.stringify(witness);
    });
    await sent.write(name, [advanced.join('\n')]);
  }
}
