import { randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { writeWhole } from '../../config/edit-file.ts';
import { API_SCOPES, type ApiScope, includesRole, ROLES, type Role } from '../../model/action.ts';
import { errorCode, UsageError } from '../../model/storeferry-error.ts';
import type { RunContext } from '../../run/run-context.ts';
import { HASH, hashToken, sameText } from './tokens.ts';

/** The name of a person or a token; as a browser checks it too. */
const KEPT_NAME = /^[\w.@+\-]{1,64}$/v;
const keptName = z.string().regex(KEPT_NAME);
export const KEPT_NAME_CHECK = {
  pattern: KEPT_NAME.source,
  wrong: "Give letters, digits, '.', '_', '-', '@' and '+', at most 64.",
  required: true,
} as const;

/** Who has access to the dashboard of a workspace: people, and programs by tokens of the API. */
export function openAccounts(context: KeptListContext) {
  const apiTokens = openApiTokens(context);
  return { apiTokens, people: openPeople(context, apiTokens) };
}

/** The people and the tokens of a workspace. */
export type Accounts = ReturnType<typeof openAccounts>;

/** A list with unique names in the workspace, which gives access to the dashboard. */
interface KeptListOptions<Entry> {
  /** Its key in the file. */
  readonly kind: 'people' | 'tokens';
  readonly file: string;
  readonly entry: z.ZodType<Entry>;
  readonly max: number;
}

/** What of a context a list needs. */
type KeptListContext = Pick<RunContext, 'workspaceDir' | 'clock' | 'state' | 'newRunId'>;

/** A list in a file that only its owner can read. It is read each time: a command or another dashboard may have changed it. */
function openKeptList<Entry extends { readonly name: string }>(
  { workspaceDir, state: { locks }, newRunId }: KeptListContext,
  { kind, file: name, entry, max }: KeptListOptions<Entry>,
) {
  const file = join(workspaceDir, '.storeferry', name);
  const schema = z.object({ version: z.literal(1), [kind]: z.unknown() });
  const entriesSchema = z.array(entry);
  const one = kind === 'people' ? 'person' : 'token';
  const list = (): readonly Entry[] => {
    try {
      return entriesSchema.parse(schema.parse(JSON.parse(readFileSync(file, 'utf8')))[kind]);
    } catch (cause) {
      if (errorCode(cause) === 'ENOENT') return [];
      const hint = `Remove it, and make new ${kind}: storeferry ${kind}`;
      // Without the folder of the workspace: visitors see it before they have signed in.
      throw new UsageError(`.storeferry/${name}: the ${kind} of the dashboard cannot be read.`, {
        cause,
        hint,
      });
    }
  };
  const change = async (changed: (entries: readonly Entry[]) => readonly Entry[]) => {
    const holder = { job: kind, run: newRunId() };
    const lock = { signal: AbortSignal.timeout(LOCK_WITHIN_MS), onWait() {} };
    await using _lock = await locks.acquire(file, holder, lock);
    const entries = changed(list());
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeWhole(file, [`${JSON.stringify({ version: 1, [kind]: entries }, null, 2)}\n`], {
      mode: 0o600,
    });
  };
  const unknown = (wanted: string) =>
    new UsageError(`There is no ${one} ${wanted}.`, { hint: `\`storeferry ${kind}\` lists them.` });
  return {
    list,
    /** UsageError for a name that is taken. */
    add: async (made: Entry): Promise<void> =>
      await change((entries) => {
        if (entries.some((known) => known.name === made.name))
          throw new UsageError(`There is a ${one} ${made.name} already.`, {
            hint: `Remove it first, or choose another name. \`storeferry ${kind}\` lists them.`,
          });
        if (entries.length >= max)
          throw new UsageError(`There are ${max} ${kind}.`, { hint: 'Remove those that are not used.' });
        return [...entries, made];
      }),
    /** Removes the entries that match, if there are any. */
    removeAll: async (matches: (known: Entry) => boolean): Promise<void> => {
      if (list().some(matches)) await change((entries) => entries.filter((known) => !matches(known)));
    },
    /** UsageError if there is none of this name. */
    replace: async (wanted: string, by: (known: Entry) => Entry | undefined): Promise<void> =>
      await change((entries) => {
        if (entries.every((known) => known.name !== wanted)) throw unknown(wanted);
        return entries.flatMap((known) => (known.name === wanted ? (by(known) ?? []) : known));
      }),
  };
}

const LOCK_WITHIN_MS = 10_000;

const personSchema = z.strictObject({
  name: keptName,
  role: z.enum(ROLES),
  /** Milliseconds since the epoch. */
  madeAt: z.number(),
  /** Absent: the person signs in by the proxy alone. */
  password: z.strictObject({ salt: z.string(), hash: z.string() }).exactOptional(),
});

/** Somebody who signs in by name. */
export type Person = Readonly<z.infer<typeof personSchema>>;

/** A new person; an empty password: signs in by the proxy alone. */
interface NewPerson {
  readonly name: string;
  readonly role: Role;
  readonly password: string;
}

const MAX_PEOPLE = 500;
export const MIN_PASSWORD = 12;
const MAX_PASSWORD = 200;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** 32 MiB and about a quarter of a second for each guess. */
const COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1_024 * 1_024 };
/** Guesses wait for each other, so that they take one core and 32 MiB; more than this many are refused at once. */
const MAX_WAITING = 20;

