import pc from 'picocolors';
import { ACTING_CLASS } from '../text/printable.ts';

/** The output of a command: results go to `out` and `data`, progress and messages to `err`. */
export interface Terminal {
  readonly out: (text: string) => void;
  /** For what programs read: unchanged, except on a terminal. */
  readonly data: (part: Uint8Array | string) => void;
  readonly err: (text: string) => void;
  /** Whether standard error is a terminal. Then progress is a bar that is redrawn. */
  readonly interactive: boolean;
  /** Whether standard output supports colours. */
  readonly colors: boolean;
  /** The width of a line in characters. */
  readonly width: number;
}

const WIDTH_ELSEWHERE = 100;

/** Errors that mean that the reader of a pipe has ended, or the terminal was closed. */
const READER_GONE = new Set(['EPIPE', 'EIO', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

/** A failed write (`| head`, a closed terminal, a full disk) must not end a run. */
function ignoreWriteErrors(stream: NodeJS.WriteStream, onFailure: (code: string) => void) {
  const seen = new Set<string>();
  stream.on('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) => {
    if (READER_GONE.has(code) || seen.has(code)) return;
    seen.add(code);
    onFailure(code);
  });
}

/** What acts on a terminal instead of being shown: escape sequences, and single characters. */
const ACTING = new RegExp(String.raw`\p{Cc}\[[\d;]*[mK]|(?![\t\n])${ACTING_CLASS}`, 'gu');
const ESCAPE = '\u001b';

/** Escape sequences that Storeferry prints itself: colours, and redrawing of a line. */
interface AllowedSequences {
  readonly colors: boolean;
  readonly redrawing: boolean;
}

/**
 * Escapes all other control characters (`\u001b`): names of files and texts of sources and stores may contain
 * anything. JSON keeps its meaning.
 */
export function escapeControls(text: string, { colors, redrawing }: AllowedSequences): string {
  const isAllowed = (found: string) => {
    if (found === '\r') return redrawing;
    if (!found.startsWith(`${ESCAPE}[`)) return false;
    return found.endsWith('m') ? colors : redrawing;
  };
  return text.replaceAll(ACTING, (found) => (isAllowed(found) ? found : unicodeEscape(found)));
}

function unicodeEscape(found: string) {
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}${found.slice(1)}`;
}

/** The terminal of this process. `NO_COLOR` and pipes are respected. */
export function processTerminal(): Terminal {
  ignoreWriteErrors(process.stderr, () => {});
  ignoreWriteErrors(process.stdout, (code) => {
    process.stderr.write(`Standard output cannot be written: ${code}. The command continues.\n`);
  });
  const interactive = process.stderr.isTTY === true;
  const isShown = process.stdout.isTTY === true;
  const colors = isShown && pc.isColorSupported;
  const out = (text: string) => void process.stdout.write(escapeControls(text, { colors, redrawing: false }));
  return {
    out,
    data: (part) => {
      if (!isShown) process.stdout.write(part);
      else out(typeof part === 'string' ? part : Buffer.from(part).toString());
    },
    err: (text) =>
      void process.stderr.write(escapeControls(text, { colors: interactive, redrawing: interactive })),
    interactive,
    colors,
    width: process.stdout.columns ?? process.stderr.columns ?? WIDTH_ELSEWHERE,
  };
}
