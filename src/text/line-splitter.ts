/** Splits text that arrives in pieces into lines, in time that is linear in its length. */
export class LineSplitter {
  /** The beginning of a line that has not ended. */
  rest = '';

  /** The lines that end in the next piece, without their line feeds. Only a line feed ends one: JSON does not escape U+2028. */
  take(piece: string): readonly string[] {
    const lines = piece.split('\n');
    // Only the new piece is searched, and the rest only appended to.
    lines[0] = `${this.rest}${lines[0]}`;
    this.rest = lines.pop() ?? '';
    return lines;
  }
}