const derive = promisify<string, string, number, ScryptOptions, Buffer>(scrypt);
let waiting = 0;
let turn: Promise<unknown> = Promise.resolve();

/** The people who sign in to the dashboard by name. */
function openPeople(context: KeptListContext, { revokeBeyond }: ReturnType<typeof openApiTokens>) {
  const { list, add, replace } = openKeptList(context, {
    kind: 'people',
    file: 'people.json',
    entry: personSchema,
    max: MAX_PEOPLE,
  });
  /** The person of this name, in any case. */
  const find = (name: string): Person | undefined => list().find((known) => known.name === nameOf(name));
  const withPassword = async (person: Omit<Person, 'password'>, password: string): Promise<Person> => {
    if (password === '') return person;
    if (password.length < MIN_PASSWORD || password.length > MAX_PASSWORD)
      throw new UsageError(`A password has ${MIN_PASSWORD} to ${MAX_PASSWORD} characters.`);
    const salt = randomBytes(SALT_BYTES).toString('base64url');
    return { ...person, password: { salt, hash: await hashPassword(password, salt) } };
  };
  return {
    list,
    find,
    /** Nobody where the file is damaged: the tokens go on working. */
    known(): readonly Person[] {
      try {
        return list();
      } catch {
        return [];
      }
    },
    /** The person whose password this is. It takes as long for a name that is not known. */
    async signIn(name: string, password: string): Promise<Person | undefined> {
      const person = find(name);
      const { salt, hash } = person?.password ?? { salt: '', hash: '' };
      const given = await hashPassword(password.slice(0, MAX_PASSWORD + 1), salt);
      return sameText(given, hash) ? person : undefined;
    },
    /** UsageError for a name that is taken, or is no name, and for a password that is too short. */
    async add({ name, role, password }: NewPerson): Promise<void> {
      const person = { name: nameOf(name), role, madeAt: context.clock() };
      if (!personSchema.safeParse(person).success)
        throw new UsageError('A person needs a name.', {
          hint: "At most 64 letters, digits, '.', '_', '-', '@' and '+', such as an e-mail address.",
        });
      await add(await withPassword(person, password));
    },
    /** Revokes the tokens that the person has made for more than this role. UsageError if there is none. */
    async setRole(name: string, role: Role): Promise<void> {
      await replace(nameOf(name), (person) => ({ ...person, role }));
      await revokeBeyond(nameOf(name), role);
    },
    /** Ends the sessions of the person. UsageError if there is none, or the password is too short. */
    async setPassword(name: string, password: string): Promise<void> {
      const { password: _, ...person } = find(name) ?? { name: nameOf(name), role: 'view', madeAt: 0 };
      const { password: made } = await withPassword(person, password);
      await replace(person.name, ({ password: _old, ...known }) => ({
        ...known,
        ...(made !== undefined && { password: made }),
      }));
    },
    /** Ends the sessions of the person, and revokes the tokens that the person has made. UsageError if there is none. */
    async remove(name: string): Promise<void> {
      await replace(nameOf(name), () => undefined);
      await revokeBeyond(nameOf(name), null);
    },
  };
}

/** What sessions of a person begin with: another password, or another person of the name, ends them. */
export function signOf({ name, madeAt, password }: Person): string {
  return hashToken(JSON.stringify([name, madeAt, password?.hash ?? null]));
}

/** Names are compared without case: proxies give addresses as people typed them. */
function nameOf(name: string) {
  return name.trim().toLowerCase();
}

async function hashPassword(password: string, salt: string) {
  if (waiting >= MAX_WAITING)
    throw new UsageError('Too many people sign in now.', { hint: 'Try again in a minute.' });
  waiting++;
  const derived = turn.then(() => derive(password.normalize('NFKC'), salt, HASH_BYTES, COST));
  turn = derived.catch(() => {});
  try {
    return (await derived).toString('base64url');
  } finally {
    waiting--;
  }
}

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
const TOKEN_BYTES = 24;
const DAY_MS = 86_400_000;

/** The tokens by which programs use the API. */
function openApiTokens(context: KeptListContext) {
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
