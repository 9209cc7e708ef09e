import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';

const POLL_MS = 10;
/** A command with a small source needs no more, and ends before anything is bounded. */
const SMALL_HEAP_BYTES = 48 * 1024 * 1024;
/**
 * Large enough that most objects of a run are dead before they are collected. 32 MiB were 3 % quicker where rows are mapped, and
 * took 15 MiB more.
 */
const NURSERY_BYTES = 16 * 1024 * 1024;
/**
 * After a collection of the whole heap the next one is due when the heap has grown by this share. By default it grows to four
 * times its size: 150 MiB of which 40 live, most of it shards that were sent; when it doubles, 75 (test/bench/README.md).
 */
const GROWTH_PERCENT = 50;

/**
 * Bounds the memory that V8 takes: collects the whole heap sooner, and stops the growth of the nursery at a sufficient size. By
 * default the nursery grows to 128 MiB, a quarter of the memory of any run, and is no faster (test/bench/README.md). Its limit
 * is a command-line flag that a script cannot set for itself, but the growth factors can be changed at any time. Not at the
 * start: V8 refuses code that was cached under other flags, Node's own modules included, in this thread and in new ones.
 */
export function boundHeap(): void {
  let isSmall = true;
  const polling = setInterval(() => {
    if (isSmall) {
      if (getHeapStatistics().total_heap_size < SMALL_HEAP_BYTES) return;
      isSmall = false;
      setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
    }
    const nursery = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (nursery === undefined || nursery.space_size < NURSERY_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(polling);
  }, POLL_MS).unref();
}
