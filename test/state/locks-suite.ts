import { describe, expect, it } from 'vitest';
import { LockedError } from '../../src/model/storeferry-error.ts';
import { type Lock, type Locks, targetLockName } from '../../src/state/state.ts';
import type { Opening } from './child.ts';
import { applied, sampleRun, TARGET, upsert } from './samples.ts';
import { startChild } from './start-child.ts';
import { twoProcesses } from './two-processes.ts';

const HOLDER = { job: 'nightly', run: 'run-1' };
const NEVER = new AbortController().signal;

async function taken(locks: Locks, ...request: Parameters<Locks['tryAcquire']>): Promise<Lock> {
  const attempt = await locks.tryAcquire(...request);
  if ('heldBy' in attempt) throw new Error(`held by ${attempt.heldBy?.run}`);
  return attempt;
}

/** What locks promise, in both kinds of state. */
export function describeLocks(fresh: () => Promise<Opening>): void {
  describe('locks', () => {
    const processes = twoProcesses(fresh);

    it('exclude other processes, who learn the holder, until they are released', async () => {
      await using lock = await taken(processes.state.locks, 'job:nightly', HOLDER);
      expect(lock.isHeld()).toBe(true);
      const refused = { heldBy: HOLDER };
      expect(await processes.other.locks.tryAcquire('job:nightly', { job: 'weekly', run: 'run-2' })).toEqual(
        refused,
      );
      expect(await processes.state.locks.tryAcquire('job:nightly', { job: 'weekly', run: 'run-2' })).toEqual(
        refused,
      );
      await (await taken(processes.other.locks, 'job:weekly', HOLDER)).release();
      await lock.release();
      expect(lock.isHeld()).toBe(false);
      const next = await taken(processes.other.locks, 'job:nightly', HOLDER);
      await lock.release();
      expect(next.isHeld()).toBe(true);
      expect(await processes.state.locks.tryAcquire('job:nightly', HOLDER)).toEqual(refused);
      await next.release();
    });

    it('take names of any kind apart', async () => {
      const names = [
        'target:a/b',
        'target:a_b',
        'target:a-b',
        `${'x'.repeat(300)}1`,
        `${'x'.repeat(300)}2`,
        '../up',
      ];
      for (const name of names) await taken(processes.state.locks, name, HOLDER);
      for (const name of names)
        expect(await processes.other.locks.tryAcquire(name, HOLDER)).toEqual({ heldBy: HOLDER });
    });

    it('are waited for, and the holder is named once', async () => {
      const lock = await taken(processes.state.locks, 'target', HOLDER);
      const waits: unknown[] = [];
      const acquired = processes.other.locks.acquire(
        'target',
        { job: 'weekly', run: 'run-2' },
        {
          signal: NEVER,
          onWait(heldBy) {
            waits.push(heldBy);
            // Long enough for it to look again.
            setTimeout(() => lock.release(), 700);
          },
        },
      );
      const next = await acquired;
      expect(lock.isHeld()).toBe(false);
      expect(next.isHeld()).toBe(true);
      expect(waits).toEqual([HOLDER]);
    });

    it('end a wait that is aborted, for its reason', async () => {
      await taken(processes.state.locks, 'target', HOLDER);
      const abort = new AbortController();
      const waiting = processes.other.locks.acquire('target', HOLDER, {
        signal: abort.signal,
        onWait: () => abort.abort(new Error('interrupted')),
      });
      await expect(waiting).rejects.toThrow('interrupted');
    });

    it('name their holder, and nobody when they are free', async () => {
      expect(await processes.other.locks.holderOf('job:nightly')).toBeUndefined();
      const lock = await taken(processes.state.locks, 'job:nightly', HOLDER);
      expect(await processes.state.locks.holderOf('job:nightly')).toEqual(HOLDER);
      expect(await processes.other.locks.holderOf('job:nightly')).toEqual(HOLDER);
      expect(lock.isHeld()).toBe(true);
      await lock.release();
      expect(await processes.other.locks.holderOf('job:nightly')).toBeUndefined();
    });

    it('are taken although others keep asking who has them', async () => {
      let asking = true;
      const asked = (async () => {
        while (asking) await processes.other.locks.holderOf('job:nightly');
      })();
      for (let times = 0; times < 20; times++) {
        await (await taken(processes.state.locks, 'job:nightly', HOLDER)).release();
      }
      asking = false;
      await asked;
    });

    it('become free when their process is killed', async () => {
      await using child = startChild(processes.opening, 'hold', 'target');
      await child.saying('held');
      expect(await processes.state.locks.tryAcquire('target', HOLDER)).toEqual({
        heldBy: { job: 'of-child', run: 'run-of-child' },
      });
      await child.end();
      if (processes.opening.kind === 'sqlite')
        expect(await processes.state.locks.holderOf('target')).toBeUndefined();
      await using lock = await processes.state.locks.acquire('target', HOLDER, {
        signal: NEVER,
        onWait: () => {},
      });
      expect(lock.isHeld()).toBe(true);
    });

    it('are held together by a run only when it asks for that', async () => {
      const first = await taken(processes.state.locks, 'target', HOLDER, { together: true });
      const second = await taken(processes.state.locks, 'target', HOLDER, { together: true });
      const stranger = { job: 'weekly', run: 'run-2' };
      expect(await processes.state.locks.tryAcquire('target', HOLDER)).toEqual({ heldBy: HOLDER });
      expect(await processes.other.locks.tryAcquire('target', stranger, { together: true })).toEqual({
        heldBy: HOLDER,
      });
      await first.leave();
      expect([first.isHeld(), second.isHeld()]).toEqual([false, true]);
      expect(await processes.other.locks.tryAcquire('target', stranger, { together: true })).toEqual({
        heldBy: HOLDER,
      });
      await second.release();
      await taken(processes.other.locks, 'target', stranger, { together: true });
    });

    it('let a fenced write through while they are held, and nothing afterwards', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      // What is written together carries the tag of its target, its lock too.
      const name = targetLockName(TARGET);
      const lock = await taken(processes.state.locks, name, HOLDER);
      await processes.state.runs.record(run, 1, [applied(upsert(0, 'shirt'))], 1, lock.fence);
      await lock.release();
      await using _other = await taken(processes.other.locks, name, HOLDER);
      const late = processes.state.runs.record(run, 1, [applied(upsert(1, 'hat'))], 1, lock.fence);
      await expect(late).rejects.toThrow(LockedError);
      expect(await processes.state.runs.tally('run-1')).toMatchObject({ applied: 1, requests: 1 });
      expect((await processes.state.ledger(TARGET).marks(['hat']))[0]).toBeUndefined();
    });
  });
}
