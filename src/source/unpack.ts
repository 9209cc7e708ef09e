import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createGunzip } from 'node:zlib';
import { type Entry, fromFdPromise, getFileNameLowLevel, type ZipFile } from 'yauzl';
import { fileLimitError, type InputLimits } from '../model/input-limits.ts';
import { sumOf } from '../model/json-object.ts';
import type { TableFormat } from '../model/row.ts';
import { errorCode, messageOf, SourceError } from '../model/storeferry-error.ts';
import { googleSheetHint } from '../remote/fetch-file.ts';
import { RECOGNISED_BYTES, type Recognised, recognise, recogniseDocument, SAVE_AS_CSV } from './recognise.ts';

/** The limits on an unpacked source: they protect the disk from a damaged or hostile archive. */
export type SourceLimits = Pick<InputLimits, 'bytes' | 'ratio' | 'fileCount' | 'pathBytes'>;

/** Below this size no ratio is suspicious: small files with equal rows compress very well. */
const RATIO_FREE_BYTES = 64 * 1024 ** 2;

interface Unpacking {
  /** Its size before unpacking. */
  readonly packedBytes: number;
  readonly unpackedBytes: number;
  /** Including all files unpacked before it. */
  readonly totalBytes: number;
}

/** Refuses a file that unpacks to more than the limits allow. */
export function refuseTooMuch(file: string, unpacking: Unpacking, limits: SourceLimits): void {
  const { packedBytes, unpackedBytes, totalBytes } = unpacking;
  if (totalBytes > limits.bytes) throw fileLimitError(SourceError, limits, 'bytes', { file });
  if (unpackedBytes > RATIO_FREE_BYTES && unpackedBytes > packedBytes * limits.ratio) {
    throw fileLimitError(SourceError, limits, 'ratio', { file });
  }
}

/**
 * The content of a file, unpacked if it is gzip, and its format if it is not CSV. Close it if it is not read.
 * SourceError if it is empty, damaged or not a table.
 */
export async function unpack(
  content: AsyncIterable<Uint8Array>,
  name: string,
): Promise<{ readonly content: Closable; readonly format: TableFormat | undefined }> {
  let { beginning, whole } = await peek(content, RECOGNISED_BYTES);
  let recognised = recognise(beginning);
  if (recognised.kind === 'gzip') {
    ({ beginning, whole } = await peek(gunzip(whole, name), RECOGNISED_BYTES));
    recognised = recognise(beginning);
  }
  if (recognised.kind === 'table') return { content: whole, format: recognised.format };
  if (recognised.kind === 'text' && beginning.length > 0) return { content: whole, format: undefined };
  await whole.close();
  throw notText(recognised, name);
}

function notText(recognised: Recognised, name: string): SourceError {
  const refused = (what: string, hint: string) =>
    new SourceError(`The source ${name} is ${what}.`, { place: { file: name }, hint });
  switch (recognised.kind) {
    case 'mistaken':
      return refused(`${recognised.what}, not a CSV file`, googleSheetHint(name) ?? recognised.hint);
    case 'zip':
      return refused(
        'a zip file or a workbook that is packed again',
        'Unpack it once, and name what comes out.',
      );
    case 'gzip':
      return refused('packed twice: it contains another gzip file', 'Compress the CSV file itself.');
    case 'table':
    case 'text':
      return refused('empty: it has 0 bytes', 'Check whether the export failed.');
    default:
      return recognised satisfies never;
  }
}

/** A stream that can be closed before reading begins, which would not close the source of a plain generator. */
interface Closable extends AsyncIterable<Uint8Array> {
  close(): Promise<void>;
}

