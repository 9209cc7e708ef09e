import { setImmediate } from 'node:timers/promises';
import type { DeferredRecord, Mapped } from '../model/mapped-record.ts';
import type { DuplicatesFound, DuplicatesPolicy } from '../model/plan.ts';
import { removePlanFiles } from './files/remove-plan-files.ts';
import type { HashKey, KeySet } from './key-set.ts';
import { type DraftOptions, PlanDraft } from './plan-draft.ts';
import { SourcePass } from './source-pass.ts';

/** How far planning has come: rows read, and the distinct keys among them. */
export interface PlanProgress {
  readonly rows: number;
  readonly keys: number;
}

/** What drafting needs besides the ledger and the folder. */
export interface DraftPlanOptions extends DraftOptions {
  /** Reads the source again from its beginning; the same each time. */
  readonly openMapped: () => AsyncIterable<readonly (Mapped | DeferredRecord)[]>;
  readonly duplicates: DuplicatesPolicy;
  /** The most copies of one key that are merged. */
  readonly mostMerged: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: PlanProgress) => void;
  readonly hashKey?: HashKey | undefined;
}

/** A draft that has taken the whole source. */
export interface FullDraft {
  readonly draft: PlanDraft;
  readonly rows: number;
  /** Every key of the source, of skipped and rejected rows too. */
  readonly seen: KeySet;
  readonly duplicates: DuplicatesFound | null;
}

/** Between so many copies, signals and locks get their turn. */
const COPIES_AT_ONCE = 500;

/**
 * Drafts the plan in one pass over the source, on the assumption that no key repeats. When one does, its first copy
 * may have been compared and written already: then that draft is given up, the rest of the source is only searched
 * for further repetitions, and a second pass holds back the copies of repeated keys until all of them are known.
 */
export async function draftPlan(options: DraftPlanOptions): Promise<FullDraft> {
  const { draft, pass } = await passOver(options, null);
  if (pass.repeated.size === 0) return { draft, rows: pass.rows, seen: pass.seen, duplicates: null };
  await draft.abandon();
  const second = await passOver(options, pass.repeated);
  const { rows, seen, duplicates } = second.pass;
  return { draft: second.draft, rows, seen, duplicates };
}

async function passOver(
  options: DraftPlanOptions,
  repeated: KeySet | null,
): Promise<{ readonly draft: PlanDraft; readonly pass: SourcePass }> {
  await removePlanFiles(options.folder);
  const draft = new PlanDraft(options);
  using pass = new SourcePass(draft, options, repeated);
  try {
    for await (const batch of options.openMapped()) {
      options.signal.throwIfAborted();
      for (const item of batch) {
        pass.take(item);
        if (draft.full) await draft.drain();
      }
      options.onProgress({ rows: pass.rows, keys: pass.seen.size });
    }
    let resolved = 0;
    for (const copy of pass.heldBack()) {
      pass.resolve(copy);
      if (draft.full) await draft.drain();
      if (++resolved % COPIES_AT_ONCE === 0) {
        await setImmediate();
        options.signal.throwIfAborted();
      }
    }
    return { draft, pass };
  } catch (error) {
    await draft.abandon();
    throw error;
  }
}
