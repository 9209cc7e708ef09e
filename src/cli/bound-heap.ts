import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';

const POLL_MS = 10;
/** A command with a small source needs no more, and ends before anything is bounded. */
const SMALL_HEAP_BYTES = 48 * 1024 * 1024;
/**
 * Of V8's young generation, where objects begin. Large enough that most objects of a run are dead before they are collected. 32 MiB were 3 % quicker where rows are mapped, and
 * took 15 MiB more.
 */
const NURSERY_BYTES = 16 * 1024 * 1024;
/**
 * After a collection of the whole heap the next one is due when the heap has grown by this share. V8's own limit is four times
 * its size: 150 MiB, of which 40 live. Until the heap, nursery included, first reaches `LARGE_HEAP_BYTES`, it may double:
 * collecting 20 MiB again and again was a tenth of a plan.
 */
const GROWTH_PERCENT = { small: 100, large: 50 };
const LARGE_HEAP_BYTES = 80 * 1024 * 1024;

/**
 * Bounds the memory that V8 takes: collects the whole heap sooner, and stops the growth of the nursery (V8's young generation) at a
 * sufficient size. By default it grows to 128 MiB, a quarter of the memory of a run, and is hardly faster (test/bench/README.md). Its limit
 * is a command-line flag that a script cannot set for itself, but the growth factors can be changed while it runs. Not at the
 * start: V8 refuses code that was cached under other flags, Node's own modules included, in this thread and in new ones.
 */
export function boundHeap(): void {
  let growth = Number.POSITIVE_INFINITY;
  let isNurseryBounded = false;
  const polling = setInterval(() => {
    const { total_heap_size: size } = getHeapStatistics();
    if (size < SMALL_HEAP_BYTES) return;
    const wanted = size < LARGE_HEAP_BYTES ? GROWTH_PERCENT.small : GROWTH_PERCENT.large;
    if (wanted < growth) {
      growth = wanted;
      setFlagsFromString(`--heap-growing-percent=${growth}`);
    }
    const nursery = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (!isNurseryBounded && nursery !== undefined && nursery.space_size >= NURSERY_BYTES) {
      isNurseryBounded = true;
      setFlagsFromString('--semi-space-growth-factor=1');
    }
    if (isNurseryBounded && growth === GROWTH_PERCENT.large) clearInterval(polling);
  }, POLL_MS).unref();
}
