import type { Reason } from '../model/reason.ts';
import type { ProductRows, RecordRows, SourceRow } from './record-rows.ts';
import { attempt, type Expression, Unreadable } from './values/cell.ts';

/** The faults of a record of many rows that its rejection names. */
const MAX_FAULTS = 50;

/**
 * The faults of the record that is being mapped. At first it is left at its first fault; then it is built once more, and each field
 * that cannot be read counts as absent, so that a person sees all faults at once.
 */
export class Faults {
  #found: Unreadable[] | undefined;

  /**
   * The expression of a field: its error gets the name of the field, and the line of a row. While faults are collected, it is taken, and
   * the field is blank.
   */
  field<Result, Of extends RecordRows | SourceRow | ProductRows>(
    name: string,
    read: Expression<Result, Of>,
  ): Expression<Result | undefined, Of> {
    return (of, member) => {
      const found = attempt(read, of, member);
      if (!(found instanceof Unreadable)) return found;
      found.in(name);
      if ('line' in of) found.at(of.line);
      if (this.#found === undefined) throw found;
      this.#found.push(found);
      return undefined;
    };
  }

  /** The result of `read`; where that fails while faults are collected, those of `others` are taken, too. */
  alsoOf<Result>(read: () => Result, others: () => unknown): Result {
    const found = attempt(read, undefined, 0);
    if (!(found instanceof Unreadable)) return found;
    if (this.#found !== undefined) others();
    throw found;
  }

  /** The reason of a rejection with all faults, which `build` shows when it is called again. */
  all(first: Reason, build: () => unknown, fallbackLine: number | undefined): Reason {
    const collected: Unreadable[] = [];
    this.#found = collected;
    // What fields make together says nothing where some of them are missing.
    attempt(build, undefined, 0);
    this.#found = undefined;
    const named = new Set([nameOf(first)]);
    const also: Reason[] = [];
    for (const fault of collected) {
      const reason = fault.reason(fallbackLine);
      if (named.has(nameOf(reason)) || also.length === MAX_FAULTS - 1) continue;
      named.add(nameOf(reason));
      also.push(reason);
    }
    return also.length === 0 ? first : { ...first, also };
  }
}

function nameOf({ code, field, line, column }: Reason): string {
  return JSON.stringify([code, field, line, column]);
}
