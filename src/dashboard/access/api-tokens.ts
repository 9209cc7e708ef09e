import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { API_SCOPES, type ApiScope, includesRole, type Role } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { type KeptListContext, keptName, openKeptList } from './open-kept-list.ts';
import { HASH, hashToken, sameText } from './tokens.ts';

const apiTokenSchema = z.strictObject({
  name: keptName,
  scope: z.enum(API_SCOPES),
  hash: HASH,
  /** Milliseconds since the epoch. */
  madeAt: z.number(),
  expiresAt: z.number(),
  /** The names of who made it. */
  by: z.array(z.string()).default([]),
});

/** A token by which a program uses the API; only its hash is stored. */
type ApiToken = Readonly<z.infer<typeof apiTokenSchema>>;

/** What a new token may do, for how long, and who makes it. */
interface NewApiToken {
  readonly name: string;
  readonly scope: ApiScope;
  readonly days: number;
  readonly by: readonly string[];
}

/** How long a token lasts that names no other time. */
export const TOKEN_DAYS = 90;
export const MAX_TOKEN_DAYS = 3_650;
const MAX_TOKENS = 200;
const DAY_MS = 86_400_000;

/** The API tokens of a workspace. */
export type ApiTokens = ReturnType<typeof openApiTokens>;

/** The tokens by which programs use the API. */
export function openApiTokens(context: KeptListContext) {
  const { clock } = context;
  const { list, add, replace, removeAll } = openKeptList(context, {
    kind: 'tokens',
    file: 'api-tokens.json',
    entry: apiTokenSchema,
    max: MAX_TOKENS,
  });
  return {
    list,
    /** The unexpired token that this text is. All hashes are compared, so that the duration reveals nothing. */
    find(text: string): ApiToken | undefined {
      const hash = hashToken(text);
      const [token] = list().filter((known) => sameText(known.hash, hash));
      return token !== undefined && token.expiresAt > clock() ? token : undefined;
    },
    /** Makes a token and returns its text, which is not stored. UsageError for a name that is taken, or is no name. */
    async make({ name, scope, days, by }: NewApiToken): Promise<string> {
      const text = `api-${randomBytes(TOKEN_BYTES).toString('base64url')}`;
      const madeAt = clock();
      const expiresAt = madeAt + days * DAY_MS;
      const made = { name, scope, hash: hashToken(text), madeAt, expiresAt, by: [...by] };
      if (!apiTokenSchema.safeParse(made).success || !(days >= 1 && days <= MAX_TOKEN_DAYS)) {
        throw new UsageError('A token needs a name, a scope and a number of days.', {
          hint: `The name: at most 64 letters, digits, '.', '_', '-', '@' and '+'. The days: 1 to ${MAX_TOKEN_DAYS}.`,
        });
      }
      await add(made);
      return text;
    },
    /** Revokes those that a person has made and whose scope is beyond this role; all of them for null. */
    revokeBeyond: async (person: string, role: Role | null): Promise<void> =>
      await removeAll(
        ({ scope, by }) => by.includes(person) && (role === null || !includesRole(role, scope)),
      ),
    /** UsageError if there is none. */
    revoke: async (name: string): Promise<void> => await replace(name, () => undefined),
  };
}

const TOKEN_BYTES = 24;
