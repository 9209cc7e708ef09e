import { randomBytes } from 'node:crypto';
import type { Viewer } from '../viewer.ts';

/** Without a request for so long, one has to sign in again. */
export const IDLE_MS = 2 * 60 * 60_000;
/** However busy: a working day. */
export const LONGEST_MS = 12 * 60 * 60_000;
/**
 * More at once of one token are nobody's browsers; the one that was used least recently makes room. Counted by token, so
 * that the read-only one ends no session of those who may act.
 */
const MOST_OF_A_TOKEN = 100;
const ID_BYTES = 32;
/** A clock that was put back by more cannot say how long somebody has been idle. */
const PUT_BACK_MS = 60_000;

/** Somebody who has signed in, in one browser. */
export interface Session extends Viewer {
  readonly id: string;
  readonly begunAt: number;
  /** Milliseconds since the epoch. */
  seenAt: number;
}

/** Who is signed in. Kept in memory: a restart signs everybody out. */
export interface Sessions {
  begin(canAct: boolean): Session;
  /** The session of an id that has not expired; with `seen` it is used by a person just now. */
  find(id: string | undefined, seen: boolean): Session | undefined;
  end(id: string): void;
}

/** No sessions yet; `clock` gives milliseconds since the epoch. */
export function createSessions(clock: () => number): Sessions {
  const byId = new Map<string, Session>();
  const expired = ({ begunAt, seenAt }: Session, now: number) =>
    now - begunAt >= LONGEST_MS || now - seenAt >= IDLE_MS || seenAt - now >= PUT_BACK_MS;
  return {
    begin(canAct) {
      const now = clock();
      for (const session of byId.values()) if (expired(session, now)) byId.delete(session.id);
      const alike = [...byId.values()].filter((session) => session.canAct === canAct);
      if (alike.length >= MOST_OF_A_TOKEN) {
        byId.delete(alike.reduce((one, other) => (other.seenAt < one.seenAt ? other : one)).id);
      }
      const session = { id: random(), csrfToken: random(), canAct, begunAt: now, seenAt: now };
      byId.set(session.id, session);
      return session;
    },
    find(id, seen) {
      const session = id === undefined ? undefined : byId.get(id);
      if (session === undefined) return undefined;
      const now = clock();
      if (expired(session, now)) {
        byId.delete(session.id);
        return undefined;
      }
      if (seen) session.seenAt = now;
      return session;
    },
    end: (id) => void byId.delete(id),
  };
}

function random(): string {
  return randomBytes(ID_BYTES).toString('base64url');
}
