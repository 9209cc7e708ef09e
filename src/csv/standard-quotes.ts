import { CR, LF, QUOTE, SPACE } from './scan-rows.ts';

const BACKSLASH = 0x5c;
/** Before the first cell. */
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** How a file departs from CSV in its quoted cells. */
export interface QuoteHabits {
  /** `backslash`: in quoted cells, a quote and a backslash stand behind a backslash. */
  readonly escape?: 'backslash' | undefined;
  /** Whether there may be blanks between a delimiter and the quote that opens a cell. */
  readonly skipBlanks?: boolean | undefined;
}

/** The same text as CSV has it: quotes doubled in quoted cells, no blanks before them. `delimiters` are single ASCII characters. */
export async function* standardQuotes(
  chunks: AsyncIterable<Uint8Array>,
  { escape: escapedBy, skipBlanks = false }: QuoteHabits,
  delimiters: readonly string[],
): AsyncGenerator<Uint8Array> {
  const ends = new Set([LF, CR, ...delimiters.map((delimiter) => delimiter.charCodeAt(0))]);
  let state: 'start' | 'unquoted' | 'quoted' | 'escaped' | 'closed' = 'start';
  let blanks = 0;
  let marks = 0;
  for await (const chunk of chunks) {
    // A backslash becomes a quote at most, and blanks may come from earlier pieces.
    const out = Buffer.allocUnsafe(chunk.length * 2 + blanks + 1);
    let size = 0;
    const put = (byte: number) => {
      out[size] = byte;
      size += 1;
    };
    for (const byte of chunk) {
      switch (state) {
        case 'escaped':
          // Before anything else a backslash stands for itself.
          if (byte === QUOTE) put(QUOTE);
          else if (byte !== BACKSLASH) put(BACKSLASH);
          put(byte);
          state = 'quoted';
          continue;
        case 'quoted':
          if (byte === BACKSLASH && escapedBy === 'backslash') state = 'escaped';
          else {
            put(byte);
            if (byte === QUOTE) state = 'closed';
          }
          continue;
        case 'closed':
          put(byte);
          state = byte === QUOTE ? 'quoted' : ends.has(byte) ? 'start' : 'unquoted';
          continue;
        case 'start':
          if (byte === SPACE && skipBlanks) {
            blanks += 1;
            continue;
          }
          if (marks < BYTE_ORDER_MARK.length && byte === BYTE_ORDER_MARK[marks]) {
            marks += 1;
            put(byte);
            continue;
          }
          marks = BYTE_ORDER_MARK.length;
          if (byte === QUOTE) {
            blanks = 0;
            put(byte);
            state = 'quoted';
            continue;
          }
          break;
        case 'unquoted':
          break;
        default:
          state satisfies never;
      }
      for (; blanks > 0; blanks -= 1) put(SPACE);
      put(byte);
      state = ends.has(byte) ? 'start' : 'unquoted';
    }
    yield out.subarray(0, size);
  }
  if (state === 'escaped') yield Buffer.from([BACKSLASH]);
  if (blanks > 0) yield Buffer.alloc(blanks, SPACE);
}
