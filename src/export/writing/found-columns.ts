import { DestinationError } from '../../model/errors.ts';
import { isMembers } from '../exact-json.ts';
import { columnName } from './column-name.ts';

/** More than this are no columns but data, such as ids used as names. */
const MOST_COLUMNS = 2_000;

/**
 * The columns of orders, where the job names none: each field that has a value in some order, nested ones
 * by their path; lists stay whole. In the order of the fields, a field that only later orders have behind the one that
 * it follows there. A field that is null wherever it is not an object has no column besides those of the object.
 */
export class FoundColumns {
  readonly #names: string[] = [];
  readonly #filled = new Map<string, boolean>();
  readonly #parents = new Set<string>();

  /** Looks at one order. DestinationError when there are more columns than any table has. */
  add(order: unknown): void {
    this.#visit(order, null, -1);
  }

  /** The columns of all orders so far. */
  names(): string[] {
    return this.#names.filter((name) => this.#filled.get(name) === true || !this.#parents.has(name));
  }

  /** Gives the position of the last column met. */
  #visit(value: unknown, parent: string | null, after: number): number {
    if (!isMembers(value)) return after;
    let last = after;
    for (const [field, part] of Object.entries(value)) {
      const name = columnName(parent, field);
      if (isMembers(part) && Object.keys(part).length > 0) {
        this.#parents.add(name);
        last = this.#visit(part, name, last);
      } else {
        last = this.#meet(name, last);
        if (part !== null && !isMembers(part)) this.#filled.set(name, true);
      }
    }
    return last;
  }

  #meet(name: string, after: number): number {
    // In orders of one shape each column stands right behind the one before.
    if (this.#names[after + 1] === name) return after + 1;
    if (this.#filled.has(name)) return this.#names.indexOf(name);
    if (this.#names.length === MOST_COLUMNS) {
      throw new DestinationError(`The orders have more than ${MOST_COLUMNS} different fields.`, {
        hint: 'Name the ones you need under `columns` in the job, or use format: jsonl, which keeps orders whole.',
      });
    }
    this.#filled.set(name, false);
    this.#names.splice(after + 1, 0, name);
    return after + 1;
  }
}
