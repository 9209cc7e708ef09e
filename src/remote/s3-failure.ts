import { isPassingStatus } from '../model/retry-after.ts';
import { connectionFailure, failureWithin } from './connection-failure.ts';
import { RemoteFailure } from './remote-failure.ts';

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function statusOf(error: unknown): number | undefined {
  const status = field(field(error, '$metadata'), 'httpStatusCode');
  return typeof status === 'number' ? status : undefined;
}

const KEYS_HINT = 'Check the access key, its secret, and the permissions of the key in this bucket.';

/** The failure of a request to S3. Only codes are kept: messages of S3 quote keys and signatures. */
export function s3Failure(error: unknown): RemoteFailure {
  const ours = failureWithin(error);
  if (ours !== undefined) return ours;
  const status = statusOf(error);
  if (status === undefined) return connectionFailure(error);
  const code = error instanceof Error ? error.name.replaceAll(/[^\w.-]/g, '').slice(0, 60) : '';
  const answer = code === '' || /^\d/.test(code) ? String(status) : `${status} ${code}`;
  const of = (kind: RemoteFailure['kind'], message: string, hint?: string) =>
    new RemoteFailure(kind, message, { status, ...(hint === undefined ? {} : { hint }) });
  if (code === 'NoSuchBucket') return of('final', 'there is no such bucket', 'Check its name.');
  if (code === 'RequestTimeTooSkewed') {
    return of('final', 'the clock of this machine is wrong, according to the server', 'Set the clock right.');
  }
  switch (status) {
    case 301:
    case 307:
    case 308:
    case 400:
      return of(
        'final',
        `the server refuses the request (${answer})`,
        'Check `region` and `endpoint`: a bucket answers only in its own region.',
      );
    case 401:
    case 403:
      return of('final', `the server refuses access (${answer})`, KEYS_HINT);
    case 404:
      return of('absent', `there is no such object (${answer})`, 'Check bucket and key.');
    case 409:
    case 412:
      return of('changed', `it was changed by somebody else in the meantime (${answer})`);
    default:
      return of(isPassingStatus(status) ? 'passing' : 'final', `the server answers ${answer}`);
  }
}
