import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { StateError } from '../model/errors.ts';

/**
 * What bodies have in common, the most frequent last. A body of 1 KB shrinks to a third with it and to a half
 * without. Never change it: stored bodies need theirs; a further dictionary gets a further format number.
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

/** The first byte of a stored body: raw deflate against the dictionary above. */
const FORMAT = 1;

/** A small window and little memory: setting them up is what the compression of a small body mostly costs. */
const OPTIONS = { level: 3, windowBits: 13, memLevel: 6, dictionary: DICTIONARY } as const;

/** Packs a request body for the ledger. */
export function encodeBody(body: string): Buffer {
  return Buffer.concat([Buffer.of(FORMAT), deflateRawSync(body, OPTIONS)]);
}

/** Gives the request body back. StateError when the bytes are damaged or have a format that a newer version wrote. */
export function decodeBody(stored: Uint8Array): string {
  try {
    if (stored[0] !== FORMAT) throw new RangeError(`format ${stored[0]}, expected ${FORMAT}`);
    return inflateRawSync(stored.subarray(1), OPTIONS).toString();
  } catch (error) {
    throw new StateError(`A request body in the ledger cannot be read: ${String(error)}.`, {
      hint: 'If a newer Storeferry has worked here, update this one; otherwise `run --resend` writes all bodies anew.',
      cause: error,
    });
  }
}
