import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Whether an `Authorization` header carries the key as a bearer token (storefront-api.md, section 5). Compares
 * digests, so that the time taken reveals nothing of the key, not even its length.
 */
export function authenticator(apiKey: string): (header: string | undefined) => boolean {
  const expected = digest(apiKey);
  return (header) => {
    const token = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
    return token !== undefined && timingSafeEqual(digest(token), expected);
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
