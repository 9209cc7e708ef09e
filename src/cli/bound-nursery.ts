import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Large enough that what a run makes is dead before it is collected; the same as the default of older versions of Node. */
const ENOUGH_BYTES = 32 * 1024 * 1024;
const LOOK_EVERY_MS = 10;

/**
 * Keeps V8's nursery from growing once it is large enough. Left to itself it takes up to 128 MiB, a quarter of what a
 * run of any size may take, and is no faster with it (test/bench/README.md). Its limit is a flag of the command line,
 * which a script cannot set for itself; by how much it grows can be changed at any time.
 */
export function boundNursery(): void {
  const looking = setInterval(() => {
    const nursery = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (nursery === undefined || nursery.space_size < ENOUGH_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(looking);
  }, LOOK_EVERY_MS).unref();
}
