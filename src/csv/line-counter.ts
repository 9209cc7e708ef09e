const LF = 0x0a;
const CR = 0x0d;

/** Counts physical lines over pieces of UTF-8 (or ASCII-like) bytes: LF, CRLF and CR each end one. */
export class LineCounter {
  #line = 1;
  #afterCr = false;

  /** The line on which the next byte stands. */
  get line(): number {
    return this.#line;
  }

  add(bytes: Uint8Array): void {
    let afterCr = this.#afterCr;
    for (const byte of bytes) {
      if (byte === CR || (byte === LF && !afterCr)) this.#line += 1;
      afterCr = byte === CR;
    }
    this.#afterCr = afterCr;
  }
}
