import { trimHeaders } from '../../model/row.ts';
import { looseName } from '../../text/printable.ts';
import type { ColumnSpec } from '../spec/mapping-spec.ts';

/** A header as a mapping writes it: literal text with `{n}` for a number and `{word}` for a capture. */
type HeaderPattern = ReturnType<typeof parseHeaderPattern>;

type HeaderPart = string | { readonly capture: string };

/** The text of a header at the positions of `{…}`. */
type Captured = ReadonlyMap<string, string>;

/** Parses a written header. Capture names are single words. */
function parseHeaderPattern(written: string) {
  // Every second piece is a capture.
  const pieces = written.split(/\{(\w+)\}/);
  const parts = pieces.map((piece, index) => (index % 2 === 0 ? piece : { capture: piece }));
  return {
    written,
    parts: parts.filter((part) => part !== ''),
    captures: pieces.filter((_, index) => index % 2 === 1),
  };
}

/** A header that matches a pattern. */
export interface FoundHeader {
  readonly index: number;
  readonly captured: Captured;
}

/** The headers of a file, found by the patterns of a mapping: exactly, or without case, white space, hyphens and underscores. */
export class HeaderLine {
  /** Trimmed. */
  readonly headers: readonly string[];
  readonly #exact: HeaderTexts;
  readonly #loose: HeaderTexts;

  constructor(header: readonly string[]) {
    this.headers = trimHeaders(header);
    this.#exact = textsOf(this.headers);
    this.#loose = textsOf(this.headers.map(looseName));
  }

  /** The headers that match, in their order, with what they capture. A blank header matches nothing. */
  matching({ parts }: HeaderPattern, loose: boolean): readonly FoundHeader[] {
    const compared = loose ? parts.map((part) => (typeof part === 'string' ? looseName(part) : part)) : parts;
    const { texts, places } = loose ? this.#loose : this.#exact;
    const [first = '', ...others] = compared;
    if (typeof first === 'string' && others.length === 0)
      return (places.get(first) ?? []).map((index) => ({ index, captured: NO_CAPTURES }));
    return texts.flatMap((text, index) => {
      const captured = new Map<string, string>();
      return text !== '' && matchFrom(compared, 0, text, 0, captured) ? [{ index, captured }] : [];
    });
  }
}

const NO_CAPTURES: Captured = new Map();

type HeaderTexts = ReturnType<typeof textsOf>;

function textsOf(texts: readonly string[]) {
  const places = Map.groupBy(texts.keys(), (index) => texts[index] ?? '');
  places.delete('');
  return {
    texts,
    /** The indexes of each text that is not blank. */
    places,
  };
}

/** A unit or a language is shorter. Without a bound, a long header would take time with the power of its captures. */
const MAX_CAPTURE_LENGTH = 200;

function matchFrom(
  parts: readonly HeaderPart[],
  index: number,
  text: string,
  at: number,
  captured: Map<string, string>,
): boolean {
  const part = parts[index];
  if (part === undefined) return at === text.length;
  if (typeof part === 'string')
    return text.startsWith(part, at) && matchFrom(parts, index + 1, text, at + part.length, captured);
  const longest = part.capture === 'n' ? digitsAt(text, at) : Math.min(text.length - at, MAX_CAPTURE_LENGTH);
  for (let length = longest; length > 0; length--) {
    if (matchFrom(parts, index + 1, text, at + length, captured)) {
      captured.set(part.capture, text.slice(at, at + length));
      return true;
    }
  }
  return false;
}

function digitsAt(text: string, at: number) {
  let length = 0;
  while (length < 6 && /[0-9]/.test(text.charAt(at + length))) length++;
  return length;
}

/** A set of columns numbered by `{n}`, or the repeats of one header. Its members differ between files. */
export interface Family {
  readonly name: string;
  /** Slot by number. */
  readonly slots: Map<number, number>;
  /** Of the columns of one header (`occurrence: all`): what the header captures, or the header itself, by number. */
  readonly labels: Map<number, string>;
  /** The numbers found so far, ascending. */
  numbers: readonly number[];
}

/** One column, or one family, as the mapping declares it. */
export interface Column {
  readonly name: string;
  readonly patterns: readonly HeaderPattern[];
  readonly occurrence: number | 'all' | undefined;
  /** The slot of a single column; a family has one per member. */
  readonly slot: number | undefined;
  readonly family: Family | undefined;
  /** The captures of its header, by name. */
  readonly captures: readonly string[];
  /** Of a column that no file of the source has: which join fills it. */
  readonly joined?: { readonly lookup: string; readonly column: string };
}

/** What a column of a join is called in the mapping. */
export function joinedName(lookup: string, column: string): string {
  return `${lookup}.${column}`;
}

/**
 * The columns of a mapping and the slots of their cells. Slots of single columns and captures are fixed by the
 * mapping; members of families and the `rest` get theirs when a file with them is opened.
 */
export class Columns {
  readonly declared: ReadonlyMap<string, Column>;
  /** The slot of each capture, and the columns that may have it. */
  readonly captures: ReadonlyMap<string, number>;
  /** Columns that nothing else uses, by header; filled only if a contact mapping takes them as properties. */
  readonly rest = new Map<string, number>();
  #slots = 0;

  /** `joined`: the names of columns by the lookups that they come from. */
  constructor(
    specs: Readonly<Record<string, ColumnSpec>>,
    joined: readonly (readonly [lookup: string, columns: readonly string[]])[] = [],
  ) {
    const declared = new Map<string, Column>();
    const captures = new Map<string, number>();
    for (const [name, spec] of Object.entries(specs)) {
      const column = this.#declare(name, spec);
      declared.set(name, column);
      for (const capture of column.captures) captures.set(capture, captures.get(capture) ?? this.#slots++);
    }
    for (const [lookup, names] of joined) {
      for (const column of names) {
        const name = joinedName(lookup, column);
        declared.set(name, { ...this.#declare(name, []), joined: { lookup, column } });
      }
    }
    this.declared = declared;
    this.captures = captures;
  }

  /** The headers by which a column is found. */
  headersOf(name: string): readonly string[] {
    const written = (part: HeaderPart) => (typeof part === 'string' ? part : `{${part.capture}}`);
    return this.declared.get(name)?.patterns.map(({ parts }) => parts.map(written).join('')) ?? [];
  }

  get slotCount(): number {
    return this.#slots;
  }

  /** The slot of a family's member, created on first use. */
  member(family: Family, number: number): number {
    const known = family.slots.get(number);
    if (known !== undefined) return known;
    const slot = this.#slots++;
    family.slots.set(number, slot);
    family.numbers = [...family.slots.keys()].sort((a, b) => a - b);
    return slot;
  }

  /** A slot for cells that no column of a file has. */
  addSlot(): number {
    return this.#slots++;
  }

  /** The slot of a column that the mapping does not name. */
  restSlot(header: string): number {
    const slot = this.rest.get(header) ?? this.#slots++;
    this.rest.set(header, slot);
    return slot;
  }

  /** The slots that depend on the files opened so far, in the order in which the mapping uses them. */
  assigned(): readonly unknown[] {
    const families = [...this.declared.values()].map(
      ({ family }) => family && [[...family.slots], [...family.labels]],
    );
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
      family: isFamily ? { name, slots: new Map(), labels: new Map(), numbers: [] } : undefined,
      captures: [...new Set(patterns.flatMap(({ captures }) => captures))].filter((word) => word !== 'n'),
    };
  }
}
