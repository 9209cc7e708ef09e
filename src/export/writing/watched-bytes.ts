import { pipeline, type Readable, Transform } from 'node:stream';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Bytes on their way to a reader, of which is known whether the last so far ended a line, and whether there were any. */
export interface WatchedBytes {
  readonly content: Readable;
  readonly isEmpty: () => boolean;
  readonly endsLine: () => boolean;
}

/** Watches the bytes that pass. */
export function watchBytes(source: Readable): WatchedBytes {
  let last: number | undefined;
  const watch = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      last = chunk.at(-1) ?? last;
      done(null, chunk);
    },
  });
  return {
    // pipeline() closes the source when reading ends early, and hands its errors on to the reader.
    content: pipeline(source, watch, () => {}),
    isEmpty: () => last === undefined,
    endsLine: () => last === LINE_FEED || last === CARRIAGE_RETURN,
  };
}
