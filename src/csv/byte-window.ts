/** A sliding window on a stream of bytes: it grows at the end, and bytes at the beginning are dropped. */
export class ByteWindow {
  #bytes: Uint8Array = new Uint8Array(0);
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
    const parts = [this.#bytes];
    let size = this.#bytes.length;
    while (size < length && !this.#final) {
      const { done, value } = await this.#chunks.next();
      if (done === true) {
        this.#final = true;
      } else {
        parts.push(value);
        size += value.length;
      }
    }
    if (parts.length > 1) this.#bytes = Buffer.concat(parts, size);
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
}
