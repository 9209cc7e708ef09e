import { z } from 'zod';
import type { DeferredRecord, Mapped, Resource } from '../model/mapped-record.ts';
import { APPLIED_SINCE, IN_DOUBT_SINCE, KEY_NOT_REJECTED, type Reason } from '../model/reason.ts';
import type { RowSpan } from '../model/row.ts';
import type { Run } from '../model/run.ts';
import { SourceError } from '../model/storeferry-error.ts';
import type { CorrectedRejects } from '../rejects/corrected-rejects.ts';
import { REFUSALS, refusedCellWords } from '../rejects/judge-cell.ts';
import type { RejectedKey } from '../rejects/rejects-file.ts';
import { sealedFile } from '../state/artifacts.ts';
import { IN_DOUBT, type Ledger, type LedgerMark } from '../state/state.ts';
import type { OwnDoubts } from './own-doubts.ts';

const rejectedKey = z.tuple([z.string(), z.string()]) satisfies z.ZodType<RejectedKey>;
const guardSchema = z.strictObject({
  retryOf: z.string(),
  /** The rejected keys, with the position of the ledger at that time. */
  keys: z.array(rejectedKey),
  /** The position of the ledger when the run had ended: that of rows without a key. */
  endPosition: z.string(),
  /** Rows of the snapshot, as file and line, that were rejected without a key. */
  keyless: z.array(z.tuple([z.int(), z.int()])),
  /** Rows of the snapshot that must not be sent, with the reason. */
  refused: z.array(
    z.strictObject({
      file: z.int(),
      line: z.int(),
      code: z.string().default(REFUSALS.damaged.code),
      column: z.string(),
      message: z.string(),
    }),
  ),
});

/** Decides which records of its snapshot a retry may send. */
export type RetryGuard = z.infer<typeof guardSchema>;

/** The guard for a retry of this run. */
export function retryGuardOf(
  { id, endPosition = '' }: Run,
  corrected: Pick<CorrectedRejects, 'keys' | 'keyless' | 'refused'>,
  resource: Resource,
): RetryGuard {
  const { keys, keyless, refused } = corrected;
  return {
    retryOf: id,
    endPosition,
    keys: [...keys],
    keyless: keyless.map(({ file, line }) => [file, line]),
    refused: refused.map(({ file, line, cell }) => ({
      file,
      line,
      code: REFUSALS[cell.why].code,
      column: cell.column,
      message: refusedCellWords(cell, resource === 'contacts'),
    })),
  };
}

/** Writes the guard of a retry beside its snapshot, and reads it: StateError if it is missing or damaged. */
export const { write: saveRetryGuard, read: loadRetryGuard } = sealedFile(
  'retry.json',
  guardSchema,
  'is damaged',
  'Retry again: it is written again.',
);

/** Whether a run has sent what this retry sends: one that was killed, or a retry whose own rejects are retried. */
export function isAttemptOf({ retryOf: of }: RetryGuard): (run: Pick<Run, 'id' | 'retryOf'>) => boolean {
  return ({ id, retryOf }) => retryOf === of || id === of;
}

type Item = Mapped | DeferredRecord;

type Verdict =
  | { readonly kind: 'passed' }
  | { readonly kind: 'rejected' | 'skipped'; readonly key: string | null; readonly reason: Reason };

interface RetryFacts {
  readonly isUpdate: boolean;
  readonly isLatest: boolean;
  /** The key that a contact had before it had the key of its id. */
  readonly keyWhenNew: ((key: string) => string | undefined) | undefined;
}

/**
 * Accepts the records that the retry may send: records with a rejected key, and records without a readable key before
 * that are not acknowledged for another record. Records of which another run has written or confirmed a version since are skipped, whatever
 * their values are now; all others are rejected, also those that another run of the job has left in doubt since (`doubtsOf`).
 * `isLatest`: neither the job nor another one that may have sent the same fields has run since. Then what others have written is no newer
 * version: of an update, the products that it could not change. SourceError if no record of the file was rejected: then it is another file.
 */
