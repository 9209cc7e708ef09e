import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { StateError } from '../model/storeferry-error.ts';

/**
 * Common text of bodies, the most frequent last. With it a body of 1 KB shrinks to a third, without it to a half.
 * Never change it, because stored bodies need it. Another dictionary needs another format number.
 */
const DICTIONARY = Buffer.from(
  '","subscription":{"cycles":12,"period":1,"periodUnit":"MONTHLY"}"file":"https://' +
    '{"email":"@gmail.com","name":"","phone":"+1","note":"","address":"","city":"","state":"","zip":"",' +
    '"country":"United States","companyName":"","properties":[{"name":"","value":""},{"name":"","value":""}],' +
    '"tags":["",""],"subscribed":true,"subscribed":false,"subscriberLists":[0]}' +
    ',"categories":[{"id":1,"name":"","url":"","parentCategory":0}]</strong></em></div><br></li><li></ul>\\n<ul>' +
    '"type":"digital","type":"service","type":"membership",.png","https://cdn.shopify.com/s/files/1/products/' +
    '{"type":"physical","title":"","description":"<p></p>\\n<p>","url":"","hidden":true,"hidden":false,' +
    '"images":["https://","https://.jpg"],"options":[{"name":"Color","values":["Black","White"],"advanced":false},' +
    '{"name":"Size","values":["XS","S","M","L","XL"],"advanced":false}],"variants":[{"options":["' +
    '"salePrice":,"quantity":0,"sku":"","weight":0.5},{"options":[],"price":.99,"onSale":true,' +
    '"regularPrice":.99,"onSale":false,"regularPrice":10,"quantity":10,"sku":"","weight":0.25}]}',
);

/** The first byte of a stored body: raw deflate with the dictionary above. */
const FORMAT = 1;
/**
 * The first byte of a block. The number of bodies and the length of each in bytes follow, then all bodies as one raw
 * deflate.
 */
const BLOCK_FORMAT = 2;
const LENGTH_BYTES = 4;

/**
 * A small window and little memory, because their allocation is most of the cost of compressing a small body. Each stream
 * holds an output buffer of `chunkSize` until a full garbage collection; larger buffers cause more of these.
 */
const OPTIONS = { level: 3, windowBits: 13, memLevel: 6, chunkSize: 4096, dictionary: DICTIONARY } as const;

/** A plan rejects a record with a larger body; a row has at most 32 MiB (`rowBytes`). */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Limits of a block, which is always unpacked completely: its number of bodies, and the number of characters after which
 * no further body is added.
 */
export const BLOCK_BODIES = 16;
const BLOCK_CHARACTERS = 64 * 1024;

/** What unpacks to more counts as damaged: the largest body may end a block, after others of up to three bytes a character. */
const BOUNDED = { ...OPTIONS, maxOutputLength: MAX_BODY_BYTES + 3 * BLOCK_CHARACTERS } as const;

/** A request body as text, or as UTF-8. */
type Body = string | Uint8Array;

/** Packs a request body for the ledger. */
export function encodeBody(body: string): Buffer {
  return Buffer.concat([Buffer.of(FORMAT), deflateRawSync(body, OPTIONS)]);
}

/** The request body. StateError if the bytes are damaged, or a newer version wrote them. */
export function decodeBody(stored: Uint8Array): string {
  return reading(() => {
    if (stored[0] !== FORMAT) throw new RangeError(`format ${stored[0]}, expected ${FORMAT}`);
    return inflateRawSync(stored.subarray(1), BOUNDED).toString();
  });
}

/**
 * Packs up to `BLOCK_BODIES` request bodies together. Common parts are stored once, and the compressor, whose
 * initialisation takes four times as long as compressing one body, is initialised once (test/bench/README.md).
 */
export function encodeBodies(bodies: readonly Body[]): Buffer {
  const texts = bodies.map((body) => (typeof body === 'string' ? Buffer.from(body) : body));
  const head = Buffer.alloc(2 + LENGTH_BYTES * texts.length);
  head[0] = BLOCK_FORMAT;
  head[1] = texts.length;
  for (const [position, { length }] of texts.entries())
    head.writeUInt32LE(length, 2 + LENGTH_BYTES * position);
  return Buffer.concat([head, deflateRawSync(Buffer.concat(texts), OPTIONS)]);
}

/**
 * Packs bodies into blocks, in order. On this thread: to hand a block to a thread of zlib takes both longer than packing it.
 */
export function packBodies(bodies: readonly Body[]): Buffer[] {
  return Array.from(blocksOf(bodies), encodeBodies);
}

/** How many bodies a block has. */
export function bodiesIn(block: Uint8Array): number {
  return block[1] ?? 0;
}

/** Splits bodies into the groups that become blocks. */
export function* blocksOf<Of extends Body>(bodies: readonly Of[]): Generator<readonly Of[]> {
  let block: Of[] = [];
  let characters = 0;
  for (const body of bodies) {
    block.push(body);
    characters += body.length;
    if (block.length < BLOCK_BODIES && characters < BLOCK_CHARACTERS) continue;
    yield block;
    block = [];
    characters = 0;
  }
  if (block.length > 0) yield block;
}

/** The request bodies of a block; one for a body that is stored alone. StateError like `decodeBody`. */
export function decodeBodies(stored: Uint8Array): readonly string[] {
  if (stored[0] === FORMAT) return [decodeBody(stored)];
  return reading(() => {
    if (stored[0] !== BLOCK_FORMAT) throw new RangeError(`format ${stored[0]}, expected ${BLOCK_FORMAT}`);
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
    const count = bytes.readUInt8(1);
    const packed = bytes.subarray(2 + LENGTH_BYTES * count);
    let size = 0;
    for (let at = 2; at < 2 + LENGTH_BYTES * count; at += LENGTH_BYTES) size += bytes.readUInt32LE(at);
    // One output buffer with one byte to spare: zlib allocates a second one, and joins them, when the first is full.
    const chunkSize = Math.min(Math.max(size + 1, BOUNDED.chunkSize), BOUNDED.maxOutputLength);
    const texts = inflateRawSync(packed, { ...BOUNDED, chunkSize });
    let end = 0;
    return Array.from({ length: count }, (_, position) => {
      const start = end;
      end += bytes.readUInt32LE(2 + LENGTH_BYTES * position);
      if (end > texts.length) throw new RangeError('the block ends too soon');
      return texts.toString('utf8', start, end);
    });
  });
}

function reading<Result>(read: () => Result) {
  try {
    return read();
  } catch (error) {
    throw new StateError(`A request body in the ledger cannot be read: ${String(error)}.`, {
      hint: 'If a newer version of Storeferry was used here, update this one; otherwise `run --resend` writes all bodies again.',
      cause: error,
    });
  }
}
