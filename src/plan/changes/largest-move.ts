import type { Move } from '../../model/move.ts';

/** Where several fields of a variant move alike, the one that buyers pay is named. */
const PRECEDENCE: readonly string[] = [
  'variants.price',
  'variants.regularPrice',
  'variants.salePrice',
  'variants.quantity',
];

/** How many times as large the larger is: 10 and 1000 are 100 apart, both ways; from or to 0, and across it, infinitely. */
function timesApart({ old, new: now }: Move): number {
  if (old * now <= 0) return Number.POSITIVE_INFINITY;
  const one = Math.abs(old);
  const other = Math.abs(now);
  return Math.max(one, other) / Math.min(one, other);
}

/**
 * Orders moves: the largest for its size first, of equals the one by more; then by key, variant and field, so that
 * the order is the same whatever order they come in.
 */
export function byLargestMove(one: Move, other: Move): number {
  const [ours, theirs] = [timesApart(one), timesApart(other)];
  if (ours !== theirs) return ours > theirs ? -1 : 1;
  const [by, otherBy] = [Math.abs(one.new - one.old), Math.abs(other.new - other.old)];
  if (by !== otherBy) return by > otherBy ? -1 : 1;
  return (
    compared(one.key, other.key) ||
    compared(one.what ?? '', other.what ?? '') ||
    PRECEDENCE.indexOf(one.field) - PRECEDENCE.indexOf(other.field) ||
    one.old - other.old
  );
}

function compared(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