export async function* guardRetry(
  batches: AsyncIterable<readonly Item[]>,
  guard: RetryGuard,
  ledger: Pick<Ledger, 'marks' | 'writtenSince'>,
  doubtsOf: (keys: readonly string[]) => Promise<OwnDoubts>,
  { isUpdate, isLatest, keyWhenNew }: RetryFacts,
): AsyncGenerator<readonly Item[]> {
  const known = new Map(guard.keys);
  const positionOf = (key: string) => known.get(key) ?? known.get(keyWhenNew?.(key) ?? '');
  const keyless = placesByLine(guard.keyless.map(([file, line]) => ({ file, line })));
  const refused = placesByLine(guard.refused);
  let familiar = false;
  let strange = 0;

  const judge = (
    item: Item,
    key: string,
    mark: LedgerMark | undefined,
    since: 'written' | 'in-doubt' | undefined,
  ): Verdict => {
    const { spans } = item;
    const before = positionOf(key);
    if (before === undefined) {
      // An update is known by its rows: whatever was corrected in them, it changes a product that is there.
      const hadNoKey = isUpdate
        ? spans.every((span) => within(keyless, [span]) !== undefined)
        : within(keyless, spans) !== undefined;
      familiar ||= hadNoKey;
      if (!hadNoKey || (mark !== undefined && !isUpdate)) {
        strange += 1;
        return { kind: 'rejected', key: hadNoKey ? null : key, reason: notRejected(guard, spans) };
      }
    } else {
      familiar = true;
    }
    const isOlder = isLatest && (before === undefined || !isUpdate);
    if (since === 'written' && !isOlder) return { kind: 'skipped', key, reason: writtenSince(guard, spans) };
    // What an update may have written is not known, and would be sent as it was before.
    if (since === 'in-doubt' || (since === 'written' && mark?.fingerprint === IN_DOUBT))
      return { kind: 'rejected', key, reason: inDoubtSince(guard, spans) };
    const cell = within(refused, spans);
    if (cell === undefined || item.kind === 'rejected') return { kind: 'passed' };
    const { code, message, line, column } = cell;
    return { kind: 'rejected', key, reason: { code, message, line, column } };
  };

  const writtenKeys = async (keys: readonly string[]): Promise<ReadonlySet<string>> => {
    const byPosition = Map.groupBy(keys, (key) => positionOf(key) ?? guard.endPosition);
    const found = await Promise.all([...byPosition].map(([since, some]) => ledger.writtenSince(since, some)));
    return new Set(found.flatMap((some) => [...some]));
  };

  for await (const batch of batches) {
    const keys = batch.flatMap(({ kind, key }) => (kind === 'skipped' || key === null ? [] : [key]));
    const marks = (await ledger.marks(keys)).values();
    const written = await writtenKeys(keys);
    const { attempted, others } = await doubtsOf([...written]);
    const since = (key: string) => {
      if (!written.has(key) || attempted.has(key)) return undefined;
      return others.has(key) ? 'in-doubt' : 'written';
    };
    yield batch.map((item) => {
      if (item.kind === 'skipped' || item.key === null) {
        familiar ||=
          item.key === null ? within(keyless, item.spans) !== undefined : positionOf(item.key) !== undefined;
        return item;
      }
      const verdict = judge(item, item.key, marks.next().value, since(item.key));
      if (verdict.kind === 'passed') return item;
      const { rows, spans } = item;
      return { ...verdict, rows, spans };
    });
  }
  if (strange > 0 && !familiar) throw otherFile(guard, strange);
}

const notRejected = refusal(
  KEY_NOT_REJECTED,
  (run) =>
    `run ${run} did not reject a record of this key, and a retry sends only rejected records: restore the key, or correct the source and run the job`,
);
const writtenSince = refusal(
  APPLIED_SINCE,
  (run) => `another run has sent this key since run ${run} rejected it, or has found it unchanged`,
);
const inDoubtSince = refusal(
  IN_DOUBT_SINCE,
  (run) =>
    `another run has begun to send this key since run ${run} rejected it, without an answer: run the job, and correct the rejects of that run`,
);

function refusal(code: string, message: (run: string) => string) {
  return ({ retryOf }: RetryGuard, [first]: readonly RowSpan[]): Reason => ({
    code,
    message: message(retryOf),
    ...(first && { line: first.from }),
  });
}

function otherFile({ retryOf }: RetryGuard, records: number) {
  const none = records === 1 ? 'The only record' : `None of the ${records} records`;
  return new SourceError(
    `${none} in the rejects file was ${records === 1 ? 'not ' : ''}rejected by run ${retryOf}.`,
    {
      hint: 'It is another file, or the keys were changed. Correct the rejects file of this run, or correct the source and run the job.',
    },
  );
}

/** Places by their file and line. */
function placesByLine<Place extends { readonly file: number; readonly line: number }>(
  places: readonly Place[],
): ReadonlyMap<string, Place> {
  return new Map(places.map((place) => [`${place.file}:${place.line}`, place]));
}

/** The first place within one of the spans. */
function within<Place>(places: ReadonlyMap<string, Place>, spans: readonly RowSpan[]): Place | undefined {
  if (places.size === 0) return undefined;
  for (const { file, from, to } of spans) {
    for (let line = from; line <= to; line++) {
      const place = places.get(`${file}:${line}`);
      if (place !== undefined) return place;
    }
  }
  return undefined;
}
