import { TOO_MANY_ROWS } from '../../model/input-limits.ts';
import type { Mapped, Resource } from '../../model/mapped-record.ts';
import type { DuplicatesPolicy } from '../../model/plan.ts';
import type { Reason } from '../../model/reason.ts';
import { type CopyReasonCode, copyReason } from './copy-reasons.ts';
import type { Copy, CopyGroup } from './copy-spool.ts';
import { mergeContacts } from './merge-contacts.ts';

/** How many copies a message names by their lines. */
const COPIES_NAMED = 3;

/** What becomes of a copy: sent, rejected or left out. Together the copies of a key count as one record. */
export interface ResolvedCopy {
  readonly item: Mapped;
  readonly records: 0 | 1;
}

/** What decides about copies. */
export interface CopyRules {
  readonly duplicates: DuplicatesPolicy;
  readonly resource: Resource;
  /** More copies of one contact are a wrong mapping, not a list with repetitions. */
  readonly mostMerged: number;
}

/**
 * What becomes of the copies of one key. Identical copies are harmless: one is sent. Copies that may be parts of one
 * record are all rejected. Else the policy decides: it chooses among all copies, those that cannot be mapped
 * included, since sending another one than the policy names would be a guess.
 */
export function* resolveCopies(
  group: CopyGroup,
  { duplicates: policy, resource, mostMerged }: CopyRules,
): Generator<ResolvedCopy> {
  const reason = (code: CopyReasonCode) =>
    copyReason(code, {
      resource,
      copies: group.copies,
      mostMerged,
      firstSpans: Iterator.from(group.read())
        .take(COPIES_NAMED)
        .flatMap((copy) => copy.spans.slice(0, 1))
        .toArray(),
    });
  if (group.copies === 1) {
    for (const item of group.read()) yield { item, records: 1 };
  } else if (group.identical) {
    yield* keepOne(group, 0, reason('identical-copy'));
  } else if (group.anyTorn) {
    yield* rejectAll(group, reason('rows-not-adjacent'), true);
  } else {
    switch (policy) {
      case 'reject':
        yield* rejectAll(group, reason('duplicate-key'));
        break;
      case 'first':
        yield* keepOne(group, 0, reason('earlier-copy-kept'));
        break;
      case 'last':
        yield* keepOne(group, group.copies - 1, reason('later-copy-kept'));
        break;
      case 'merge':
        yield* merge(group, reason, mostMerged);
        break;
      default:
        policy satisfies never;
    }
  }
}

/** Sends or rejects the copy at `kept`, and skips the others. */
function* keepOne(group: CopyGroup, kept: number, reason: Reason): Generator<ResolvedCopy> {
  let index = 0;
  for (const copy of group.read()) {
    if (index === kept) yield { item: copy, records: 1 };
    else yield { item: { ...rowsOf(copy), kind: 'skipped', reason }, records: 0 };
    index++;
  }
}

/** Rejects every copy; one that has a reason of its own keeps it, unless the common reason explains it. */
function* rejectAll(group: CopyGroup, reason: Reason, explainsAll = false): Generator<ResolvedCopy> {
  let records: 0 | 1 = 1;
  for (const copy of group.read()) {
    const keepsOwn = copy.kind === 'rejected' && (!explainsAll || copy.reason.code === TOO_MANY_ROWS);
    const own = keepsOwn ? copy.reason : reason;
    yield { item: { ...rowsOf(copy), kind: 'rejected', reason: own }, records };
    records = 0;
  }
}

function* merge(
  group: CopyGroup,
  reason: (code: CopyReasonCode) => Reason,
  mostMerged: number,
): Generator<ResolvedCopy> {
  if (group.copies > mostMerged) {
    yield* rejectAll(group, reason('too-many-copies'));
  } else if (group.anyRejected) {
    yield* rejectAll(group, reason('copy-rejected'));
  } else {
    const records = [...group.read()].filter((copy) => copy.kind === 'record');
    yield { item: mergeContacts(group.key, records), records: 1 };
  }
}

function rowsOf({ key, rows, spans }: Copy): Pick<Copy, 'key' | 'rows' | 'spans'> {
  return { key, rows, spans };
}
