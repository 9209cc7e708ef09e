const CHUNK_BYTES = 256 * 1_024;

/** The same bytes in pieces of about 256 KiB: a file of a million short lines takes few writes. */
export async function* inChunks(
  content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const given of content) {
    const piece = typeof given === 'string' ? Buffer.from(given) : given;
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= CHUNK_BYTES) {
      yield pieces.length === 1 ? piece : Buffer.concat(pieces);
      pieces = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(pieces);
}
