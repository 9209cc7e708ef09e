/** Acts on the first item alone, since a store that refuses it refuses all; then on several at once, until one fails. */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  concurrency: number,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const first = waiting.next();
  if (first.done === true) return;
  await act(first.value);
  let failed = false;
  const slot = async () => {
    for (const item of waiting) {
      if (failed) return;
      try {
        await act(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(
    Array.from({ length: Math.min(concurrency, items.length - 1) }, slot),
  );
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
