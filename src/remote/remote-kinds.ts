import { z } from 'zod';
import { addProblem, valueAt } from '../model/json-object.ts';
import type { RemoteAddress, S3Place } from '../model/remote-address.ts';
import { workspacePathSchema } from '../model/remote-address.ts';
import { tableFields as fileOptions } from '../model/row.ts';
import { listed } from '../text/printable.ts';
import { httpKind } from './http-kind.ts';
import { mysqlKind } from './mysql-kind.ts';
import { postgresKind } from './postgres-kind.ts';
import type { DatabaseSession, RemoteClient } from './remote-client.ts';
import type { RemoteKind } from './remote-kind.ts';
import { s3Kind } from './s3-kind.ts';
import { sftpKind } from './sftp-kind.ts';

export { completeS3Place } from './s3-kind.ts';

/** The kinds of files on other machines, by their keys in a source or destination, in the order of the reference. */
export const REMOTE_KINDS = {
  url: httpKind,
  s3: s3Kind,
  sftp: sftpKind,
  postgres: postgresKind,
  mysql: mysqlKind,
} satisfies Readonly<Record<string, RemoteKind>>;

export type RemoteName = keyof typeof REMOTE_KINDS;

type WrittenRemote = z.infer<(typeof REMOTE_KINDS)[RemoteName]['schema']>;

/** The keys by which a job or a mapping names where rows come from or go, one of which is given; a source may have `watch` instead. */
export const PLACES: readonly string[] = ['path', ...Object.keys(REMOTE_KINDS), 'sqlite', 'custom'];

/** The file of a workspace in which its own transforms and sources are. */
export const EXTENSIONS_FILE = 'storeferry.config.ts';

/** The `PLACES` that are databases: a source needs `query`, a destination `table`. */
export const DATABASES: readonly string[] = ['postgres', 'mysql', 'sqlite'];

/** The fields that name a file. */
export type WrittenPlace = {
  readonly path?: string | undefined;
  readonly sqlite?: string;
  readonly custom?: string | undefined;
  readonly watch?: string;
  readonly query?: string | undefined;
} & {
  readonly [Name in RemoteName]?: WrittenRemote | undefined;
};

type RemoteField = z.ZodExactOptional<z.ZodType<WrittenRemote>>;

/** The fields of a source, a table beside it or a destination for files on other machines. */
export function remoteFields(use: 'source' | 'destination'): Readonly<Record<RemoteName, RemoteField>>;
export function remoteFields(use: 'source' | 'destination'): Readonly<Record<string, RemoteField>> {
  return Object.fromEntries(
    Object.entries<RemoteKind>(REMOTE_KINDS).flatMap(([name, { schema, description }]) => {
      const words = description[use];
      return words === null ? [] : [[name, schema.exactOptional().describe(words)]];
    }),
  );
}

/** The fields of a destination that is a table of a database. */
export const tableFields = {
  sqlite: workspacePathSchema
    .exactOptional()
    .describe(
      'A SQLite database. Needs `table`, whose rows are added, or updated by their id, in one transaction.',
    ),
  table: z
    .string()
    .min(1)
    .regex(/^[^\0]+$/)
    .exactOptional()
    .meta({
      description:
        'With a database: the table, which has the columns of the export and a primary key: `id`, for subscriber lists `id` and `read_at`. The schema may stand before it.',
      examples: ['orders', 'shop.orders'],
    }),
  create: z
    .boolean()
    .exactOptional()
    .describe(
      'With a database: creates the table, and columns that it lacks. Their types are those of the values.',
    ),
};

/** The fields of a source that name a database file, the query of any database, and a source of the workspace. */
export const databaseFields = {
  sqlite: workspacePathSchema
    .exactOptional()
    .describe('A SQLite database. Needs `query`, whose rows are read in one snapshot.'),
  custom: z
    .string()
    .exactOptional()
    .describe('A source of `storeferry.config.ts`, by its name: a function that gives the rows.'),
  query: z
    .string()
    .trim()
    .min(1)
    .exactOptional()
    .meta({
      description: 'With a database: the query, whose rows are the rows of the source.',
      examples: ['SELECT sku, title, price FROM products'],
    }),
};

