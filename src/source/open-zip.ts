import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { type Entry, fromFdPromise, getFileNameLowLevel, type ZipFile } from 'yauzl';
import { fileLimitError } from '../model/input-limits.ts';
import type { TableFormat } from '../model/row.ts';
import { SourceError } from '../model/storeferry-error.ts';
import { recogniseDocument, SAVE_AS_CSV } from './recognise.ts';
import type { SourceLimits } from './unpack.ts';

/** Files that macOS and Windows add to folders and zips. */
const LITTER = /(^|\/)(__MACOSX\/|\.DS_Store$|\._[^/]*$|Thumbs\.db$|desktop\.ini$)/i;

const FILE_TYPE_BITS = 0o170000;
const SYMBOLIC_LINK = 0o120000;

const NO_PASSWORDS = 'Create the zip without a password: passwords are not supported.';

/** A file within a zip. */
interface ZippedFile {
  /** The name within the zip, made safe for messages. */
  readonly label: string;
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
    const bytes = files.reduce((sum, { entry }) => sum + entry.uncompressedSize, 0);
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
  const why = cause instanceof Error ? cause.message : String(cause);
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
