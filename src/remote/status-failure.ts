import { isPassingStatus, retryAfterMs } from '../model/retry-after.ts';
import { RemoteFailure } from './remote-failure.ts';

/** 425 Too Early: the server does not risk a replay yet, so the request is sent again. */
const TOO_EARLY = 425;

const LOGIN_HINT = 'Check `headers` or `auth` beside the address, and the variables that they name.';

/** The failure of a refused request, from its status, and how long to wait, from `Retry-After`. */
export function statusFailure(status: number, retryAfter: string | null): RemoteFailure {
  switch (status) {
    case 401:
    case 403:
      return new RemoteFailure('final', `the server refuses access (${status})`, { hint: LOGIN_HINT });
    case 407:
      return new RemoteFailure('final', 'a proxy in between asks for a password (407)');
    case 404:
    case 410:
      return new RemoteFailure('absent', `there is no such file (${status})`, {
        hint: 'Check the address, and whether the file exists yet.',
      });
    case 412:
    case 409:
      return new RemoteFailure('changed', `it was changed by somebody else in the meantime (${status})`);
    default:
      return isPassingStatus(status) || status === TOO_EARLY
        ? new RemoteFailure('passing', `the server answers ${status}`, waiting(retryAfter))
        : new RemoteFailure('final', `the server answers ${status}`);
  }
}

function waiting(retryAfter: string | null): { retryAfterMs?: number } {
  const ms = retryAfterMs(retryAfter ?? undefined, Date.now());
  return ms === undefined ? {} : { retryAfterMs: ms };
}