/** The first bytes of a stream, at least `length` unless it is shorter, and the whole stream again. */
export async function peek(
  chunks: AsyncIterable<Uint8Array>,
  length: number,
): Promise<{ readonly beginning: Uint8Array; readonly whole: Closable }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  while (size < length && !ended) {
    const { done, value } = await iterator.next();
    if (done === true) {
      ended = true;
    } else {
      seen.push(value);
      size += value.length;
    }
  }
  const beginning = Buffer.concat(seen);

  async function* again(): AsyncGenerator<Uint8Array> {
    try {
      if (beginning.length > 0) yield beginning;
      while (!ended) {
        const { done, value } = await iterator.next();
        if (done === true) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return {
    beginning,
    whole: {
      [Symbol.asyncIterator]: again,
      async close() {
        await iterator.return?.();
      },
    },
  };
}

/** The content of a gzip file, with all its members. SourceError if it is damaged or truncated. */
async function* gunzip(packed: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const unpacking = createGunzip();
  let size = 0;
  async function* counted() {
    for await (const chunk of packed) {
      size += chunk.length;
      yield chunk;
    }
  }
  let failed: unknown;
  const feeding = pipeline(Readable.from(counted(), { objectMode: false }), unpacking).catch(
    (error: unknown) => {
      failed = error;
    },
  );
  try {
    for await (const chunk of unpacking) yield chunk;
  } catch (error) {
    throw isZlibError(error) ? damaged(name, error) : error;
  } finally {
    unpacking.destroy();
    await feeding;
  }
  if (failed !== undefined) throw failed;
  // Zlib takes a zero byte after a member for the end and ignores the rest.
  if (unpacking.bytesWritten < size) throw damaged(name, undefined);
}

function isZlibError(error: unknown): boolean {
  return errorCode(error).startsWith('Z_');
}

function damaged(name: string, cause: unknown): SourceError {
  return new SourceError(
    `The gzip file ${name} is damaged: ${cause instanceof Error ? cause.message : 'there are bytes after the end of its content'}.`,
    { cause, place: { file: name }, hint: 'It may be incomplete: download or copy it again.' },
  );
}

/** Files that macOS and Windows add to folders and zips. */
const LITTER = /(^|\/)(__MACOSX\/|\.DS_Store$|\._[^/]*$|Thumbs\.db$|desktop\.ini$)/i;

const FILE_TYPE_BITS = 0o170000;
const SYMBOLIC_LINK = 0o120000;

const NO_PASSWORDS = 'Create the zip without a password: passwords are not supported.';

/** A file within a zip. */
interface ZippedFile {
  /** The name within the zip, made safe for messages. */
  readonly label: string;
  /** Its name would lead out of the folder that the zip is unpacked in. */
  readonly leavesFolder: boolean;
  content(): AsyncGenerator<Uint8Array>;
}

/** The content of a zip: files, or a workbook with its parts by their paths, and their unpacked size. */
type OpenedZip =
  | { readonly files: readonly ZippedFile[]; readonly workbook?: undefined }
  | {
      readonly workbook: TableFormat;
      readonly parts: ReadonlyMap<string, ZippedFile['content']>;
      readonly bytes: number;
    };

/**
 * The files within a zip, sorted by name, without folders and system files; or the parts of a workbook. Names are
 * only labels: nothing is written to the paths that they name. SourceError for an encrypted or damaged zip, and for
 * another document.
 */
export async function openZip(handle: FileHandle, name: string, limits: SourceLimits): Promise<OpenedZip> {
  // With decoded names yauzl would refuse an archive because of one `../`, which is harmless in a label.
  const zip = await fromFdPromise(handle.fd, { decodeStrings: false }).catch((cause: unknown) => {
    throw unreadable(name, cause);
  });
  const entries = await entriesOf(zip, name, limits);

  const document = recogniseDocument(entries.map(({ label }) => label));
  if (document !== undefined && 'what' in document) {
    throw new SourceError(`The source ${name} is ${document.what}, not a CSV file.`, {
      place: { file: name },
      hint: SAVE_AS_CSV,
    });
  }
  const files = entries.filter(({ label }) => !label.endsWith('/') && !LITTER.test(label));
  for (const { label, entry } of files) refuseUnreadable(name, label, entry);
  if (document !== undefined) {
    const parts = files.map(({ label, entry }) => [label, () => contentOf(zip, entry, name, label)] as const);
    const bytes = sumOf(files, ({ entry }) => entry.uncompressedSize);
    return { workbook: document.workbook, parts: new Map(parts), bytes };
  }
  if (files.length === 0) {
    throw new SourceError(`The zip ${name} has no files in it.`, {
      place: { file: name },
      hint: 'Check whether the export failed.',
    });
  }
  files.sort((a, b) => (a.label < b.label ? -1 : 1));
  return {
    files: files.map(({ label, entry }) => ({
      label: harmless(label),
      leavesFolder: /^[/\\]|^[a-z]:|(^|[/\\])\.\.([/\\]|$)/i.test(label),
      content: () => contentOf(zip, entry, name, label),
    })),
  };
}

/** The list is kept in memory. The longest allowed paths of all allowed entries need less than this. */
const LIST_BYTES = 16 * 1024 ** 2;
/** Folders and system files are entries too: an archive may have this many entries per allowed file. */
const ENTRIES_PER_FILE = 10;

async function entriesOf(zip: ZipFile, name: string, limits: SourceLimits) {
  const entries: { readonly label: string; readonly entry: Entry }[] = [];
  let listBytes = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
      entries.push({
        label: getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false),
        entry,
      });
      if (entries.length > limits.fileCount * ENTRIES_PER_FILE)
        throw fileLimitError(SourceError, limits, 'fileCount', { file: name });
      listBytes += fileNameRaw.length + entry.extraFieldLength + entry.fileCommentLength;
      if (listBytes > LIST_BYTES) {
        throw new SourceError(
          `The zip ${name} cannot be read: its list of files takes more than ${LIST_BYTES / 1024 ** 2} MiB, most of it comments or extra fields.`,
          { place: { file: name }, hint: 'Create the zip again, without comments.' },
        );
      }
      const bytes = fileNameRaw.length;
      if (bytes > limits.pathBytes) {
        throw fileLimitError(
          SourceError,
          limits,
          'pathBytes',
          { file: name },
          { entry: entries.length, bytes },
        );
      }
    }
  } catch (cause) {
    throw cause instanceof SourceError ? cause : unreadable(name, cause);
  }
  return entries;
}

