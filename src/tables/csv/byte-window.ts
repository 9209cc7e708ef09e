import { setImmediate } from 'node:timers/promises';

/** A larger memory moves fewer bytes: when it is full, the rest of the window moves to its beginning. */
const MEMORY_BYTES = 512 * 1024;
/** Copying and scanning a row of 30 MiB takes long: others have their turn between both, and after so many bytes. */
const TURN_BYTES = 1024 * 1024;

/** A sliding window on a stream of bytes. */
export type ByteWindow = ReturnType<typeof byteWindow>;

/**
 * It grows at the end, and bytes at the beginning are dropped. It copies what it reads. Its bytes are valid until it grows: new memory
 * for each piece would cost as much as hashing the file.
 */
export function byteWindow(stream: AsyncIterable<Uint8Array>) {
  const chunks = stream[Symbol.asyncIterator]();
  let bytes: Uint8Array = new Uint8Array(0);
  /** The window ends at `end` of it; what follows is free. */
  let memory = bytes;
  let end = 0;
  let final = false;

  const add = (chunk: Uint8Array, wanted: number) => {
    const size = bytes.length + chunk.length;
    if (end + chunk.length > memory.length) {
      const isRoomy = 2 * size <= memory.length;
      // Most files are small: memory for a large one would cost a collection of the whole heap every forty reads.
      const isFirst = memory.length === 0;
      const most = isFirst ? 2 * size : Math.max(MEMORY_BYTES, 2 * size, wanted + chunk.length);
      const next = isRoomy ? memory : Buffer.allocUnsafeSlow(most);
      next.set(bytes);
      memory = next;
      end = bytes.length;
    }
    memory.set(chunk, end);
    end += chunk.length;
    bytes = memory.subarray(end - size, end);
  };
  return {
    get bytes(): Uint8Array {
      return bytes;
    },
    /** Whether the bytes reach to the end of the stream. */
    get final(): boolean {
      return final;
    },
    /** Reads until the window holds at least this many bytes, or the stream ends. */
    async grow(length: number): Promise<void> {
      if (length > TURN_BYTES) await setImmediate();
      let turn = TURN_BYTES;
      while (bytes.length < length && !final) {
        const { done, value } = await chunks.next();
        if (done === true) final = true;
        else add(value, length);
        if (bytes.length < turn) continue;
        turn = bytes.length + TURN_BYTES;
        await setImmediate();
      }
    },
    drop(length: number): void {
      bytes = bytes.subarray(length);
    },
    /** The bytes of the window, then the rest of the stream. */
    async *rest(): AsyncGenerator<Uint8Array> {
      yield bytes;
      while (!final) {
        const { done, value } = await chunks.next();
        if (done === true) return;
        yield value;
      }
    },
  };
}
