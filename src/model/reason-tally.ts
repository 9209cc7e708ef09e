import type { ReasonGroup } from './plan.ts';
import type { Reason } from './reason.ts';
import type { RowSpan } from './row.ts';

/** What a tally counts: anything that was refused or left out, with its rows. */
export interface WithReason {
  /** 1 when not given; 0 for a further copy of a record that was counted already. */
  readonly records?: 0 | 1;
  readonly rows: number;
  readonly spans: readonly RowSpan[];
  readonly reason: Reason;
}

interface OpenGroup {
  code: string;
  message: string;
  field: string | null;
  column: string | null;
  records: number;
  rows: number;
  lines: { file: number; line: number }[];
}

/** How many places a group names. */
export const LINES_KEPT = 5;
/** A store may answer a different sentence to every record: beyond this many, groups are formed by code only. */
const GROUPS_KEPT = 200;

/** Counts refusals by cause, in memory that does not grow with their number. */
export class ReasonTally {
  readonly #groups = new Map<string, OpenGroup>();
  readonly #keyOf: (reason: Reason) => string;

  /** `by` cause: code, field and column, or also the sentence, where a code alone says little (`store-422`). */
  constructor(by: 'cause' | 'message' = 'cause') {
    this.#keyOf =
      by === 'cause'
        ? (reason) => `${reason.code}\n${reason.field ?? ''}\n${reason.column ?? ''}`
        : (reason) => `${reason.code}\n${reason.message}`;
  }

  add(refused: WithReason): void {
    const { reason } = refused;
    const group = this.#groupFor(reason);
    group.records += refused.records ?? 1;
    group.rows += refused.rows;
    const span = refused.spans[0];
    const line = reason.line ?? span?.from;
    if (line !== undefined) addLine(group, { file: span?.file ?? 0, line }, reason.message);
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

/** Keeps the first lines of the source, in its order, and the sentence of the very first, in whatever order they come. */
function addLine(group: OpenGroup, added: OpenGroup['lines'][number], message: string): void {
  const { lines } = group;
  const after = lines.findIndex(
    ({ file, line }) => file > added.file || (file === added.file && line > added.line),
  );
  lines.splice(after < 0 ? lines.length : after, 0, added);
  if (lines.length > LINES_KEPT) lines.pop();
  if (lines[0] === added) group.message = message;
}
