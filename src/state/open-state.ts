import type { ArtifactsPlace } from '../model/remote-address.ts';
import type { StateError } from '../model/storeferry-error.ts';
import type { Artifacts } from './artifacts.ts';
import { folderArtifacts } from './folder-artifacts.ts';
import { s3Artifacts } from './s3-artifacts.ts';
import type { StateCheck } from './sqlite/open-state-database.ts';
import type { State } from './state.ts';

/** The kind of state to open, and its location. */
export interface StateOptions {
  /** `REDIS_URL`: the shared state. Undefined or empty: the state is embedded, in SQLite. */
  readonly redisUrl?: string | undefined;
  /** The workspace's `.storeferry` folder, for the embedded state. */
  readonly dir: string;
  /** The location of witnesses; default for the embedded state: beside it. */
  readonly artifacts?: Artifacts | undefined;
  /** The prefix of every key in Redis; default: `storeferry`. */
  readonly prefix?: string | undefined;
  /** How long a shared lock remains after its last renewal; undefined: the default. */
  readonly leaseMs?: number | undefined;
  /** How long a command waits for Redis; undefined: the default of the command line. */
  readonly commandTimeoutMs?: number | undefined;
  /** Called while the state opens: starting SQLite's thread takes as long as loading the modules of a run. */
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
  /** Called with the problem of each shared record that cannot be read and is ignored. */
  readonly onUnreadable?: ((problem: StateError) => void) | undefined;
}

/** Opens the embedded or the shared state. StateError if it cannot be used; close it by `await using`. */
export async function openState({
  redisUrl,
  dir,
  artifacts,
  prefix = 'storeferry',
  leaseMs,
  commandTimeoutMs,
  meanwhile,
  onUnreadable,
}: StateOptions): Promise<State> {
  // Only one of them is loaded: the client of Redis alone takes as long as a plan of a hundred rows.
  if (!redisUrl)
    return (await import('./sqlite/open-sqlite-state.ts')).openSqliteState(dir, { artifacts, meanwhile });
  return (await import('./redis/open-redis-state.ts')).openRedisState({
    url: redisUrl,
    prefix,
    artifacts,
    ...(leaseMs === undefined ? {} : { leaseMs }),
    ...(commandTimeoutMs === undefined ? {} : { commandTimeoutMs }),
    ...{ meanwhile, onUnreadable },
  });
}

/**
 * Reads the whole embedded state of a folder (`.storeferry`) once, which blocks this thread. StateError if it is
 * damaged or cannot be used.
 */
export async function checkEmbeddedState(dir: string): Promise<StateCheck> {
  return await (await import('./sqlite/open-state-database.ts')).checkStateDatabase(dir);
}

/** Opens the artifacts at `ARTIFACTS_URL`. Nothing is read or written yet. */
export function openArtifacts(place: ArtifactsPlace): Artifacts {
  switch (place.kind) {
    case 'folder':
      return folderArtifacts(place.path);
    case 's3':
      return s3Artifacts(place);
    default:
      return place satisfies never;
  }
}
