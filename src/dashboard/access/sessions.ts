import { hash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { writeWhole } from '../../config/edit-file.ts';
import type { Role } from '../../model/action.ts';
import type { OwnAddresses } from '../dashboard-context.ts';
import { fileStamp, HASH, hashToken } from './tokens.ts';

/** A session ends after this time without a request. */
export const IDLE_MS = 2 * 60 * 60_000;
/** The maximum duration of a session: a working day. */
export const MAX_SESSION_MS = 12 * 60 * 60_000;
/**
 * The most sessions of one token or person at a time; a new one ends the least recently used one. Counted by token, so
 * that sign-ins with the read-only token end no session with full access.
 */
const MAX_PER_TOKEN = 100;
/** The most ended sessions that are remembered, because each sign-in beyond the most of a token ends one. */
const MAX_ENDED = 10_000;
const ID_BYTES = 32;
/** How often the time of the last request of sessions is kept, at most. */
const SAVE_EVERY_MS = 60_000;
/** If the clock was set back by more than this, the idle time of a session is unknown, so the session ends. */
const MAX_CLOCK_SETBACK_MS = 60_000;

/** A signed-in browser. */
export interface Session extends Viewer {
  readonly id: string;
  /** Of a program, whose token may expire or be revoked. */
  readonly isOver?: () => boolean;
  /** The person that a proxy named. */
  readonly byProxy?: string | undefined;
}

const keptSchema = z.array(
  z.strictObject({
    /** Of the id, which only the browser has: who reads this cannot use the session. */
    hash: HASH,
    /** The hash of the token with which it began, or the sign of the person: new ones end it. */
    by: HASH,
    /** Milliseconds since the epoch. */
    begunAt: z.number(),
    seenAt: z.number(),
    timezone: z.string().optional(),
    /** The address of the browser. */
    address: z.string().optional(),
    /** The person that a proxy named; the session is valid only where it names the person again. */
    byProxy: z.string().optional(),
  }),
);
/** A session as it outlives the process. */
type KeptSession = z.infer<typeof keptSchema>[number];

/** A session in memory; undefined until a browser comes with the id of a kept one. */
type OpenSession = KeptSession & { session?: Session };

/** Who has signed in, and what he may do now. */
export type Identity = Pick<Viewer, 'who' | 'role' | 'names'>;

/** A new session. */
type NewSession = Pick<KeptSession, 'by' | 'timezone' | 'address' | 'byProxy'>;

/** Where sessions outlive the process. */
type SessionStore = ReturnType<typeof openSessionFile>;

/** The signed-in browsers. */
export type Sessions = ReturnType<typeof createSessions>;

/** Starts with the kept sessions; `clock` gives milliseconds since the epoch, `identify` whose sessions begin with this hash, if it is valid. */
export function createSessions(
  clock: () => number,
  identify: (by: string) => Identity | undefined,
  { kept, save, changes }: Pick<SessionStore, 'kept' | 'save'> & Partial<SessionStore> = {
    kept: [],
    save: () => {},
  },
) {
  const byHash = new Map<string, OpenSession>(kept.map((session) => [session.hash, { ...session }]));
  const listeners = new Set<(session: Session) => void>();
  let savedAt = clock();
  const saveAll = () => {
    savedAt = clock();
    save([...byHash.values()].map(({ session: _, ...one }) => one));
  };
  /** When sessions were ended here: another dashboard that saves just then must not bring them back. */
  const endedAt = new Map<string, number>();
  const forget = ({ hash, session }: OpenSession) => {
    if (!byHash.delete(hash)) return false;
    const now = clock();
    endedAt.set(hash, now);
    // In the order of time, so that a search ends at the first that is kept.
    for (const [old, at] of endedAt) {
      if (now - at <= MAX_SESSION_MS && endedAt.size <= MAX_ENDED) break;
      endedAt.delete(old);
    }
    if (session !== undefined) for (const listener of listeners) listener(session);
    return true;
  };
  const remove = (entry: OpenSession) => {
    if (forget(entry)) saveAll();
  };
  const revoke = (hash: string) => {
    const entry = byHash.get(hash);
    if (entry !== undefined) remove(entry);
  };
  /** Takes over what other dashboards have done, so that a session which is ended in one is over in all. */
  const followOthers = () => {
    const others = changes?.();
    if (others === undefined) return;
    const isEnded = ({ hash }: KeptSession) => endedAt.has(hash);
    for (const one of others.begun) if (!isEnded(one)) byHash.set(one.hash, { ...one });
    for (const { hash, seenAt } of others.kept) {
      const entry = byHash.get(hash);
      if (entry !== undefined) entry.seenAt = Math.max(entry.seenAt, seenAt);
    }
    for (const hash of others.ended) {
      const entry = byHash.get(hash);
      if (entry !== undefined) forget(entry);
    }
    if (others.begun.some(isEnded)) saveAll();
  };
  const isRecent = ({ begunAt, seenAt }: OpenSession, now: number) =>
    now - begunAt < MAX_SESSION_MS && now - seenAt < IDLE_MS && seenAt - now < MAX_CLOCK_SETBACK_MS;
  /** The sessions that have not ended, with whose they are; removes the others. */
  const valid = (now: number) => {
    followOthers();
    const all = [...byHash.values()];
    // Once for all sessions of one, because it may read a file.
    const identities = new Map([...new Set(all.map(({ by }) => by))].map((by) => [by, identify(by)]));
    return all.flatMap((entry) => {
      const identity = isRecent(entry, now) ? identities.get(entry.by) : undefined;
      if (identity === undefined) remove(entry);
      return identity === undefined ? [] : [{ entry, identity }];
    });
  };
  /** The role of a person may have changed since the last request. */
  const open = (entry: OpenSession, id: string, identity: Identity) => {
    const { timezone, byProxy } = entry;
    if (entry.session?.role !== identity.role)
      entry.session = { id, csrfToken: csrfTokenOf(id), ...identity, timezone, byProxy };
    return entry.session;
  };
  return {
    /** A session of an identity that is valid now. */
    begin(begun: NewSession): Session {
      const now = clock();
      const { by } = begun;
      const identity = identify(by);
      if (identity === undefined) throw new Error('No such identity.');
      const alike = valid(now).flatMap(({ entry }) => (entry.by === by ? entry : []));
      if (alike.length >= MAX_PER_TOKEN)
        remove(alike.reduce((one, other) => (other.seenAt < one.seenAt ? other : one)));
      const id = randomBytes(ID_BYTES).toString('base64url');
      const entry: OpenSession = { hash: hashToken(id), ...begun, begunAt: now, seenAt: now };
      byHash.set(entry.hash, entry);
      saveAll();
      return open(entry, id, identity);
    },
    /** The unexpired session with this id. `seen` records use by a person. */
    find(id: string | undefined, seen: boolean): Session | undefined {
      if (id === undefined) return undefined;
      followOthers();
      const entry = byHash.get(hashToken(id));
      if (entry === undefined) return undefined;
      const now = clock();
      const identity = isRecent(entry, now) ? identify(entry.by) : undefined;
      if (identity === undefined) {
        remove(entry);
        return undefined;
      }
      if (seen) entry.seenAt = now;
      if (now - savedAt >= SAVE_EVERY_MS) saveAll();
      return open(entry, id, identity);
    },
    end: (id: string): void => revoke(hashToken(id)),
    /** The sessions that have not ended, the last used first. */
    list() {
      return valid(clock())
        .map(({ entry: { hash, begunAt, seenAt, address, byProxy }, identity }) => {
          return { ...identity, hash, begunAt, seenAt, address, byProxy };
        })
        .sort((one, other) => other.seenAt - one.seenAt);
    },
    /** Ends a session by its hash, as `list` names it. */
    revoke,
    /** Calls a listener with each session that ends; one that is merely too old ends when it is looked for. */
    onEnd: (listener: (session: Session) => void) => void listeners.add(listener),
  };
}

/** The cookie of a session. */
export function sessionCookie(addresses: OwnAddresses, cookieName: string) {
  const options = ({ headers }: FastifyRequest) => ({
    httpOnly: true,
    sameSite: 'strict' as const,
    secure: addresses.isSecure(headers.host ?? ''),
    path: '/',
  });
  return {
    set: (request: FastifyRequest, reply: FastifyReply, { id }: Session) =>
      reply.setCookie(cookieName, id, options(request)),
    clear: (request: FastifyRequest, reply: FastifyReply) => reply.clearCookie(cookieName, options(request)),
  };
}

/** Single sign-on by the header of a proxy; without one, nothing is believed. */
export interface ProxySignIn {
  /** Whether a session that the proxy began is still that of the person whom it names. */
  readonly confirms: (request: FastifyRequest, session: Session) => boolean;
  /** Begins a session for the person whom the proxy names; null where it names nobody. */
  readonly begin: (request: FastifyRequest, reply: FastifyReply) => Promise<Session | null>;
}

/** The token of the forms of a session: it follows from the id, and does not lead to it. */
function csrfTokenOf(id: string) {
  return hash('sha256', `form ${id}`, 'base64url');
}

/** A file of sessions, which only its owner can read. Without a readable one everybody signs in again after a restart. */
export function openSessionFile(file: string, onError: (error: unknown) => void) {
  let saving = Promise.resolve();
  let next: readonly KeptSession[] | undefined;
  let isSaving = false;
  let stamp = fileStamp(file);
  let known: readonly KeptSession[] = readSessions(file) ?? [];
  const isIn = (some: readonly KeptSession[], { hash }: KeptSession) => some.some((one) => one.hash === hash);
  // Another dashboard of the workspace keeps its sessions in this file: what it added stays, what it ended goes.
  const withOthers = (own: readonly KeptSession[]) => {
    // A damaged file ends nothing.
    const kept = readSessions(file) ?? known;
    const stay = own.filter((one) => isIn(kept, one) || !isIn(known, one));
    return [...stay, ...kept.filter((one) => !isIn(own, one) && !isIn(known, one))];
  };
  const write = async () => {
    const own = next;
    next = undefined;
    if (own === undefined) return;
    await writeWhole(file, [JSON.stringify(withOthers(own))], { mode: 0o600 });
    known = own;
  };
  return {
    kept: known,
    save(sessions: readonly KeptSession[]): void {
      if (next === undefined) {
        isSaving = true;
        saving = saving
          .then(write)
          .catch(onError)
          .finally(() => {
            isSaving = next !== undefined;
          });
      }
      next = sessions;
    },
    /**
     * What other dashboards of the workspace have written since the last call, with what they have begun and the hashes of
     * what they have ended; undefined if they have not.
     */
    changes() {
      const found = fileStamp(file);
      // What is about to be written is merged with the file then.
      if (isSaving || found === stamp) return undefined;
      stamp = found;
      const kept = readSessions(file);
      if (kept === undefined) return undefined;
      const begun = kept.filter((one) => !isIn(known, one));
      const ended = known.filter((one) => !isIn(kept, one)).map(({ hash }) => hash);
      known = kept;
      return { kept, begun, ended };
    },
    saved: () => saving,
  };
}

function readSessions(file: string): readonly KeptSession[] | undefined {
  try {
    return keptSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/** A signed-in visitor, or a program with a token of the API. */
export interface Viewer {
  /** The person, or the token by which it was let in, for the audit log. */
  readonly who: string;
  /** What the person or the token may do now: pages have only its buttons, and everything else is refused. */
  readonly role: Role;
  /** By which names the person is known; none for a token that people share. */
  readonly names: readonly string[];
  /** Belongs to the session; every form must send it (the field `CSRF_FIELD`). */
  readonly csrfToken: string;
  /** The time zone of the browser; undefined if it has not said it. */
  readonly timezone?: string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The visitor of this request. Throws on public routes: the sign-in page, the assets, `/healthz`. */
    viewer: Viewer;
  }
}
