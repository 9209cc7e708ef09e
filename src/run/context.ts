import type { StoreConfig } from '../config/stores.ts';
import type { Artifacts } from '../state/artifacts.ts';
import type { FileAccess } from '../state/file-access.ts';
import type { State } from '../state/state.ts';
import type { Storefront } from '../storefront/storefront.ts';
import type { RunEvent } from './events.ts';
import type { Redact } from './redacted-state.ts';

/** What a step knows of the watch of its run. */
interface RunWatch {
  /** How long this process and others before have worked on the run, in milliseconds. */
  readonly workedMs: () => number;
  /** Once it resolves, nothing more is written of how far the run is. To be awaited before the end of the run is written. */
  readonly end: () => Promise<void>;
}

/** What the steps of a run need from the process they run in; made once at the edge (cli/, queue/). */
export interface RunContext extends FileAccess {
  readonly state: State;
  readonly artifacts: Artifacts;
  /** The version of Storeferry: part of a run's digest, since another version may plan otherwise. */
  readonly version: string;
  /** How a command for this workspace begins when it is typed, for reports; `storeferry` when left out. */
  readonly program?: string;
  /** Takes secrets out of a text by their values, for all that is stored or told of a run. Left out: there are none. */
  readonly redact?: Redact;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** The watch of the run that is under way (watched-run.ts); absent outside of runs. */
  readonly watch?: RunWatch;
  /** A new run id: short, random, fit for file names. */
  readonly newRunId: () => string;
  /** One client a store and process, so that all work on a store shares its limiter. */
  readonly openStorefront: (store: StoreConfig) => Storefront | Promise<Storefront>;
  readonly onEvent: (event: RunEvent) => void;
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
}
