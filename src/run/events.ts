import type { Run, RunProgress, StateLoss } from '../model/run.ts';
import type { LockHolder } from '../state/state.ts';

/** How far a step has come. */
export interface ProgressEvent extends Omit<RunProgress, 'at' | 'applied' | 'rejected'> {
  readonly type: 'progress';
  /** Told while applying. */
  readonly records?: Pick<RunProgress, 'applied' | 'rejected'>;
}

/** What a run tells whoever watches it: terminal, log, dashboard. */
export type RunEvent =
  /** Another run is at work on what this one needs: the store's resource, the file it writes, the planning of its job. */
  | {
      readonly type: 'waiting';
      readonly heldBy: LockHolder | null;
      readonly needs: 'store' | 'destination' | 'plan';
    }
  /** Nobody knows what became of earlier requests: so many operations for the same records wait, for so long. */
  | { readonly type: 'waiting-for-requests'; readonly operations: number; readonly ms: number }
  /** The state does not hold all that was sent, and what may differ is in doubt. */
  | { readonly type: 'state-loss'; readonly loss: StateLoss }
  | { readonly type: 'begun'; readonly run: Run; readonly continued: boolean }
  /** A verification is about to send so many of the records known for its job again. */
  | { readonly type: 'sampled'; readonly run: Run; readonly records: number; readonly known: number }
  /** Whom the job names could not be told how the run ended; `host` is all of their address that may be shown. */
  | { readonly type: 'not-told'; readonly host: string; readonly problem: string }
  /** The page that shows how the run ended could not be written. */
  | { readonly type: 'report-not-written'; readonly problem: string }
  | ProgressEvent;