function refuseUnreadable(name: string, label: string, entry: Entry): void {
  const refuse = (what: string, hint: string) =>
    new SourceError(`In the zip ${name}, ${harmless(label)} ${what}.`, { place: { file: name }, hint });
  if (entry.isEncrypted()) {
    throw refuse('is encrypted', NO_PASSWORDS);
  }
  if (((entry.externalFileAttributes >>> 16) & FILE_TYPE_BITS) === SYMBOLIC_LINK) {
    throw refuse('is a link, not a file', 'Put the file itself into the zip.');
  }
  if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8) {
    throw refuse(
      `uses the compression method ${entry.compressionMethod}, which is not supported`,
      'Compress it with the usual method, deflate.',
    );
  }
}

async function* contentOf(
  zip: ZipFile,
  entry: Entry,
  name: string,
  label: string,
): AsyncGenerator<Uint8Array> {
  let checksum = 0;
  try {
    const stream = await zip.openReadStreamPromise(entry);
    for await (const chunk of stream) {
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
  } catch (cause) {
    throw unreadable(`${name}/${harmless(label)}`, cause);
  }
  if (checksum !== entry.crc32)
    throw unreadable(`${name}/${harmless(label)}`, new Error('its checksum is wrong'));
}

function unreadable(name: string, cause: unknown): SourceError {
  const why = messageOf(cause);
  return new SourceError(`The zip ${name} cannot be read: ${why.replace(/(?<!\.)\.+$/, '')}.`, {
    cause,
    place: { file: name },
    hint: /encrypt/i.test(why) ? NO_PASSWORDS : 'It may be incomplete: download or copy it again.',
  });
}

function harmless(label: string): string {
  return label
    .replaceAll(/\p{Cc}/gu, '')
    .split(/[/\\]/)
    .filter((part) => part !== '' && part !== '.' && part !== '..')
    .join('/');
}
