import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { errorCode } from '../model/storeferry-error.ts';

/** The body of an answer before it was encoded, or why it is not available. */
type Decoded =
  | { readonly kind: 'decoded'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** Cut, damaged, or in an unknown encoding. */
  | { readonly kind: 'unreadable'; readonly encoding: string };

interface Limits {
  readonly maxOutputLength: number;
}

type Decode = (bytes: Buffer, limits: Limits) => Promise<Buffer>;

const inflateBody: Decode = promisify(inflate);
const inflateRawBody: Decode = promisify(inflateRaw);
const gunzipBody: Decode = promisify(gunzip);
const brotliBody: Decode = promisify(brotliDecompress);
const zstdBody: Decode = promisify(zstdDecompress);

/** By the names of RFC 9110, section 8.4.1; some servers encode answers without a request. */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', gunzipBody],
  ['x-gzip', gunzipBody],
  ['deflate', deflated],
  ['br', brotliBody],
  ['zstd', zstdBody],
]);

/** More encodings than this only cost time. */
const MAX_ENCODINGS = 3;

/** With a header as in the standard, or without one as some servers send it. */
function deflated(bytes: Buffer, limits: Limits): Promise<Buffer> {
  const hasHeader = ((bytes[0] ?? 0) & 0x0f) === 0x08;
  return hasHeader ? inflateBody(bytes, limits) : inflateRawBody(bytes, limits);
}

/** Reverses the `Content-Encoding` of an answer, last encoding first, each within `maxBytes`. */
export async function decodeBody(bytes: Buffer, contentEncoding: string, maxBytes: number): Promise<Decoded> {
  const encodings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse();
  if (encodings.length > MAX_ENCODINGS) return { kind: 'unreadable', encoding: contentEncoding };
  let decoded = bytes;
  for (const encoding of encodings) {
    // An answer without a body, such as a 204, may still name an encoding.
    if (decoded.length === 0) break;
    const decode = DECODERS.get(encoding);
    if (decode === undefined) return { kind: 'unreadable', encoding };
    try {
      decoded = await decode(decoded, { maxOutputLength: maxBytes });
    } catch (error) {
      const isTooLarge = errorCode(error) === 'ERR_BUFFER_TOO_LARGE';
      return isTooLarge ? { kind: 'too-large' } : { kind: 'unreadable', encoding };
    }
  }
  return { kind: 'decoded', bytes: decoded };
}
