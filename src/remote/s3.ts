import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Readable } from 'node:stream';
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { Upload as MultipartUpload } from '@aws-sdk/lib-storage';
import type { S3Address } from '../model/remote-address.ts';
import { chosen, isPattern, type Listed, matchesPattern, splitPath } from './name-pattern.ts';
import { guardedLookup, refusePrivateHost } from './private-addresses.ts';
import type { RemoteClient } from './remote-client.ts';
import { RemoteFailure } from './remote-failure.ts';
import { s3Failure } from './s3-failure.ts';

const PART_BYTES = 8 * 1024 * 1024;
/** Longest waits, in milliseconds. */
export interface S3Timeouts {
  readonly connectMs: number;
  /** In which nothing at all comes or goes. */
  readonly silenceMs: number;
}

const TIMEOUTS: S3Timeouts = { connectMs: 10_000, silenceMs: 30_000 };

/** Reads and writes objects in a store that speaks the protocol of S3. */
export function s3Client(at: S3Address, timeouts: S3Timeouts = TIMEOUTS): RemoteClient {
  const client = connect(at, timeouts);
  const { bucket: Bucket, key } = at;

  async function send<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      signal.throwIfAborted();
      throw s3Failure(error);
    }
  }

  async function list(signal: AbortSignal): Promise<Listed[]> {
    const { folder, name } = splitPath(key);
    const Prefix = folder + name.slice(0, name.indexOf('*'));
    const listed: Listed[] = [];
    let ContinuationToken: string | undefined;
    do {
      const from = ContinuationToken;
      const page = await send(signal, () =>
        client.send(
          new ListObjectsV2Command({
            Bucket,
            Prefix,
            Delimiter: '/',
            ...(from === undefined ? {} : { ContinuationToken: from }),
          }),
          { abortSignal: signal },
        ),
      );
      for (const { Key: path = '', LastModified } of page.Contents ?? []) {
        if (matchesPattern(path.slice(folder.length), name)) {
          listed.push({ path, writtenAt: LastModified?.getTime() ?? 0 });
        }
      }
      ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
    return listed;
  }

  const locationOf = (path: string) =>
    at.location.slice(0, at.location.lastIndexOf('/') + 1) + splitPath(path).name;
  return {
    async find(signal) {
      if (!isPattern(key)) return [{ location: at.location, path: key }];
      return chosen(await list(signal), at.newest).map(({ path }) => ({ location: locationOf(path), path }));
    },
    async get({ path }, { signal, unless }) {
      try {
        const answer = await send(signal, () =>
          client.send(
            new GetObjectCommand({ Bucket, Key: path, ...(unless === null ? {} : { IfNoneMatch: unless }) }),
            { abortSignal: signal },
          ),
        );
        const { Body, ContentLength = null, ETag = null } = answer;
        if (!(Body instanceof Readable)) throw new RemoteFailure('passing', 'the answer has no content');
        return { kind: 'content', content: Body, size: ContentLength, version: ETag };
      } catch (error) {
        if (error instanceof RemoteFailure && error.status === 304) return { kind: 'unchanged' };
        throw error;
      }
    },
    async put(upload, { signal, ifVersion }) {
      const abort = new AbortController();
      const giveUp = () => abort.abort();
      signal.addEventListener('abort', giveUp, { once: true });
      const sending = new MultipartUpload({
        client,
        partSize: PART_BYTES,
        abortController: abort,
        params: { Bucket, Key: key, Body: upload.open(), ...conditionOf(ifVersion) },
      });
      try {
        signal.throwIfAborted();
        await send(signal, () => sending.done());
      } finally {
        signal.removeEventListener('abort', giveUp);
      }
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
    },
  };
}

function conditionOf(ifVersion: string | null | undefined): { IfMatch?: string; IfNoneMatch?: string } {
  if (ifVersion === undefined) return {};
  return ifVersion === null ? { IfNoneMatch: '*' } : { IfMatch: ifVersion };
}

function connect(at: S3Address, { connectMs, silenceMs }: S3Timeouts): S3Client {
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
    // Retrying is done by retrying.ts, alike for every kind of address; a part of an upload is retried here.
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: connectMs,
      socketTimeout: silenceMs,
      httpAgent: guarded(new HttpAgent(agent)),
      httpsAgent: guarded(new HttpsAgent(agent)),
    },
  });
}
