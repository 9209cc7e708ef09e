import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Readable } from 'node:stream';
import {
  type _Object,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload as MultipartUpload } from '@aws-sdk/lib-storage';
import type { RemoteAddress, S3Place } from '../model/remote-address.ts';
import { guardedLookup, refusePrivateHost } from './guarded-lookup.ts';
import { filesAt, type Listed, matchesPattern, refuseEndlessListing, splitPath } from './matches-pattern.ts';
import {
  changedByOther,
  connectionFailure,
  findRemoteFailure,
  isTransientStatus,
  permanentFailure,
  type RemoteClient,
  RemoteFailure,
  transientFailure,
  type Upload,
} from './remote-client.ts';
import { CONNECTION_TIMEOUTS, type ConnectionTimeouts } from './remote-deadlines.ts';

/** An object in S3, or in a service with the same protocol. */
export interface S3Address extends Omit<RemoteAddress, 'endpoint'>, S3Place {
  readonly kind: 's3';
  /** `*` in its last part matches any text, in sources. */
  readonly key: string;
  /** Of several objects, only the one written last. */
  readonly newest: boolean;
}

/** The library retries parts of an upload; `retrying` retries whole calls, for every kind of address. */
const ATTEMPTS = 3;

/** Reads and writes objects in a service with the protocol of S3. */
export function s3Client(at: S3Address, timeouts: S3Timeouts = CONNECTION_TIMEOUTS): RemoteClient {
  const client = connectS3(at, ATTEMPTS, timeouts);
  const { bucket: Bucket, key } = at;

  async function list(signal: AbortSignal) {
    const { folder, name } = splitPath(key);
    const Prefix = folder + name.slice(0, name.indexOf('*'));
    const listed: Listed[] = [];
    let [entries, pages] = [0, 0];
    for await (const page of listPages(client, { Bucket, Prefix, Delimiter: '/' }, signal)) {
      entries += page.length;
      pages += 1;
      refuseEndlessListing(entries, pages);
      for (const { Key: path = '', LastModified } of page) {
        if (!matchesPattern(path.slice(folder.length), name)) continue;
        listed.push({ path, writtenAt: LastModified?.getTime() ?? 0 });
      }
    }
    return listed;
  }

  async function store(Key: string, upload: Upload, signal: AbortSignal, more: object) {
    const abort = new AbortController();
    const giveUp = () => abort.abort();
    signal.addEventListener('abort', giveUp, { once: true });
    const sending = new MultipartUpload({
      client,
      partSize: PART_BYTES,
      abortController: abort,
      params: { Bucket, Key, Body: upload.open(), ...more },
    });
    try {
      signal.throwIfAborted();
      await asS3Failure(sending.done(), signal);
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  return {
    find: (signal) => filesAt({ ...at, path: key }, () => list(signal)),
    async get({ path }, { signal, unless }) {
      try {
        const command = new GetObjectCommand({
          Bucket,
          Key: path,
          ...(unless !== null && { IfNoneMatch: unless }),
        });
        const answer = await asS3Failure(client.send(command, { abortSignal: signal }), signal);
        const { Body, ContentLength = null, ETag = null } = answer;
        if (!(Body instanceof Readable)) throw transientFailure('the answer has no content');
        return { kind: 'content', content: Body, size: ContentLength, version: ETag };
      } catch (error) {
        if (unless !== null && error instanceof RemoteFailure && error.status === 304)
          return { kind: 'unchanged' };
        throw error;
      }
    },
    put: (upload, { signal, ifVersion }) => store(key, upload, signal, conditionOf(ifVersion)),
    inFolder: {
      // A broken upload leaves no object.
      sweep: async () => {},
      async sizeOf(name, signal) {
        const command = new HeadObjectCommand({ Bucket, Key: `${key}/${name}` });
        const asked = asS3Failure(client.send(command, { abortSignal: signal }), signal);
        return (await asked.catch(unlessAbsent))?.ContentLength ?? null;
      },
      put: (name, upload, { signal, type }) => store(`${key}/${name}`, upload, signal, { ContentType: type }),
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

/** Uploads of unknown length are sent in parts of this size; each part can be retried. */
const PART_BYTES = 8 * 1024 * 1024;

/** The timeouts that the library knows. */
type S3Timeouts = Omit<ConnectionTimeouts, 'headersMs'>;

/** The library's client for a bucket, with this many attempts per request. Nothing is connected yet. */
function connectS3(at: S3Place, attempts: number, timeouts: S3Timeouts = CONNECTION_TIMEOUTS) {
  const { endpoint, region, credentials, pathStyle, allowPrivateAddresses } = at;
  const { connectMs, silenceMs } = timeouts;
  const { sessionToken, ...keys } = credentials;
  const agent = { keepAlive: true, lookup: guardedLookup(allowPrivateAddresses) };
  const named = endpoint === null ? undefined : new URL(endpoint).hostname;
  // `lookup` checks names; IP addresses are not looked up, so they are checked here.
  const guarded = <A extends HttpAgent>(made: A) => {
    const connectTo = made.createConnection.bind(made);
    made.createConnection = (options, done) => {
      refusePrivateHost(options.host ?? '', allowPrivateAddresses, named);
      return connectTo(options, done);
    };
    return made;
  };
  const client = new S3Client({
    region,
    ...(endpoint !== null && { endpoint }),
    forcePathStyle: pathStyle,
    credentials: { ...keys, ...(sessionToken !== null && { sessionToken }) },
    // Few services besides Amazon accept checksums in trailers.
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
  // Closest to the connection: before the library collects the answer in memory.
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        const { response } = result;
        const body = field(response, 'body');
        const isContent = commandName === 'GetObjectCommand' && field(response, 'statusCode') === 200;
        if (!isContent && isObject(response) && body instanceof Readable)
          Reflect.set(response, 'body', Readable.from(boundedAnswer(body), { objectMode: false }));
        return result;
      },
    { step: 'deserialize', priority: 'low', name: 'boundAnswers' },
  );
  return client;
}

/** A page of 1,000 keys of the greatest length, escaped, is smaller. The library takes a second for each MiB of entities. */
const MAX_ANSWER_BYTES = 7 * 1024 * 1024;

async function* boundedAnswer(body: Readable): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw permanentFailure(
        `the server answers more than ${MAX_ANSWER_BYTES} bytes`,
        'Check whether a service with the protocol of S3 answers at `endpoint`.',
      );
    yield piece;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function field(value: unknown, name: string): unknown {
  return isObject(value) ? Reflect.get(value, name) : undefined;
}

function statusOf(error: unknown) {
  const status = field(field(error, '$metadata'), 'httpStatusCode');
  return typeof status === 'number' ? status : undefined;
}

const KEYS_HINT = 'Check the access key, its secret, and the permissions of the key in this bucket.';

/** The listed objects, page by page. */
async function* listPages(
  client: S3Client,
  which: Omit<ListObjectsV2CommandInput, 'ContinuationToken'>,
  signal?: AbortSignal,
): AsyncGenerator<readonly _Object[]> {
  let next: string | undefined;
  do {
    const command = new ListObjectsV2Command({ ...which, ContinuationToken: next });
    const page = await asS3Failure(client.send(command, signal && { abortSignal: signal }), signal);
    yield page.Contents ?? [];
    const before = next;
    next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    if (next !== undefined && next === before)
      throw permanentFailure('the listing never ends: each page names itself as the next');
  } while (next !== undefined);
}

/** The failure of a request to S3. Only codes are kept: messages of S3 quote keys and signatures. */
function s3Failure(error: unknown) {
  const ours = findRemoteFailure(error);
  if (ours !== undefined) return ours;
  const status = statusOf(error);
  if (status === undefined) return connectionFailure(error);
  const code = error instanceof Error ? error.name.replaceAll(/[^\w.-]/g, '').slice(0, 60) : '';
  const answer = code === '' || /^\d/.test(code) ? String(status) : `${status} ${code}`;
  const of = (kind: RemoteFailure['kind'], message: string, hint?: string) =>
    new RemoteFailure(kind, message, { status, hint });
  if (code === 'NoSuchBucket') return of('permanent', 'there is no such bucket', 'Check its name.');
  if (code === 'RequestTimeTooSkewed') {
    return of(
      'permanent',
      'the clock of this machine is wrong, according to the server',
      'Correct the clock.',
    );
  }
  switch (status) {
    case 301:
    case 307:
    case 308:
    case 400:
      return of(
        'permanent',
        `the server refuses the request (${answer})`,
        'Check `region` and `endpoint`: a bucket answers only in its own region.',
      );
    case 401:
    case 403:
      return of('permanent', `the server refuses access (${answer})`, KEYS_HINT);
    case 404:
      return of('absent', `there is no such object (${answer})`, 'Check bucket and key.');
    case 409:
    case 412:
      return changedByOther(answer, status);
    default:
      return of(isTransientStatus(status) ? 'transient' : 'permanent', `the server answers ${answer}`);
  }
}

/** About 6 s with the library's waits, which double from 0.1 s: uploaded content is not kept for longer retries. */
const OBJECT_ATTEMPTS = 8;
/** The most consecutive resumed reads without a byte. */
const FRUITLESS_READS = 4;
/** Parts in progress at once: they are kept in memory. */
const PARTS_AT_ONCE = 2;
/** One request each: stores other than Amazon's differ about requests that delete many. */
const REMOVED_AT_ONCE = 16;

/** Opens the objects of a bucket, by key; nothing is connected yet. Calls reject with RemoteFailure after all retries. */
export function s3Objects(at: S3Place, attempts = OBJECT_ATTEMPTS) {
  const client = connectS3(at, attempts);
  const { bucket: Bucket } = at;

  async function open(Key: string, from = 0, version?: string) {
    const rest = from === 0 ? {} : { Range: `bytes=${from}-` };
    const same = version === undefined ? {} : { IfMatch: version };
    const { Body, ETag, ContentRange } = await asS3Failure(
      client.send(new GetObjectCommand({ Bucket, Key, ...rest, ...same })),
    );
    if (!(Body instanceof Readable)) throw transientFailure('the answer has no content');
    // Without a listener, a connection that breaks before reading begins would end the process.
    Body.on('error', () => {});
    // Some servers ignore these conditions.
    const other = version !== undefined && ETag !== version;
    if (other || (from > 0 && ContentRange === undefined)) {
      Body.destroy();
      throw other
        ? new RemoteFailure('changed', 'it was replaced during reading')
        : transientFailure('the connection was lost, and the store does not support resuming');
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
      const asked = asS3Failure(client.send(new HeadObjectCommand({ Bucket, Key })));
      return (await asked.catch(unlessAbsent)) !== undefined;
    },
    /** All keys with this prefix. */
    async list(Prefix: string): Promise<string[]> {
      const keys: string[] = [];
      for await (const page of listPages(client, { Bucket, Prefix })) {
        for (const { Key } of page) if (Key !== undefined) keys.push(Key);
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

/** The answer to a request. Rejects with RemoteFailure, or with the reason of the signal that ended it. */
async function asS3Failure<Answer>(asked: Promise<Answer>, signal?: AbortSignal) {
  try {
    return await asked;
  } catch (error) {
    signal?.throwIfAborted();
    throw s3Failure(error);
  }
}

function unlessAbsent(error: unknown): undefined {
  if (!(error instanceof RemoteFailure && error.kind === 'absent')) throw error;
}
