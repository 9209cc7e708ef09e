import { isUtf8 } from 'node:buffer';

/** The length of the UTF-8 character that begins at `at`, or 0 when no whole valid one does. */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0xff;
  const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  return length > 0 && isUtf8(bytes.subarray(at, at + length)) && at + length <= bytes.length ? length : 0;
}

/** The offset of the first byte that belongs to no valid UTF-8 character, or -1. */
export function invalidUtf8At(bytes: Uint8Array): number {
  if (isUtf8(bytes)) return -1;
  let from = 0;
  let to = bytes.length;
  // Halves by prefixes that are valid, until what is left is quick to walk through.
  while (to - from > 1024) {
    let middle = (from + to) >>> 1;
    while (middle > from && ((bytes[middle] ?? 0) & 0xc0) === 0x80) middle -= 1;
    if (middle === from) break;
    if (isUtf8(bytes.subarray(from, middle))) from = middle;
    else to = middle;
  }
  for (let at = from; at < bytes.length; ) {
    const length = characterLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return -1;
}

/** How many of the bytes, from the beginning, do not end within a UTF-8 character that more bytes could complete. */
export function wholeUtf8Length(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const at = bytes.length - back;
    const byte = bytes[at] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte < 0xc2 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 1;
    return needed > back ? at : bytes.length;
  }
  return bytes.length;
}
