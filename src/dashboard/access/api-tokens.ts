import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { writeWhole } from '../../config/edit-file.ts';
import { API_SCOPES, type ApiScope } from '../../model/action.ts';
import { errorCode, UsageError } from '../../model/storeferry-error.ts';
import type { RunContext } from '../../run/run-context.ts';
import { hashToken, sameText } from './tokens.ts';

const apiTokenSchema = z.strictObject({
  name: z.string().regex(/^[\w.-]{1,40}$/),
  scope: z.enum(API_SCOPES),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Milliseconds since the epoch. */
  madeAt: z.number(),
  expiresAt: z.number(),
});
const tokensSchema = z.strictObject({ version: z.literal(1), tokens: z.array(apiTokenSchema) });

/** A token by which a program uses the API; only its hash is stored. */
export type ApiToken = Readonly<z.infer<typeof apiTokenSchema>>;

/** What a new token may do, and for how long. */
export interface NewApiToken {
  readonly name: string;
  readonly scope: ApiScope;
  readonly days: number;
}

/** How long a token lasts that names no other time. */
export const TOKEN_DAYS = 90;
export const MAX_TOKEN_DAYS = 3_650;
const MAX_TOKENS = 200;
const DAY_MS = 86_400_000;

/** The API tokens of a workspace. */
export type ApiTokens = ReturnType<typeof openApiTokens>;

/** The tokens in a file that only its owner can read. It is read each time: a command or another dashboard may have changed it. */
export function openApiTokens({
  workspaceDir,
  clock,
  state: { locks },
  newRunId,
}: Pick<RunContext, 'workspaceDir' | 'clock' | 'state' | 'newRunId'>) {
  const file = join(workspaceDir, '.storeferry', 'api-tokens.json');
  const list = (): readonly ApiToken[] => {
    try {
      return tokensSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).tokens;
    } catch (cause) {
      if (errorCode(cause) === 'ENOENT') return [];
      const hint = 'Remove it, and make new tokens: storeferry tokens make NAME';
      throw new UsageError(`${file}: the API tokens cannot be read.`, { cause, hint });
    }
  };
  const change = async (changed: (tokens: readonly ApiToken[]) => readonly ApiToken[]): Promise<void> => {
    const holder = { job: 'api-tokens', run: newRunId() };
    const lock = { signal: AbortSignal.timeout(LOCK_WITHIN_MS), onWait() {} };
    await using _lock = await locks.acquire('api-tokens', holder, lock);
    const tokens = changed(list());
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeWhole(file, [`${JSON.stringify({ version: 1, tokens }, null, 2)}\n`], { mode: 0o600 });
  };
  return {
    list,
    /** The unexpired token that this text is. All hashes are compared, so that the duration reveals nothing. */
    find(text: string): ApiToken | undefined {
      const hash = hashToken(text);
      const [token] = list().filter((known) => sameText(known.hash, hash));
      return token !== undefined && token.expiresAt > clock() ? token : undefined;
    },
    /** Makes a token and returns its text, which is not stored. UsageError for a name that is taken, or is no name. */
    async make({ name, scope, days }: NewApiToken): Promise<string> {
      const text = `api-${randomBytes(TOKEN_BYTES).toString('base64url')}`;
      const madeAt = clock();
      const made = { name, scope, hash: hashToken(text), madeAt, expiresAt: madeAt + days * DAY_MS };
      if (!apiTokenSchema.safeParse(made).success || !(days >= 1 && days <= MAX_TOKEN_DAYS)) {
        throw new UsageError('A token needs a name, a scope and a number of days.', {
          hint: `The name: at most 40 letters, digits, '.', '_' and '-'. The days: 1 to ${MAX_TOKEN_DAYS}.`,
        });
      }
      await change((tokens) => {
        if (tokens.some((known) => known.name === name))
          throw new UsageError(`There is a token ${name} already.`, {
            hint: `Revoke it first, or choose another name: storeferry tokens revoke ${name}`,
          });
        if (tokens.length >= MAX_TOKENS)
          throw new UsageError(`There are ${MAX_TOKENS} tokens.`, {
            hint: 'Revoke those that are not used.',
          });
        return [...tokens, made];
      });
      return text;
    },
    /** UsageError if there is none. */
    async revoke(name: string): Promise<void> {
      await change((tokens) => {
        if (tokens.every((known) => known.name !== name))
          throw new UsageError(`There is no token ${name}.`, { hint: '`storeferry tokens` lists them.' });
        return tokens.filter((known) => known.name !== name);
      });
    },
  };
}

const TOKEN_BYTES = 24;
const LOCK_WITHIN_MS = 10_000;
