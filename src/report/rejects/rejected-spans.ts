import type { Reason } from '../../model/reason.ts';
import { type RowSpan, rowPlace, type TablePlaces } from '../../model/row.ts';

/** Rows that were refused together: by the mapping, or by the store. */
export interface Rejection {
  readonly spans: readonly RowSpan[];
  readonly reason: Reason;
  /** Null when it cannot be read; left out when it says nothing about what may be retried. */
  readonly key?: string | null;
}

/** How the rows of a file of the snapshot are named, where it is no text with lines. */
type PlacesOf = (file: number) => TablePlaces | undefined;

const MOST_REASONS = 5;
const LONGEST_REASON = 1000;

/**
 * Which rows are rejected, and why: up to millions of spans in any order, overlapping as they like, kept as numbers.
 * Reasons are kept once each.
 */
export class RejectedSpans {
  #file = new Uint32Array(1024);
  #from = new Float64Array(1024);
  #to = new Float64Array(1024);
  #reason = new Uint32Array(1024);
  #count = 0;
  readonly #reasons: KeptReason[] = [];
  readonly #reasonIds = new Map<string, number>();
  readonly #placesOf: PlacesOf;

  constructor(placesOf: PlacesOf = () => undefined) {
    this.#placesOf = placesOf;
  }

  add({ spans, reason }: Rejection): void {
    const id = this.#idOf(reason, this.#placesOf(spans[0]?.file ?? 0));
    for (const { file, from, to } of spans) {
      if (this.#count === this.#file.length) this.#double();
      this.#file[this.#count] = file;
      this.#from[this.#count] = from;
      this.#to[this.#count] = to;
      this.#reason[this.#count] = id;
      this.#count += 1;
    }
  }

  /** The reasons for the rows of one file, to be asked for line after line; undefined when it has no rejected row. */
  sweep(file: number): RejectedLines | undefined {
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
      lastLine,
      at: (line) => {
        let expired = false;
        for (; next < found && (from[sorted[next] ?? 0] ?? 0) <= line; next += 1)
          active.push(sorted[next] ?? 0);
        for (const index of active) if ((this.#to[index] ?? 0) < line) expired = true;
        if (expired) active = active.filter((index) => (this.#to[index] ?? 0) >= line);
        return active.length === 0 ? undefined : this.#joined(active, line);
      },
    };
  }

  #joined(active: readonly number[], line: number): string {
    const ids = [...new Set(active.map((index) => this.#reason[index] ?? 0))];
    const texts = ids.slice(0, MOST_REASONS).map((id) => textAt(this.#reasons[id], line));
    if (ids.length > MOST_REASONS) texts.push(`${ids.length - MOST_REASONS} more`);
    return texts.join(' / ');
  }

  #idOf(reason: Reason, places: TablePlaces | undefined): number {
    const text = reasonText(reason, places);
    const known = this.#reasonIds.get(text);
    if (known !== undefined) return known;
    this.#reasonIds.set(text, this.#reasons.length);
    const { line, ...placeless } = reason;
    return (
      this.#reasons.push({ text, line, atLine: line === undefined ? text : reasonText(placeless, places) }) -
      1
    );
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
  /** Where its cause is. */
  readonly line: number | undefined;
  /** The text for the row that is the cause: that row's own column says which line it is. */
  readonly atLine: string;
}

function textAt(reason: KeptReason | undefined, line: number): string {
  if (reason === undefined) return '';
  return reason.line === line ? reason.atLine : reason.text;
}

/** The rejected rows of one file. */
export interface RejectedLines {
  /** Behind this line there are none. */
  readonly lastLine: number;
  /** Why the row that starts on this line is rejected; undefined when it is not. Lines are asked for in their order. */
  at(line: number): string | undefined;
}

/** A reason as one cell says it: with the place of its cause. */
function reasonText({ message, line, column }: Reason, places: TablePlaces | undefined): string {
  const row = line === undefined ? undefined : rowPlace(line, column, places);
  const place = [
    row,
    column === undefined || `${message}${row}`.includes(column) ? undefined : `column ${column}`,
  ].filter((part) => part !== undefined);
  return `${message}${place.length === 0 ? '' : ` (${place.join(', ')})`}`.slice(0, LONGEST_REASON);
}
