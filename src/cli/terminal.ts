import pc from 'picocolors';

/** Where a command prints: results to `out`, progress and messages to `err`. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether standard error is a terminal: then progress is a bar that is drawn over. */
  readonly interactive: boolean;
  /** Whether standard output takes colours. */
  readonly colors: boolean;
  /** Characters in a line. */
  readonly width: number;
}

const WIDTH_ELSEWHERE = 100;

/** The reader of a pipe is gone, or the terminal is closed. */
const READER_GONE = new Set(['EPIPE', 'EIO', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

/** What cannot be printed (to `| head`, a closed terminal, a full disk) must not end a run in its middle. */
function outliveReader(stream: NodeJS.WriteStream, onFailure: (code: string) => void): void {
  const seen = new Set<string>();
  stream.on('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) => {
    if (READER_GONE.has(code) || seen.has(code)) return;
    seen.add(code);
    onFailure(code);
  });
}

/** The terminal of this process; `NO_COLOR` and pipes are respected. */
export function processTerminal(): Terminal {
  outliveReader(process.stderr, () => {});
  outliveReader(process.stdout, (code) => {
    process.stderr.write(`Standard output cannot be written: ${code}. The command goes on.\n`);
  });
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    interactive: process.stderr.isTTY === true,
    colors: process.stdout.isTTY === true && pc.isColorSupported,
    width: process.stdout.columns ?? process.stderr.columns ?? WIDTH_ELSEWHERE,
  };
}
