import { errorCode, RemoteFailure } from './remote-failure.ts';

const LOGIN_HINT =
  'Look at `headers` or `auth` beside the address, and whether the variables they name are set as they should be.';

/** What a refused request failed by, from its status; `url` gives the way to wait from `Retry-After`. */
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
        hint: 'Look whether the address is right, and whether the file has been made yet.',
      });
    case 412:
    case 409:
      return new RemoteFailure('changed', `it was changed by somebody else in the meantime (${status})`);
    default:
      return isPassing(status)
        ? new RemoteFailure('passing', `the server answers ${status}`, waiting(retryAfter))
        : new RemoteFailure('final', `the server answers ${status}`);
  }
}

function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

function waiting(retryAfter: string | null): { retryAfterMs?: number } {
  if (retryAfter === null) return {};
  const seconds = Number(retryAfter);
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) || ms < 0 ? {} : { retryAfterMs: ms };
}

/** What a connection failed by. */
export function connectionFailure(error: unknown): RemoteFailure {
  const inner = failureWithin(error);
  if (inner !== undefined) return inner;
  const code = errorCode(error);
  const of = (kind: 'passing' | 'final', message: string, hint?: string) =>
    new RemoteFailure(kind, message, { cause: error, ...(hint === undefined ? {} : { hint }) });
  switch (code) {
    case 'ENOTFOUND':
      return of('final', 'there is no host of this name', 'Look whether the address is right.');
    case 'EAI_AGAIN':
      return of('passing', 'the name of the host cannot be resolved now');
    case 'ECONNREFUSED':
      return of('passing', 'nothing listens there');
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
    case 'ETIMEDOUT':
    case 'TimeoutError':
      return of('passing', 'the server does not answer in time');
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      return of('passing', 'its content ends before the length that the server had named');
    default:
      return /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|EPROTO)/.test(code)
        ? of('final', `the server cannot prove who it is (${code})`, 'Its certificate has to be put right.')
        : of('passing', `the connection failed (${code})`);
  }
}

/** A failure of ours that came through a library, such as a refused private address. */
export function failureWithin(error: unknown): RemoteFailure | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof RemoteFailure) return at;
    if (at instanceof AggregateError) {
      const [found] = at.errors.flatMap((each) => failureWithin(each) ?? []);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
