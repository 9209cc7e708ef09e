import pc from 'picocolors';

/** Where a command prints: results to `out`, progress and messages to `err`. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether standard error is a terminal: then progress is a bar that is drawn over. */
  readonly interactive: boolean;
  /** Whether standard output takes colours. */
  readonly colors: boolean;
  /** Letters a line. */
  readonly width: number;
}

const WIDTH_ELSEWHERE = 100;

/** A reader that has gone, as in `| head`, must not end a run in its middle. */
function outliveReader(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}

/** The terminal of this process; `NO_COLOR` and pipes are respected. */
export function processTerminal(): Terminal {
  outliveReader(process.stdout);
  outliveReader(process.stderr);
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    interactive: process.stderr.isTTY === true,
    colors: process.stdout.isTTY === true && pc.isColorSupported,
    width: process.stdout.columns ?? process.stderr.columns ?? WIDTH_ELSEWHERE,
  };
}
