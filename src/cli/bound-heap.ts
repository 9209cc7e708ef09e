import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Large enough that most objects of a run are dead before they are collected; the default of older versions of Node.
 */
const NURSERY_BYTES = 32 * 1024 * 1024;
const NURSERY_POLL_MS = 10;
/**
 * After a collection of the whole heap the next one is due when the heap has grown by this share. By default it grows to four
 * times its size: 150 MiB of which 40 live, most of it shards that were sent (test/bench/README.md).
 */
const GROWTH_PERCENT = 100;

/**
 * Bounds the memory that V8 takes: collects the whole heap sooner, and stops the growth of the nursery at a sufficient size. By
 * default the nursery grows to 128 MiB, a quarter of the memory of any run, and is no faster (test/bench/README.md). Its limit
 * is a command-line flag that a script cannot set for itself, but the growth factors can be changed at any time.
 */
export function boundHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  const polling = setInterval(() => {
    const nursery = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (nursery === undefined || nursery.space_size < NURSERY_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(polling);
  }, NURSERY_POLL_MS).unref();
}
