import { createHash, timingSafeEqual } from 'node:crypto';

/** What is kept of the tokens. They are long and random, so that a plain hash cannot be searched back. */
export interface TokenHashes {
  readonly full: string;
  readonly readOnly: string;
}

/** SHA-256 in hex. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * What a token allows: everything, looking, or nothing. Both hashes are always compared, each in constant time, so that
 * the time taken reveals nothing of either token.
 */
export function allowedBy(token: string, hashes: TokenHashes): 'all' | 'look' | 'nothing' {
  const given = hashToken(token);
  const full = sameText(given, hashes.full);
  const readOnly = sameText(given, hashes.readOnly);
  if (full) return 'all';
  return readOnly ? 'look' : 'nothing';
}

/** Whether two texts are equal, in a time that does not depend on where they differ. */
export function sameText(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
