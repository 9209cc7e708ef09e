import { faultsOf, type Reason } from '../model/reason.ts';
import { type RowSpan, rowPlace, type TablePlaces } from '../model/row.ts';

/** Rows that were refused together, by the mapping or by the store. */
export interface Rejection {
  readonly spans: readonly RowSpan[];
  readonly reason: Reason;
  /** Null if it cannot be read; absent if it says nothing about what may be retried. */
  readonly key?: string | null;
}

/** How rows of a file of the snapshot are identified. */
interface RowNames {
  /** If the file has no text lines. */
  readonly places?: TablePlaces | undefined;
  /** As in a PlanSource. */
  readonly sourceRows?: Readonly<Record<string, string>> | undefined;
}

type NamesOf = (file: number) => RowNames;

const MAX_REASONS = 5;
const MAX_REASON_LENGTH = 1000;

/**
 * The rejected rows and their reasons: up to millions of spans in any order, which may overlap, stored as numbers.
 * Each distinct reason is stored once.
 */
export class RejectedSpans {
  #file = new Uint32Array(1024);
  #from = new Float64Array(1024);
  #to = new Float64Array(1024);
  #reason = new Uint32Array(1024);
  #count = 0;
  readonly #reasons: KeptReason[] = [];
  readonly #reasonIds = new Map<string, number>();
  readonly #namesOf: NamesOf;

  constructor(namesOf: NamesOf = () => ({})) {
    this.#namesOf = namesOf;
  }

  add({ spans, reason }: Rejection): void {
    const names = this.#namesOf(spans[0]?.file ?? 0);
    for (const fault of faultsOf(reason)) this.#add(spans, this.#idOf(fault, names));
  }

  #add(spans: Rejection['spans'], id: number): void {
    for (const { file, from, to } of spans) {
      if (this.#count === this.#file.length) this.#double();
      this.#file[this.#count] = file;
      this.#from[this.#count] = from;
      this.#to[this.#count] = to;
      this.#reason[this.#count] = id;
      this.#count += 1;
    }
  }

  /**
   * The reasons for the rows of one file, to be queried in the order of lines; undefined if the file has no rejected
   * row.
   */
  sweep(file: number) {
    const order = new Uint32Array(this.#count);
    let found = 0;
    for (let index = 0; index < this.#count; index += 1) {
      if (this.#file[index] === file) {
        order[found] = index;
        found += 1;
      }
    }
    if (found === 0) return undefined;
    const from = this.#from;
    const sorted = order.subarray(0, found).sort((a, b) => (from[a] ?? 0) - (from[b] ?? 0) || a - b);
    let lastLine = 0;
    for (const index of sorted) lastLine = Math.max(lastLine, this.#to[index] ?? 0);

    let next = 0;
    let active: number[] = [];
    return {
      /** No rows are rejected after this line. */
      lastLine,
      /** The reason for the row that starts on this line; undefined if it is not rejected. */
      at: (line: number): string | undefined => {
        let expired = false;
        for (; next < found && (from[sorted[next] ?? 0] ?? 0) <= line; next += 1)
          active.push(sorted[next] ?? 0);
        for (const index of active) if ((this.#to[index] ?? 0) < line) expired = true;
        if (expired) active = active.filter((index) => (this.#to[index] ?? 0) >= line);
        return active.length === 0 ? undefined : this.#joined(active, line);
      },
      /** Whether a rejected record begins with the row for which `at` was called last. */
      begins: (line: number): boolean => active.some((index) => from[index] === line),
    };
  }

  #joined(active: readonly number[], line: number): string {
    const ids = [...new Set(active.map((index) => this.#reason[index] ?? 0))];
    const texts = ids.slice(0, MAX_REASONS).map((id) => textAt(this.#reasons[id], line));
    if (ids.length > MAX_REASONS) texts.push(`${ids.length - MAX_REASONS} more`);
    return texts.join(' / ');
  }

  #idOf(reason: Reason, names: RowNames): number {
    const text = reasonText(reason, names);
    const known = this.#reasonIds.get(text);
    if (known !== undefined) return known;
    this.#reasonIds.set(text, this.#reasons.length);
    const { line } = reason;
    const atLine = line === undefined ? text : reasonText(reason, names, { ownLine: true });
    return this.#reasons.push({ text, line, atLine }) - 1;
  }

  #double(): void {
    const size = this.#count * 2;
    const grow = <T extends Uint32Array | Float64Array>(old: T, larger: T): T => {
      larger.set(old);
      return larger;
    };
    this.#file = grow(this.#file, new Uint32Array(size));
    this.#from = grow(this.#from, new Float64Array(size));
    this.#to = grow(this.#to, new Float64Array(size));
    this.#reason = grow(this.#reason, new Uint32Array(size));
  }
}

interface KeptReason {
  readonly text: string;
  /** The position of its cause. */
  readonly line: number | undefined;
  /** The text for the row that is the cause itself: its own column has the line. */
  readonly atLine: string;
}

function textAt(reason: KeptReason | undefined, line: number): string {
  if (reason === undefined) return '';
  return reason.line === line ? reason.atLine : reason.text;
}

/** The text of a reason for a cell, with the position of its cause; `ownLine`: without the line, which another column has. */
function reasonText(
  { message, line, column }: Reason,
  { places, sourceRows }: RowNames,
  { ownLine } = { ownLine: false },
): string {
  const row = line === undefined || ownLine ? undefined : rowPlace(line, column, places);
  const place = [
    row,
    line === undefined ? undefined : sourceRows?.[line],
    column === undefined || `${message}${row}`.includes(column) ? undefined : `column ${column}`,
  ].filter((part) => part !== undefined);
  return `${message}${place.length === 0 ? '' : ` (${place.join(', ')})`}`.slice(0, MAX_REASON_LENGTH);
}
