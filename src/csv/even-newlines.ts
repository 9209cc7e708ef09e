const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;

/**
 * Whole rows with every line end outside quotes made LF. Papa Parse knows one kind of line end only, and would take
 * the others for content. The rows must have passed `scanRows`, so that quotes come in pairs in every cell.
 */
export function evenNewlines(bytes: Uint8Array, quotes: 'standard' | 'none'): Uint8Array {
  const result = new Uint8Array(bytes.length);
  let length = 0;
  let quoted = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE && quotes === 'standard') quoted = !quoted;
    if (byte === CR && !quoted) {
      if (bytes[at + 1] === LF) continue;
      result[length] = LF;
    } else {
      result[length] = byte;
    }
    length += 1;
  }
  return result.subarray(0, length);
}
