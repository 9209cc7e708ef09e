import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../../model/errors.ts';
import { hashToken, type TokenHashes } from './token-hash.ts';

const HASH = z.string().regex(/^[0-9a-f]{64}$/);

const accessSchema = z.strictObject({ version: z.literal(1), full: HASH, readOnly: HASH });

/** The tokens to sign in with: one has full access, the other is read-only. */
export interface Tokens {
  readonly full: string;
  readonly readOnly: string;
}

const TOKEN_BYTES = 24;

/** Two new tokens, and the hashes that are kept of them. */
export function newTokens(): { readonly tokens: Tokens; readonly hashes: TokenHashes } {
  const tokens = { full: newToken('full'), readOnly: newToken('look') };
  return { tokens, hashes: { full: hashToken(tokens.full), readOnly: hashToken(tokens.readOnly) } };
}

/** Writes the hashes to the file, for its owner only; earlier tokens are invalid from the next start on. */
export async function writeTokenHashes(file: string, { full, readOnly }: TokenHashes): Promise<void> {
  await writeWhole(file, `${JSON.stringify({ version: 1, full, readOnly }, null, 2)}\n`);
}

/** The hashes that the file keeps; undefined when there is none yet. UsageError when it is damaged. */
export function readTokenHashes(file: string): TokenHashes | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw unusable(file, cause);
  }
  try {
    return accessSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw unusable(file, cause);
  }
}

function unusable(file: string, cause: unknown): UsageError {
  return new UsageError(`${file}: the tokens of the dashboard cannot be read.`, {
    cause,
    hint: 'Make new ones: storeferry dashboard --new-token',
  });
}

/** Begins with what it is for, so that the wrong one is not handed out. */
function newToken(kind: 'full' | 'look'): string {
  return `${kind}-${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
