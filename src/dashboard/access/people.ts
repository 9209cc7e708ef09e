import { randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ROLES, type Role } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { openApiTokens } from './api-tokens.ts';
import { type KeptListContext, keptName, openKeptList } from './open-kept-list.ts';
import { hashToken, sameText } from './tokens.ts';

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

/** The people of a workspace. */
export type People = ReturnType<typeof openPeople>;

/** The people who sign in to the dashboard by name. */
export function openPeople(context: KeptListContext) {
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
      await openApiTokens(context).revokeBeyond(nameOf(name), role);
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
      await openApiTokens(context).revokeBeyond(nameOf(name), null);
    },
  };
}

/** What sessions of a person begin with: another password, or another person of the name, ends them. */
export function signOf({ name, madeAt, password }: Person): string {
  return hashToken(JSON.stringify([name, madeAt, password?.hash ?? null]));
}

/** Names are compared without case: proxies give addresses as people typed them. */
function nameOf(name: string): string {
  return name.trim().toLowerCase();
}

async function hashPassword(password: string, salt: string): Promise<string> {
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
