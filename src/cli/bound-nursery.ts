import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Large enough that most objects of a run are dead before they are collected; the default of older versions of Node.
 */
const NURSERY_BYTES = 32 * 1024 * 1024;
const NURSERY_POLL_MS = 10;

/**
 * Stops the growth of V8's nursery at a sufficient size. By default it grows to 128 MiB, a quarter of the memory of
 * any run, and is no faster (test/bench/README.md). Its limit is a command-line flag that a script cannot set for
 * itself, but the growth factor can be changed at any time.
 */
export function boundNursery(): void {
  const polling = setInterval(() => {
    const nursery = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (nursery === undefined || nursery.space_size < NURSERY_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(polling);
  }, NURSERY_POLL_MS).unref();
}
