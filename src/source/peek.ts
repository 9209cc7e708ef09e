/** A stream that can be given up before it is begun, which a generator does not pass on to its source. */
export interface Closable extends AsyncIterable<Uint8Array> {
  close(): Promise<void>;
}

/** The first bytes of a stream, at least `length` of them unless it ends before, and the whole stream again. */
export async function peek(
  chunks: AsyncIterable<Uint8Array>,
  length: number,
): Promise<{ readonly beginning: Uint8Array; readonly whole: Closable }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  while (size < length && !ended) {
    const { done, value } = await iterator.next();
    if (done === true) {
      ended = true;
    } else {
      seen.push(value);
      size += value.length;
    }
  }
  const beginning = Buffer.concat(seen);

  async function* again(): AsyncGenerator<Uint8Array> {
    try {
      if (beginning.length > 0) yield beginning;
      while (!ended) {
        const { done, value } = await iterator.next();
        if (done === true) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return {
    beginning,
    whole: {
      [Symbol.asyncIterator]: again,
      async close() {
        await iterator.return?.();
      },
    },
  };
}