/** Refuses a source, a table beside it or a destination that names no file, or several. */
export function exactlyOnePlace(
  written: WrittenPlace,
  context: z.RefinementCtx,
  places: readonly string[] = PLACES,
  needs: 'query' | 'table' = 'query',
): void {
  const oneOfThem = `give one of ${listed(places)}`;
  const [first, second] = places.filter((name) => valueAt(written, [name]) !== undefined);
  if (first === undefined) addProblem(context, `names no file; ${oneOfThem}`);
  else if (second !== undefined) addProblem(context, `there is ${first} already; ${oneOfThem}`, second);
  const isDatabase = first !== undefined && DATABASES.includes(first);
  if (needs === 'table') return;
  const ofFile = Object.keys(fileOptions).find(
    (name) => (valueAt(written, [name]) ?? 'standard') !== 'standard',
  );
  if (ofFile !== undefined && (isDatabase || first === 'custom'))
    addProblem(context, `\`${ofFile}\` is about files, and ${first} has rows: leave it out`, ofFile);
  if (isDatabase && written.query === undefined)
    addProblem(context, `${first} needs \`query\`, such as SELECT sku, title, price FROM products`);
  if (!isDatabase && written.query !== undefined)
    addProblem(context, `\`query\` is for ${listed(DATABASES)}`, 'query');
}

/** The remote address among the fields that name a file, with its key. */
export function remoteIn(written: WrittenPlace): { name: string; address: WrittenRemote } | undefined {
  const { path: _path, sqlite: _sqlite, custom: _custom, watch: _watch, query: _query, ...remotes } = written;
  const [found] = Object.entries<WrittenRemote | undefined>(remotes).flatMap(([name, address]) =>
    name in REMOTE_KINDS && address !== undefined ? [{ name, address }] : [],
  );
  return found;
}

/** The client of an address; nothing is connected yet, and every call has a deadline. */
export async function openRemote(at: RemoteAddress): Promise<RemoteClient> {
  const client = await kindOf(at).open(at);
  // Loaded on first use, like the clients: every command reads jobs, but few read remote files.
  const { withDeadlines } = await import('./remote-deadlines.ts');
  return withDeadlines(client);
}

/** A session of a database server for writing; its statements have a deadline. Rejects with RemoteFailure, or the signal's reason. */
export async function openSession(at: RemoteAddress, signal: AbortSignal): Promise<DatabaseSession> {
  return await kindOf(at).session(at, signal);
}

/** The fingerprint of the key that an SSH server shows; the library is loaded here. RemoteFailure. */
export async function hostKeyOf(at: RemoteAddress, signal: AbortSignal): Promise<string> {
  const { seenHostKey } = await import('./ssh-connection.ts');
  return await seenHostKey(at, signal);
}

/** The objects of a bucket, by key. */
export type Bucket = Awaited<ReturnType<typeof openBucket>>;

/** Opens a bucket for files of runs; nothing is connected yet, and the library is loaded here. */
export async function openBucket(at: S3Place, attempts?: number) {
  const { s3Objects } = await import('./s3-client.ts');
  return s3Objects(at, attempts);
}

/** Checks image addresses. */
export type ImageChecker = Awaited<ReturnType<typeof openImageChecker>>;

/** Opens a checker of image addresses; the library for requests is loaded here. */
export async function openImageChecker(images: { readonly allowPrivateAddresses: boolean }) {
  const { imageChecker } = await import('./image-checker.ts');
  return imageChecker(images);
}

/** What distinguishes an address from others with the same location. */
export function remoteIdentity(at: RemoteAddress): readonly (string | number | null)[] {
  return kindOf(at).identity(at);
}

/** Whether an unchanged version proves unchanged content. */
export function hasExactVersions(at: RemoteAddress): boolean {
  return kindOf(at).hasExactVersions;
}

function kindOf(at: RemoteAddress) {
  const found = Object.values(REMOTE_KINDS).find(({ kind }) => kind === at.kind);
  if (found === undefined) throw new TypeError(`there is no kind ${at.kind} of remote files`);
  return found;
}
