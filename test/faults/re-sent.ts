import type { LoggedRequest } from '../support/store/request-log.ts';

/** Requests from `since` on that had taken effect before it, in the same night and with the same content. */
export function resentSince(requests: readonly LoggedRequest[], night: number, since: number): number {
  const identity = ({ method, target, bodyHash }: LoggedRequest) => `${method} ${target} ${bodyHash}`;
  const done = new Set(
    requests
      .slice(night, since)
      .filter(({ applied }) => applied)
      .map(identity),
  );
  return new Set(
    requests
      .slice(since)
      .map(identity)
      .filter((request) => done.has(request)),
  ).size;
}
