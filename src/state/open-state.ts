import type { ArtifactsPlace } from '../model/remote-address.ts';
import type { StateError } from '../model/storeferry-error.ts';
import type { Artifacts } from './artifacts.ts';
import { folderArtifacts } from './folder-artifacts.ts';
import { s3Artifacts } from './s3-artifacts.ts';
import type { StateCheck } from './sqlite/open-state-database.ts';
import type { State } from './state.ts';

/** Which state to open, and where. */
export interface StateOptions {
  /** `REDIS_URL`: the state is shared there. Undefined or empty: it is embedded, in SQLite. */
  readonly redisUrl?: string | undefined;
  /** The workspace's `.storeferry` folder, for the embedded state. */
  readonly dir: string;
  /** Where witnesses are written; for the embedded state beside it when left out. */
  readonly artifacts?: Artifacts | undefined;
  /** Before every key in Redis; `storeferry` by default. */
  readonly prefix?: string | undefined;
  /** How long a shared lock outlives its last renewal; undefined: the default. */
  readonly leaseMs?: number | undefined;
  /** How long a command waits for Redis; undefined: the default of the command line. */
  readonly commandTimeoutMs?: number | undefined;
  /** Done while the state opens: SQLite's thread takes as long to start as the modules of a run to load. */
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
  /** Called with what is wrong with a shared record that cannot be read and is left out. */
  readonly onUnreadable?: ((problem: StateError) => void) | undefined;
}

/** Opens the embedded or the shared state. StateError when it cannot be used; close it by `await using`. */
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
 * Reads all of the embedded state of a folder (`.storeferry`) once, which keeps this thread busy for as long. StateError when it
 * is damaged or cannot be used.
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
