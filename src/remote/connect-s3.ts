import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client } from '@aws-sdk/client-s3';
import type { S3Place } from '../model/remote-address.ts';
import { guardedLookup, refusePrivateHost } from './private-addresses.ts';

/** Uploads of unknown length are sent in parts of so many bytes, each of which can be sent again. */
export const PART_BYTES = 8 * 1024 * 1024;

/** Longest waits, in milliseconds. */
export interface S3Timeouts {
  readonly connectMs: number;
  /** In which nothing at all comes or goes. */
  readonly silenceMs: number;
}

export const S3_TIMEOUTS: S3Timeouts = { connectMs: 10_000, silenceMs: 30_000 };

/** The library's client of a bucket; it sends each request so often before it gives up. Nothing is connected yet. */
export function connectS3(at: S3Place, attempts: number, { connectMs, silenceMs }: S3Timeouts): S3Client {
  const { endpoint, region, credentials, pathStyle, allowPrivateAddresses } = at;
  const { sessionToken, ...keys } = credentials;
  const agent = { keepAlive: true, lookup: guardedLookup(allowPrivateAddresses) };
  // Names are checked when they are looked up; addresses are not looked up, wherever the library has them from.
  const guarded = <A extends HttpAgent>(made: A): A => {
    const connectTo = made.createConnection.bind(made);
    made.createConnection = (options, done) => {
      refusePrivateHost(options.host ?? '', allowPrivateAddresses);
      return connectTo(options, done);
    };
    return made;
  };
  return new S3Client({
    region,
    ...(endpoint === null ? {} : { endpoint }),
    forcePathStyle: pathStyle,
    credentials: { ...keys, ...(sessionToken === null ? {} : { sessionToken }) },
    // Checksums in trailers are understood by Amazon and few others.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    requestHandler: {
      connectionTimeout: connectMs,
      socketTimeout: silenceMs,
      httpAgent: guarded(new HttpAgent(agent)),
      httpsAgent: guarded(new HttpsAgent(agent)),
    },
  });
}
