import { setImmediate } from 'node:timers/promises';

/** A larger memory moves fewer bytes: when it is full, the rest of the window moves to its beginning. */
const MEMORY_BYTES = 512 * 1024;
/** Copying and scanning a row of 30 MiB takes long: others have their turn between both, and after so many bytes. */
const TURN_BYTES = 1024 * 1024;

/**
 * A sliding window on a stream of bytes: it grows at the end, and bytes at the beginning are dropped. It copies what it reads.
 * Its bytes are valid until it grows: new memory for each piece would cost as much as hashing the file.
 */
export class ByteWindow {
  #bytes: Uint8Array = new Uint8Array(0);
  /** The window ends at `#end` of it; what follows is free. */
  #memory: Uint8Array = this.#bytes;
  #end = 0;
  #final = false;
  readonly #chunks: AsyncIterator<Uint8Array>;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Whether the bytes reach to the end of the stream. */
  get final(): boolean {
    return this.#final;
  }

  /** Reads until the window holds at least this many bytes, or the stream ends. */
  async grow(length: number): Promise<void> {
    if (length > TURN_BYTES) await setImmediate();
    let turn = TURN_BYTES;
    while (this.#bytes.length < length && !this.#final) {
      const { done, value } = await this.#chunks.next();
      if (done === true) this.#final = true;
      else this.#add(value, length);
      if (this.#bytes.length < turn) continue;
      turn = this.#bytes.length + TURN_BYTES;
      await setImmediate();
    }
  }

  drop(length: number): void {
    this.#bytes = this.#bytes.subarray(length);
  }

  /** The bytes of the window, then the rest of the stream. */
  async *rest(): AsyncGenerator<Uint8Array> {
    yield this.#bytes;
    while (!this.#final) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return;
      yield value;
    }
  }

  #add(chunk: Uint8Array, wanted: number): void {
    const size = this.#bytes.length + chunk.length;
    if (this.#end + chunk.length > this.#memory.length) {
      const isRoomy = 2 * size <= this.#memory.length;
      // Most files are small: memory for a large one would cost a collection of the whole heap every forty reads.
      const isFirst = this.#memory.length === 0;
      const bytes = isFirst ? 2 * size : Math.max(MEMORY_BYTES, 2 * size, wanted + chunk.length);
      const memory = isRoomy ? this.#memory : Buffer.allocUnsafeSlow(bytes);
      memory.set(this.#bytes);
      this.#memory = memory;
      this.#end = this.#bytes.length;
    }
    this.#memory.set(chunk, this.#end);
    this.#end += chunk.length;
    this.#bytes = this.#memory.subarray(this.#end - size, this.#end);
  }
}
