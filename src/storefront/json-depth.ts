const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `]` differ from `{` and `}` by this bit. */
const CURLY = 0x20;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/**
 * Whether objects and arrays of a JSON text stand more than `most` levels within one another. Whatever visits such a value
 * level by level would run out of stack.
 */
export function isDeeperThan(json: string, most: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      for (at += 1; at < json.length && json.charCodeAt(at) !== QUOTE; at += 1) {
        if (json.charCodeAt(at) === BACKSLASH) at += 1;
      }
    } else if ((code & ~CURLY) === OPEN) {
      depth += 1;
      if (depth > most) return true;
    } else if ((code & ~CURLY) === CLOSE) {
      depth -= 1;
    }
  }
  return false;
}
