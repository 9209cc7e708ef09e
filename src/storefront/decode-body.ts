import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';

/** The body of an answer as it was before it was encoded, or why it cannot be had. */
export type Decoded =
  | { readonly kind: 'decoded'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** Cut, damaged, or in an encoding that we do not know. */
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

/** By the names of RFC 9110, section 8.4.1; answers come so though nothing was asked for. */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', gunzipBody],
  ['x-gzip', gunzipBody],
  ['deflate', deflated],
  ['br', brotliBody],
  ['zstd', zstdBody],
]);

/** More would be a store that wants us to work. */
const MOST_ENCODINGS = 3;

/** With a header as the standard asks for, or bare as some servers send it. */
function deflated(bytes: Buffer, limits: Limits): Promise<Buffer> {
  const hasHeader = ((bytes[0] ?? 0) & 0x0f) === 0x08;
  return hasHeader ? inflateBody(bytes, limits) : inflateRawBody(bytes, limits);
}

/** Undoes the `Content-Encoding` of an answer, last encoding first, each within `maxBytes`. */
export async function decodeBody(bytes: Buffer, contentEncoding: string, maxBytes: number): Promise<Decoded> {
  const encodings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse();
  if (encodings.length > MOST_ENCODINGS) return { kind: 'unreadable', encoding: contentEncoding };
  let decoded = bytes;
  for (const encoding of encodings) {
    // What has no body, such as a 204, may name an encoding all the same.
    if (decoded.length === 0) break;
    const decode = DECODERS.get(encoding);
    if (decode === undefined) return { kind: 'unreadable', encoding };
    try {
      decoded = await decode(decoded, { maxOutputLength: maxBytes });
    } catch (error) {
      const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
      return isTooLarge ? { kind: 'too-large' } : { kind: 'unreadable', encoding };
    }
  }
  return { kind: 'decoded', bytes: decoded };
}
