import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HeldSlot, MAX_PARKED, slots } from '../../src/apply/slots.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

function setup(count: number) {
  const controller = new AbortController();
  const places = slots(count, controller.signal);
  const taken: HeldSlot[] = [];
  const take = () =>
    void places.take().then(
      (slot) => taken.push(slot),
      () => {},
    );
  return { controller, places, taken, take };
}

describe('slots', () => {
  it('are taken no more than there are', async () => {
    const { taken, take } = setup(2);
    for (let n = 0; n < 3; n++) take();
    await turn();
    expect(taken).toHaveLength(2);
    taken[0]?.free();
    await turn();
    expect(taken).toHaveLength(3);
  });

  it('go to who comes back before who comes new', async () => {
    const { taken, take } = setup(1);
    take();
    await turn();
    taken[0]?.release();
    take();
    take();
    await turn();
    let isBack = false;
    void taken[0]?.regain().then(() => {
      isBack = true;
    });
    taken[1]?.free();
    await turn();
    expect({ isBack, taken: taken.length }).toEqual({ isBack: true, taken: 2 });
  });

  it('admit no new operation while too many wait without a slot', async () => {
    const { taken, take } = setup(1);
    for (let n = 0; n < MAX_PARKED + 2; n++) {
      take();
      await turn();
      taken[n]?.release();
    }
    expect(taken).toHaveLength(MAX_PARKED);
    taken[0]?.free();
    await turn();
    expect(taken).toHaveLength(MAX_PARKED + 1);
  });

  it('turn all away who wait when it is over', async () => {
    const { controller, places } = setup(0);
    const waiting = places.take();
    controller.abort(new Error('over'));
    await expect(waiting).rejects.toThrow('over');
    await expect(places.take()).rejects.toThrow('over');
  });

  it('are never held by more than there are, and never lost, whatever is done with them', async () => {
    const step = fc.record({
      does: fc.constantFrom('take', 'release', 'regain', 'free'),
      which: fc.nat({ max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        async (count, steps) => {
          const { taken, take } = setup(count);
          const states = new Map<HeldSlot, 'held' | 'parked' | 'back' | 'free'>();
          const look = () => {
            for (const slot of taken) if (!states.has(slot)) states.set(slot, 'held');
          };
          for (const { does, which } of steps) {
            const slot = taken[which % Math.max(1, taken.length)];
            const state = slot === undefined ? undefined : states.get(slot);
            if (does === 'take') take();
            else if (slot === undefined) continue;
            else if (does === 'release' && state === 'held') {
              slot.release();
              states.set(slot, 'parked');
            } else if (does === 'regain' && state === 'parked') {
              states.set(slot, 'back');
              void slot.regain().then(() => states.set(slot, 'held'));
            } else if (does === 'free' && (state === 'held' || state === 'parked')) {
              slot.free();
              states.set(slot, 'free');
            }
            await turn();
            look();
            expect([...states.values()].filter((held) => held === 'held').length).toBeLessThanOrEqual(count);
          }
          for (let round = 0; round < steps.length + 1; round++) {
            for (const [slot, state] of states) {
              if (state !== 'held' && state !== 'parked') continue;
              slot.free();
              states.set(slot, 'free');
            }
            await turn();
            look();
          }
          expect([...states.values()].every((state) => state === 'free')).toBe(true);
          for (let n = 0; n < count; n++) take();
          const before = taken.length;
          await turn();
          expect(taken.length - before).toBe(count);
        },
      ),
      { numRuns: 60 },
    );
  });
});
