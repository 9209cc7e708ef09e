import type { Reason } from '../model/reason.ts';
import { Unreadable } from './values/cell.ts';

/** The faults of a record of many rows that its rejection names. */
const MAX_FAULTS = 50;

/**
 * The faults of the record that is being mapped. At first it is left at its first fault; then it is built once more, and each field
 * that cannot be read counts as absent, so that a person sees all faults at once.
 */
export class Faults {
  #found: Unreadable[] | undefined;

  /** For a pass over fields: the names of those to leave out, because they cannot be read. Undefined while none is left out. */
  begin(): Set<string> | undefined {
    return this.#found === undefined ? undefined : new Set();
  }

  /** Takes the error of a field: the pass begins again without the field, or the error is thrown. */
  leaveOut(unread: Set<string> | undefined, field: string, error: unknown): void {
    if (!(error instanceof Unreadable)) throw error;
    error.in(field);
    if (this.#found === undefined || unread === undefined || unread.has(field)) throw error;
    unread.add(field);
    this.#found.push(error);
  }

  /** The result of `read`; where that fails while faults are collected, those of `others` are taken, too. */
  alsoOf<Result>(read: () => Result, others: () => unknown): Result {
    if (this.#found === undefined) return read();
    try {
      return read();
    } catch (error) {
      others();
      throw error;
    }
  }

  /** The reason of a rejection with all faults, which `build` shows when it is called again. */
  all(first: Reason, build: () => unknown, fallbackLine: number | undefined): Reason {
    const found: Unreadable[] = [];
    this.#found = found;
    try {
      build();
    } catch (error) {
      // What fields make together says nothing where some of them are missing.
      if (!(error instanceof Unreadable)) throw error;
    } finally {
      this.#found = undefined;
    }
    const named = new Set([nameOf(first)]);
    const also: Reason[] = [];
    for (const fault of found) {
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
