import { TextDecoder } from 'node:util';
import { SaxesParser } from 'saxes';
import { type LimitedTable, type TableFile, tableError, tableLimitError } from './table-file.ts';

/** The callbacks for XML. With `localNames` names of elements are without their prefix; attributes keep theirs. */
export interface XmlHandlers {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** More levels than any feed has. */
const MAX_DEPTH = 200;
const MAX_ATTRIBUTES = 20_000;

interface XmlOptions {
  readonly file: LimitedTable;
  readonly localNames: boolean;
}

/**
 * Reads XML as a stream; malformed XML is refused with a SourceError. It accepts only the five entities of XML itself
 * and refuses a DOCTYPE with definitions, so that nothing can expand or be fetched. Yields after each piece of input, so that a caller
 * can take the results of its handlers before more is read.
 */
export async function* readXml(
  bytes: AsyncIterable<Uint8Array>,
  handlers: XmlHandlers,
  { file, localNames }: XmlOptions,
): AsyncGenerator<void> {
  const parser = new SaxesParser({ xmlns: false, position: true });
  const nameOf = (name: string) => (localNames ? name.slice(name.indexOf(':') + 1) : name);
  // The parser keeps a text or a tag until it ends, so an endless one must not fill memory.
  let sinceEvent = 0;
  let depth = 0;
  let attributeCount = 0;
  parser.on('error', (error) => {
    throw broken(file, error.message);
  });
  // A DOCTYPE that names a file is read over, and the file is never loaded; only an internal subset defines entities. One of HTML says that
  // the file is a page.
  parser.on('doctype', (text) => {
    if (text.includes('[') || /^\s*html\b/i.test(text)) throw refusedDoctype(file);
  });
  // Before the tag ends, because the parser needs much memory for each attribute.
  parser.on('attribute', () => {
    attributeCount += 1;
    if (attributeCount <= MAX_ATTRIBUTES) return;
    const where = `${parser.line}:${parser.column}`;
    throw broken(file, `${where}: an element has more than ${MAX_ATTRIBUTES} attributes`);
  });
  parser.on('opentag', ({ name, attributes }) => {
    sinceEvent = 0;
    attributeCount = 0;
    depth += 1;
    if (depth > MAX_DEPTH) {
      throw broken(
        file,
        `${parser.line}:${parser.column}: elements are nested more than ${MAX_DEPTH} levels deep`,
      );
    }
    handlers.open?.(nameOf(name), attributes);
  });
  parser.on('closetag', ({ name }) => {
    sinceEvent = 0;
    depth -= 1;
    handlers.close?.(nameOf(name));
  });
  const text = (part: string) => {
    sinceEvent = 0;
    handlers.text?.(part);
  };
  parser.on('text', text);
  parser.on('cdata', text);

  let decoder: TextDecoder | undefined;
  const decode = (chunk: Uint8Array | undefined) => {
    if (decoder === undefined) return '';
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw tableError(
        file,
        `The file is not in ${decoder.encoding}, the charset that it names.`,
        'Export it again as UTF-8.',
        cause,
      );
    }
  };
  for await (const chunk of bytes) {
    decoder ??= decoderFor(chunk, file);
    sinceEvent += chunk.length;
    parser.write(decode(chunk));
    if (sinceEvent > file.limits.rowBytes) throw tableLimitError(file, 'rowBytes');
    yield;
  }
  parser.write(decode(undefined)).close();
  yield;
}

function refusedDoctype(file: Pick<TableFile, 'name'>) {
  return tableError(
    file,
    'The XML file has a DOCTYPE that is one of HTML or defines entities. Storeferry does not read such files.',
    'Export it without a DOCTYPE. If it is an HTML page, it is probably the login or error page of the service that should have sent the file.',
  );
}

function broken(file: Pick<TableFile, 'name'>, message: string) {
  // The parser begins its messages with the missing file name and the place.
  const [, line, column, what] = /^(\d+):(\d+): (.*)$/s.exec(message) ?? [];
  const where = line === undefined ? '' : ` in line ${line}, column ${column}`;
  return tableError(
    file,
    `The XML is broken${where}: ${(what ?? message).replace(/\.$/, '')}.`,
    'The file may be incomplete or was edited by hand: export it again.',
  );
}

/** By its byte order mark, else by the XML declaration, else UTF-8. */
function decoderFor(chunk: Uint8Array, file: Pick<TableFile, 'name'>) {
  const [first, second] = chunk;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le', { fatal: true });
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be', { fatal: true });
  const beginning = Buffer.from(chunk.subarray(0, 256)).toString('latin1');
  const label = /^(?:ï»¿)?\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.:-]+)["']/.exec(beginning)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(label, { fatal: true });
  } catch (cause) {
    throw tableError(
      file,
      `The XML file names an unknown charset, ${label}.`,
      'Export it again as UTF-8.',
      cause,
    );
  }
}
