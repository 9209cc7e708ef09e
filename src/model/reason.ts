import { z } from 'zod';
import type { Stored } from './json-object.ts';
import { type RowSpan, rowSpanSchema } from './row.ts';

/** One fault of a record. */
const faultSchema = z.object({
  /** Stable and countable, such as `price-not-a-number` or `store-422`. */
  code: z.string(),
  /** What was found, what was expected, what to do. Quotes no personal data. */
  message: z.string(),
  /** The product or contact field concerned, with its path: `variants.price`. */
  field: z.string().exactOptional(),
  /** The source line of the cause, and the header of its column, if there is one. */
  line: z.number().exactOptional(),
  column: z.string().exactOptional(),
});

/** Why a record was refused, by the mapping or by the store: one code per cause, and a sentence for people. */
export const reasonSchema = faultSchema.extend({
  /** The other faults of the record, so that all of them can be corrected at once. */
  also: z.array(faultSchema).exactOptional(),
});
export type Reason = Stored<typeof reasonSchema>;

/** All faults of a reason, the first one first. */
export function faultsOf({ also = [], ...first }: Reason): readonly Reason[] {
  return [first, ...also];
}

/** The reason with the message of each fault changed. */
export function withMessages(reason: Reason, change: (message: string) => string): Reason {
  const [first = reason, ...also] = faultsOf(reason).map((fault) => ({
    ...fault,
    message: change(fault.message),
  }));
  return also.length === 0 ? first : { ...first, also };
}

/** A record that the store refused, with its rows for the rejects file. */
export const refusalSchema = z.object({
  shard: z.int().nonnegative(),
  index: z.int().nonnegative(),
  key: z.string(),
  rows: z.int().nonnegative(),
  spans: z.array(rowSpanSchema),
  reason: reasonSchema,
});
export type Refusal = Stored<typeof refusalSchema>;

/**
 * Codes of reasons for records that cannot be found: contacts that the crosswalk does not know, or cannot look for; products that an
 * update does not find, or finds several of. They may be new to the store.
 */
const UNMATCHED_CODES = [
  'crosswalk-no-match',
  'crosswalk-nothing-to-match',
  'no-match',
  'ambiguous-match',
] as const;

export type UnmatchedCode = (typeof UNMATCHED_CODES)[number];

const codes: ReadonlySet<string> = new Set(UNMATCHED_CODES);

/** Whether the code of a reason is one of these. */
export function isUnmatched(code: string): boolean {
  return codes.has(code);
}

/** The code of a product without any price, which no `skip` of the mapping names: its reason has a field. */
export const NO_PRICE = 'no-price';

/** A figure in records and in the rows they account for. */
export const countSchema = z.object({ records: z.int(), rows: z.int() });
export type Count = Stored<typeof countSchema>;

/** Rejections or skips of one cause. */
export const reasonGroupSchema = countSchema.extend({
  code: z.string(),
  /** Records that have this fault besides the one under which they are counted. */
  also: z.int().exactOptional(),
  /** The sentence of the first of them. */
  message: z.string(),
  field: z.string().nullable(),
  column: z.string().nullable(),
  /** The lines of the first few. */
  lines: z.array(z.object({ file: z.int(), line: z.int() })),
});
export type ReasonGroup = Stored<typeof reasonGroupSchema>;

/** How many places a group names. */
export const LINES_KEPT = 5;

/**
 * A store may answer every record with a different sentence. Above this number of sentences, groups are formed by
 * code only.
 */
const GROUPS_KEPT = 200;

/** The input of a tally: something that was refused or left out, with its rows. */
interface WithReason {
  /** Default: 1; 0 for another copy of a record that was already counted, -1 for one that was counted too much. */
  readonly records?: -1 | 0 | 1;
  readonly rows: number;
  readonly spans: readonly RowSpan[];
  readonly reason: Reason;
}

type OpenGroup = z.infer<typeof reasonGroupSchema>;

/** Counts refusals by cause, in constant memory. */
export class ReasonTally {
  readonly #groups = new Map<string, OpenGroup>();
  readonly #keyOf: (reason: Reason) => string;

  /** Groups `by` cause: code, field and column. Or also by sentence, if a code alone says little (`store-422`). */
  constructor(by: 'cause' | 'message' = 'cause') {
    this.#keyOf =
      by === 'cause'
        ? (reason) => `${reason.code}\n${reason.field ?? ''}\n${reason.column ?? ''}`
        : (reason) => `${reason.code}\n${reason.message}`;
  }

  add(refused: WithReason): void {
    const counted = new Set<OpenGroup>();
    for (const [index, fault] of faultsOf(refused.reason).entries()) {
      const group = this.#groupFor(fault);
      if (index === 0) {
        group.records += refused.records ?? 1;
        group.rows += refused.rows;
      } else if (!counted.has(group)) {
        group.also = (group.also ?? 0) + (refused.records ?? 1);
      }
      counted.add(group);
      const span = refused.spans[0];
      const line = fault.line ?? span?.from;
      if (line !== undefined) addLine(group, { file: span?.file ?? 0, line }, fault.message);
    }
  }

  /** Most frequent first. */
  groups(): ReasonGroup[] {
    return [...this.#groups.values()].sort((a, b) => b.records - a.records || b.rows - a.rows);
  }

  #groupFor(reason: Reason): OpenGroup {
    const exact = this.#keyOf(reason);
    const key = this.#groups.has(exact) || this.#groups.size < GROUPS_KEPT ? exact : reason.code;
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group: OpenGroup = {
      code: reason.code,
      message: reason.message,
      field: reason.field ?? null,
      column: reason.column ?? null,
      records: 0,
      rows: 0,
      lines: [],
    };
    this.#groups.set(key, group);
    return group;
  }
}

/** Keeps the first lines in source order, and the sentence of the very first, in any order of input. */
function addLine(group: OpenGroup, added: OpenGroup['lines'][number], message: string) {
  const { lines } = group;
  const after = lines.findIndex(
    ({ file, line }) => file > added.file || (file === added.file && line > added.line),
  );
  lines.splice(after < 0 ? lines.length : after, 0, added);
  if (lines.length > LINES_KEPT) lines.pop();
  if (lines[0] === added) group.message = message;
}

/** The code of a record that a retry leaves out, because another run has applied its key. */
export const APPLIED_SINCE = 'applied-since';

/** The code of a record that a retry or a release does not send, because an earlier request for its key has no answer. */
export const IN_DOUBT_SINCE = 'in-doubt-since';

/** The code of a record whose key was not among the rejects, so a retry must not send it. */
export const KEY_NOT_REJECTED = 'key-not-rejected';
