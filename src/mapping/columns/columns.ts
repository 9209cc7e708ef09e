import type { ColumnSpec } from '../../config/mapping/mapping-spec.ts';
import { type HeaderPattern, parseHeaderPattern } from './header-pattern.ts';

/** A set of columns numbered by `{n}`, or the repeats of one header. Its members differ from file to file. */
export interface Family {
  readonly name: string;
  /** Slot by number. */
  readonly slots: Map<number, number>;
  /** The numbers met so far, ascending. */
  numbers: readonly number[];
}

/** One column, or one family, as the mapping declares it. */
export interface Column {
  readonly name: string;
  readonly patterns: readonly HeaderPattern[];
  readonly occurrence: number | 'all' | undefined;
  /** The slot of a single column; families have one per member. */
  readonly slot: number | undefined;
  readonly family: Family | undefined;
  /** What its header captures, by name. */
  readonly captures: readonly string[];
}

/**
 * The columns of a mapping and the slots their cells go into. Slots of single columns and captures are fixed by the
 * mapping; members of families and the `rest` get theirs when a file that has them is opened.
 */
export class Columns {
  readonly declared: ReadonlyMap<string, Column>;
  /** The slot of each capture, and the columns it may come from. */
  readonly captures: ReadonlyMap<string, number>;
  /** Columns used nowhere else, by header; filled only where a contact mapping wants them as properties. */
  readonly rest = new Map<string, number>();
  #slots = 0;

  constructor(specs: Readonly<Record<string, ColumnSpec>>) {
    const declared = new Map<string, Column>();
    const captures = new Map<string, number>();
    for (const [name, spec] of Object.entries(specs)) {
      const column = this.#declare(name, spec);
      declared.set(name, column);
      for (const capture of column.captures) captures.set(capture, captures.get(capture) ?? this.#slots++);
    }
    this.declared = declared;
    this.captures = captures;
  }

  get slotCount(): number {
    return this.#slots;
  }

  /** The slot of a family's member, made when it is new. */
  member(family: Family, number: number): number {
    const known = family.slots.get(number);
    if (known !== undefined) return known;
    const slot = this.#slots++;
    family.slots.set(number, slot);
    family.numbers = [...family.slots.keys()].sort((a, b) => a - b);
    return slot;
  }

  /** The slot of a column that the mapping does not name. */
  restSlot(header: string): number {
    const slot = this.rest.get(header) ?? this.#slots++;
    this.rest.set(header, slot);
    return slot;
  }

  /** The slots that depend on the files opened so far, in the order in which the mapping goes through them. */
  assigned(): readonly unknown[] {
    const families = [...this.declared.values()].map(({ family }) => family && [...family.slots]);
    return [families, [...this.rest]];
  }

  #declare(name: string, spec: ColumnSpec): Column {
    const written =
      typeof spec === 'object' && 'header' in spec ? spec : { header: spec, occurrence: undefined };
    const headers = typeof written.header === 'string' ? [written.header] : written.header;
    const patterns = headers.map(parseHeaderPattern);
    const isFamily = name.includes('{n}') || written.occurrence === 'all';
    return {
      name,
      patterns,
      occurrence: written.occurrence,
      slot: isFamily ? undefined : this.#slots++,
      family: isFamily ? { name, slots: new Map(), numbers: [] } : undefined,
      captures: [...new Set(patterns.flatMap(({ captures }) => captures))].filter((word) => word !== 'n'),
    };
  }
}
