import { Readable } from 'node:stream';
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { Upload as MultipartUpload } from '@aws-sdk/lib-storage';
import type { S3Address } from '../model/remote-address.ts';
import { connectS3, PART_BYTES, S3_TIMEOUTS, type S3Timeouts } from './connect-s3.ts';
import { chosen, isPattern, type Listed, matchesPattern, splitPath } from './name-pattern.ts';
import type { RemoteClient } from './remote-client.ts';
import { RemoteFailure } from './remote-failure.ts';
import { s3Failure } from './s3-failure.ts';

/** Retrying is done by retrying.ts, alike for every kind of address; a part of an upload is retried here. */
const ATTEMPTS = 3;

/** Reads and writes objects in a store that speaks the protocol of S3. */
export function s3Client(at: S3Address, timeouts: S3Timeouts = S3_TIMEOUTS): RemoteClient {
  const client = connectS3(at, ATTEMPTS, timeouts);
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
        if (unless !== null && error instanceof RemoteFailure && error.status === 304)
          return { kind: 'unchanged' };
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
