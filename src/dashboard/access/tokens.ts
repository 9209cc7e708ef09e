import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { writeWhole } from '../../config/edit-file.ts';
import { errorCode, UsageError } from '../../model/storeferry-error.ts';

/** What `hashToken` gives. */
export const HASH = z.string().regex(/^[0-9a-f]{64}$/);

const accessSchema = z.strictObject({ version: z.literal(1), full: HASH, readOnly: HASH });

/** The sign-in tokens, or their hashes: one has full access, the other is read-only. */
export type Tokens = Readonly<Record<'full' | 'readOnly', string>>;

const TOKEN_BYTES = 24;

/** Where a dashboard keeps its tokens. */
export interface TokenFile {
  readonly file: string;
  /** Make new tokens even if the file has some. */
  readonly renew: boolean;
}

/**
 * The hashes of the tokens that a dashboard accepts, and the tokens themselves if they were made now: then `keep` writes
 * their hashes to a file that only its owner can read, and earlier tokens are invalid from then on. UsageError
 * if the file is damaged.
 */
export function openTokens({ file, renew }: TokenFile) {
  const known = renew ? undefined : readTokenHashes(file);
  if (known !== undefined) return { hashes: watched(file, known), tokens: null, keep: async () => {} };
  const tokens = { full: newToken('full'), readOnly: newToken('look') };
  const hashes = { full: hashToken(tokens.full), readOnly: hashToken(tokens.readOnly) };
  return {
    hashes: watched(file, hashes),
    tokens,
    async keep() {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const text = `${JSON.stringify({ version: 1, ...hashes }, null, 2)}\n`;
      await writeWhole(file, [text], { mode: 0o600 });
    },
  };
}

/** Reads the hashes again when the file has changed; a damaged file changes nothing. */
function watched(file: string, first: Tokens): () => Tokens {
  let current = first;
  let read = fileStamp(file);
  return () => {
    const stamp = fileStamp(file);
    if (stamp === read || stamp === undefined) return current;
    read = stamp;
    try {
      current = readTokenHashes(file) ?? current;
    } catch {
      // The next start reports the damage.
    }
    return current;
  };
}

/** Changes with the content of a file that is replaced; undefined if there is none. */
export function fileStamp(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.ino} ${found.mtimeMs}`;
}

/** The stored hashes; undefined if there are none yet. */
function readTokenHashes(file: string): Tokens | undefined {
  try {
    return accessSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return undefined;
    throw new UsageError(`${file}: the tokens of the dashboard cannot be read.`, {
      cause,
      hint: 'Make new ones: storeferry dashboard --new-token',
    });
  }
}

/** A token begins with its purpose, so that people do not pass on the wrong one. */
function newToken(kind: 'full' | 'look') {
  return `${kind}-${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

/** SHA-256 in hex. Tokens are long and random, so a plain hash cannot be reversed by search. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}

/**
 * The access that a token gives: full, read-only or none. Both hashes are always compared in constant time, so that
 * the duration reveals nothing.
 */
export function accessOf(token: string, hashes: Tokens): 'full' | 'read-only' | 'none' {
  const given = hashToken(token);
  const full = sameText(given, hashes.full);
  const readOnly = sameText(given, hashes.readOnly);
  if (full) return 'full';
  return readOnly ? 'read-only' : 'none';
}

/** Whether two texts are equal, in a time that does not depend on where they differ. */
export function sameText(one: string, other: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(one), digest(other));
}
