import { pipeline, type Readable, Transform } from 'node:stream';
import { LineSplitter } from '../../model/row.ts';
import { DestinationError } from '../../model/storeferry-error.ts';

/** A line of a text file, without its end. */
interface TextLine {
  readonly number: number;
  readonly text: string;
  /** False for a last line without a line end. */
  readonly ended: boolean;
}

/** The lines of UTF-8 text, in batches; DestinationError for other bytes. A byte order mark is left out. */
export async function* textLines(input: Readable, name: string): AsyncGenerator<readonly TextLine[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const splitter = new LineSplitter();
  let number = 1;
  const decode = (bytes?: Uint8Array) => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch (error) {
      throw new DestinationError('The file is not UTF-8.', {
        place: { file: name, line: number },
        cause: error,
      });
    }
  };
  for await (const chunk of input) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('a file is read as bytes');
    const pieces = splitter.take(decode(chunk));
    if (pieces.length === 0) continue;
    yield pieces.map((text) => ({ number: number++, text: text.replace(/\r$/, ''), ended: true }));
  }
  const rest = splitter.rest + decode();
  if (rest !== '') yield [{ number, text: rest, ended: false }];
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Observes the bytes that pass to a reader: whether there are any, and whether the last one ends a line. */
export function watchBytes(source: Readable) {
  let last: number | undefined;
  const watch = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      last = chunk.at(-1) ?? last;
      done(null, chunk);
    },
  });
  return {
    // pipeline() closes the source if reading ends early, and passes its errors on to the reader.
    content: pipeline(source, watch, () => {}),
    isEmpty: () => last === undefined,
    endsLine: () => last === LINE_FEED || last === CARRIAGE_RETURN,
  };
}
