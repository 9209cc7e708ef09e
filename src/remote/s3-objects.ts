import { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { Upload as MultipartUpload } from '@aws-sdk/lib-storage';
import type { S3Place } from '../model/remote-address.ts';
import { RemoteFailure } from './remote-client.ts';
import { connectS3, listPages, PART_BYTES, s3Failure } from './s3-client.ts';

/** About 6 s with the library's waits, which double from 0.1 s: uploaded content is not kept for longer retries. */
const ATTEMPTS = 8;
/** The most consecutive resumed reads without a byte. */
const FRUITLESS_READS = 4;
/** Parts in progress at once: they are kept in memory. */
const PARTS_AT_ONCE = 2;
/** One request each: stores other than Amazon's differ about requests that delete many. */
const REMOVED_AT_ONCE = 16;

/** Opens the objects of a bucket, by key; nothing is connected yet. Calls reject with RemoteFailure after all retries. */
export function s3Objects(at: S3Place, attempts = ATTEMPTS) {
  const client = connectS3(at, attempts);
  const { bucket: Bucket } = at;

  async function open(Key: string, from = 0, version?: string) {
    const rest = from === 0 ? {} : { Range: `bytes=${from}-` };
    const same = version === undefined ? {} : { IfMatch: version };
    const { Body, ETag, ContentRange } = await asS3Failure(
      client.send(new GetObjectCommand({ Bucket, Key, ...rest, ...same })),
    );
    if (!(Body instanceof Readable)) throw new RemoteFailure('passing', 'the answer has no content');
    // Without a listener, a connection that breaks before reading begins would end the process.
    Body.on('error', () => {});
    // Some servers ignore these conditions.
    const other = version !== undefined && ETag !== version;
    if (other || (from > 0 && ContentRange === undefined)) {
      Body.destroy();
      throw other
        ? new RemoteFailure('changed', 'it was replaced during reading')
        : new RemoteFailure('passing', 'the connection was lost, and the store does not support resuming');
    }
    return { body: Body, version: ETag };
  }

  async function* readOn(key: string, { body, version }: Awaited<ReturnType<typeof open>>) {
    let part = body;
    let read = 0;
    for (let fruitless = 0; ; ) {
      try {
        for await (const chunk of part) {
          if (!(chunk instanceof Uint8Array)) throw new TypeError('The library gives no bytes.');
          read += chunk.length;
          fruitless = 0;
          yield chunk;
        }
        return;
      } catch (error) {
        fruitless += 1;
        if (fruitless > FRUITLESS_READS) throw s3Failure(error);
      }
      part = (await open(key, read, version)).body;
    }
  }

  return {
    /** Stores an object of any length completely or not at all. Errors of `content` are rethrown. */
    async put(Key: string, content: AsyncIterable<Uint8Array>): Promise<void> {
      let failed: { readonly error: unknown } | undefined;
      const watched = async function* () {
        try {
          yield* content;
        } catch (error) {
          failed = { error };
          throw error;
        }
      };
      const Body = Readable.from(watched(), { objectMode: false });
      const sending = new MultipartUpload({
        client,
        partSize: PART_BYTES,
        queueSize: PARTS_AT_ONCE,
        params: { Bucket, Key, Body },
      });
      try {
        await sending.done();
      } catch (error) {
        throw failed === undefined ? s3Failure(error) : failed.error;
      } finally {
        Body.destroy();
      }
    },
    /** Resolves when the object is found. Resumes after a broken connection, but never mixes two versions. */
    async get(key: string): Promise<AsyncIterable<Uint8Array>> {
      return readOn(key, await open(key));
    },
    async has(Key: string): Promise<boolean> {
      try {
        await asS3Failure(client.send(new HeadObjectCommand({ Bucket, Key })));
        return true;
      } catch (error) {
        if (error instanceof RemoteFailure && error.kind === 'absent') return false;
        throw error;
      }
    },
    /** All keys with this prefix. */
    async list(Prefix: string): Promise<string[]> {
      const keys: string[] = [];
      try {
        for await (const page of listPages(client, { Bucket, Prefix })) {
          for (const { Key } of page) if (Key !== undefined) keys.push(Key);
        }
      } catch (error) {
        throw s3Failure(error);
      }
      return keys;
    },
    /** Missing objects are not an error. */
    async remove(keys: readonly string[]): Promise<void> {
      for (let first = 0; first < keys.length; first += REMOVED_AT_ONCE) {
        const some = keys.slice(first, first + REMOVED_AT_ONCE);
        await Promise.all(
          some.map((Key) =>
            asS3Failure(client.send(new DeleteObjectCommand({ Bucket, Key }))).catch(unlessAbsent),
          ),
        );
      }
    },
  };
}

async function asS3Failure<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    throw s3Failure(error);
  }
}

function unlessAbsent(error: unknown): void {
  if (!(error instanceof RemoteFailure && error.kind === 'absent')) throw error;
}
