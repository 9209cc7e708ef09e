import { randomBytes } from 'node:crypto';

/** A session ends after this time without a request. */
export const IDLE_MS = 2 * 60 * 60_000;
/** The maximum duration of a session: a working day. */
export const MAX_SESSION_MS = 12 * 60 * 60_000;
/**
 * The most sessions of one token at a time; a new one ends the least recently used one. Counted by token, so that
 * sign-ins with the read-only token end no session with full access.
 */
const MAX_PER_TOKEN = 100;
const ID_BYTES = 32;
/** If the clock was set back by more than this, the idle time of a session is unknown, so the session ends. */
const MAX_CLOCK_SETBACK_MS = 60_000;

/** A signed-in browser. */
export interface Session extends Viewer {
  readonly id: string;
  readonly begunAt: number;
  /** Milliseconds since the epoch. */
  seenAt: number;
  /** Of a program, whose token may expire or be revoked. */
  readonly isOver?: () => boolean;
}

/** The signed-in browsers. They are kept in memory, so a restart signs everybody out. */
export type Sessions = ReturnType<typeof createSessions>;

/** Starts without sessions; `clock` gives milliseconds since the epoch. */
export function createSessions(clock: () => number) {
  const byId = new Map<string, Session>();
  const listeners = new Set<(session: Session) => void>();
  const remove = (session: Session) => {
    if (byId.delete(session.id)) for (const listener of listeners) listener(session);
  };
  const expired = ({ begunAt, seenAt }: Session, now: number) =>
    now - begunAt >= MAX_SESSION_MS || now - seenAt >= IDLE_MS || seenAt - now >= MAX_CLOCK_SETBACK_MS;
  return {
    begin(canAct: boolean): Session {
      const now = clock();
      for (const session of byId.values()) if (expired(session, now)) remove(session);
      const alike = [...byId.values()].filter((session) => session.canAct === canAct);
      if (alike.length >= MAX_PER_TOKEN)
        remove(alike.reduce((one, other) => (other.seenAt < one.seenAt ? other : one)));
      const who = canAct ? 'full token' : 'read-only token';
      const session = { id: random(), csrfToken: random(), who, canAct, begunAt: now, seenAt: now };
      byId.set(session.id, session);
      return session;
    },
    /** The unexpired session with this id. `seen` records use by a person. */
    find(id: string | undefined, seen: boolean): Session | undefined {
      const session = id === undefined ? undefined : byId.get(id);
      if (session === undefined) return undefined;
      const now = clock();
      if (expired(session, now)) {
        remove(session);
        return undefined;
      }
      if (seen) session.seenAt = now;
      return session;
    },
    end(id: string): void {
      const session = byId.get(id);
      if (session !== undefined) remove(session);
    },
    /** Calls a listener with each session that ends; one that is merely too old ends when it is looked for. */
    onEnd: (listener: (session: Session) => void) => void listeners.add(listener),
  };
}

function random(): string {
  return randomBytes(ID_BYTES).toString('base64url');
}

/** A signed-in visitor, or a program with a token of the API. */
export interface Viewer {
  /** By what it was let in, for the audit log. */
  readonly who: string;
  /** False with the read-only token: its pages have no buttons, and every change is refused. */
  readonly canAct: boolean;
  /** Belongs to the session; every form must send it (the field `CSRF_FIELD`). */
  readonly csrfToken: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The visitor of this request. Throws on public routes: the sign-in page, the assets, `/healthz`. */
    viewer: Viewer;
  }
}
