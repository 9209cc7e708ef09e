import { errorCode, RemoteFailure } from './remote-failure.ts';

/** The failure of a connection. */
export function connectionFailure(error: unknown): RemoteFailure {
  const inner = failureWithin(error);
  if (inner !== undefined) return inner;
  const code = errorCode(error);
  const of = (kind: 'passing' | 'final', message: string, hint?: string) =>
    new RemoteFailure(kind, message, { cause: error, ...(hint === undefined ? {} : { hint }) });
  switch (code) {
    case 'ENOTFOUND':
      return of('final', 'there is no host of this name', 'Check the address.');
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
      return of('passing', 'its content is shorter than the length that the server announced');
    default:
      return /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|EPROTO)/.test(code)
        ? of(
            'final',
            `the certificate of the server is not trusted (${code})`,
            'Renew the certificate. For a private CA set NODE_EXTRA_CA_CERTS.',
          )
        : of('passing', `the connection failed (${code})`);
  }
}

/** A RemoteFailure among the causes of a library's error, such as a refused private address. */
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
