import { withoutUndefined } from '../model/json-object.ts';
import type { Leaf, Mapped, RecordTrace, TracedCell, TracedField } from '../model/mapped-record.ts';
import { leavesOf } from '../model/mapped-record.ts';
import { truncate } from '../text/printable.ts';
import { type RecordRows, type SourceRow, withRows } from './record-rows.ts';
import type { Step } from './transforms/define-transform.ts';

/** The values of a mapping's params. */
type Params = ReadonlyMap<string, string | number | boolean>;

/** Keys and indexes that lead to a place in a mapping file. */
type Path = Leaf['keys'];

/** A place of the mapping that was computed for a row: what it read, which transforms it used, what came out. */
interface Evaluation {
  readonly path: Path;
  readonly row: SourceRow | undefined;
  readonly condition: boolean;
  /** The value that it changes, if that was computed elsewhere. */
  readonly from: Leaf['value'] | undefined;
  readonly cells: TracedCell[];
  readonly steps: string[];
  readonly inner: Evaluation[];
  /** A cell, the result of a test, or the result of a whole block. */
  value: unknown;
}

/**
 * Records which cells each place of a mapping reads, for one record at a time. A mapping that is compiled with a trace
 * reports its evaluations here; one that is compiled without has no code for it. Cells are seen as they are read, so every
 * transform, condition and template is traced alike.
 */
export class Trace {
  #evaluations: Evaluation[] = [];
  #open: Evaluation[] = [];
  #origins = new WeakMap<object, SourceRow>();
  #watching = false;

  /** Computes a record with its cells watched. */
  watch<Result>(compute: () => Result): Result {
    this.#evaluations = [];
    this.#origins = new WeakMap();
    this.#watching = true;
    try {
      return compute();
    } finally {
      this.#watching = false;
    }
  }

  /** Evaluates a place of the mapping for a row; undefined: for the record as a whole. */
  evaluate<Result>(
    path: Path,
    row: SourceRow | undefined,
    compute: () => Result,
    condition = false,
    from?: Leaf['value'],
  ): Result {
    if (!this.#watching) return compute();
    const outer = this.#open.at(-1);
    const evaluation: Evaluation = {
      path,
      row,
      from,
      cells: [],
      steps: [],
      inner: [],
      value: undefined,
      condition: condition || outer?.condition === true,
    };
    (outer?.inner ?? this.#evaluations).push(evaluation);
    this.#open.push(evaluation);
    try {
      const result = compute();
      evaluation.value = result;
      return result;
    } finally {
      this.#open.pop();
    }
  }

  /** The step, reporting that it was used. `written`: as the mapping has it, with the names of params; `name`: of its transform. */
  step(written: unknown, name: string | undefined, params: Params, step: Step): Step {
    const text = stepText(written, params, name);
    const reported =
      <Args extends readonly unknown[], Result>(run: (...args: Args) => Result) =>
      (...args: Args) => {
        const steps = this.#open.at(-1)?.steps;
        if (steps?.includes(text) === false) steps.push(text);
        return run(...args);
      };
    const { exact } = step;
    return withoutUndefined({
      ...step,
      run: reported(step.run),
      exact: exact && { ...exact, run: reported(exact.run) },
    });
  }

  /** The rows with cells that report when they are read. */
  rows(rows: RecordRows): RecordRows {
    if (!this.#watching) return rows;
    const watched = new Map<SourceRow, SourceRow>();
    return withRows(rows, (row) => {
      const known = watched.get(row) ?? this.#watched(row, () => row);
      watched.set(row, known);
      return known;
    });
  }

  /** A row some of whose cells are those of the head row. */
  inherited(row: SourceRow, own: SourceRow, head: SourceRow): SourceRow {
    return this.#watching
      ? this.#watched(row, (slot) => (row.cells[slot] === own.cells[slot] ? own : head))
      : row;
  }

  /** Notes from which row a part of the body was made. */
  made(part: object, row: SourceRow | undefined): void {
    if (row !== undefined) this.#origins.set(part, row);
  }

  /** The origins of the fields of the last watched record. A contact's id is a field too, although the body lacks it. */
  of(rows: RecordRows, mapped: Mapped): RecordTrace {
    const body = mapped.kind === 'record' ? mapped.body : undefined;
    const named =
      body !== undefined && mapped.key !== null && !('variants' in body) ? { id: mapped.key } : {};
    return {
      rows: rows.rows.map((row) => ({
        file: row.table.file,
        line: row.line,
        cells: row.cells.flatMap((text, slot) =>
          text === undefined || text.trim() === '' || row.table.headers[slot] === undefined
            ? []
            : [cellOf(row, slot, text)],
        ),
      })),
      fields:
        body === undefined ? [] : leavesOf({ ...named, ...body }).map((leaf) => this.#fieldOf(leaf, body)),
    };
  }

  #watched(row: SourceRow, from: (slot: number) => SourceRow): SourceRow {
    const cells = new Proxy(row.cells, {
      get: (target, name, receiver) => {
        const slot = typeof name === 'string' && /^\d+$/.test(name) ? Number(name) : -1;
        const text = target[slot];
        const reader = this.#open.at(-1);
        if (reader !== undefined && text !== undefined && text.trim() !== '') {
          const cell = cellOf(from(slot), slot, text);
          reader.cells.push(reader.condition ? { ...cell, condition: true } : cell);
        }
        return Reflect.get(target, name, receiver);
      },
    });
    return { ...row, cells };
  }

  #fieldOf(leaf: Leaf, body: object): TracedField {
    const places = placesOf(leaf.keys);
    const origin = originOf(leaf.keys, body, this.#origins);
    const inField = this.#evaluations.filter(
      ({ path, row }) =>
        places.some((place) => place.every((key, index) => path[index] === key)) &&
        (origin === undefined || row === undefined || sameRow(row, origin)),
    );
    const name = nameBeside(leaf.keys, body);
    const named = inField.filter(({ path }) => name !== undefined && path.includes(name));
    const found = resultsOf(named.length > 0 ? named : inField, leaf.value, origin);
    const cells = narrowed(unique(found.flatMap(({ cells: all }) => all)), leaf, name);
    const steps = [...new Set(found.flatMap(({ steps: all }) => all))];
    return { path: leaf.path, value: leaf.value, cells, steps: cells.length === 0 ? [] : steps };
  }
}

function cellOf(row: SourceRow, slot: number, text: string): TracedCell {
  return { file: row.table.file, line: row.line, column: row.table.headers[slot] ?? null, text };
}

function sameRow(a: SourceRow, b: SourceRow) {
  return a.seq === b.seq;
}

/** The price fields, which the mapping writes as one block. */
const PRICES: ReadonlySet<string | number> = new Set(['price', 'onSale', 'regularPrice', 'salePrice']);

/** The places of a mapping file that a value of a body comes from. */
function placesOf([first = '', second, third]: Leaf['keys']): readonly Path[] {
  if (first === 'options') return [['options'], ['group', 'children']];
  if (first === 'variants') {
    if (third === 'options') return [['options']];
    return [['variants', third !== undefined && PRICES.has(third) ? 'pricing' : (third ?? '')]];
  }
  if (first === 'type')
    return [
      ['product', 'type'],
      ['product', 'unshipped'],
      ['product', 'file'],
    ];
  const inside = first === 'subscription' && second !== undefined ? [second] : [];
  return [
    ['product', first, ...inside],
    ['contact', first],
  ];
}

/** The row of a part of the body, such as a variant; undefined if it has no row of its own. */
function originOf(keys: Leaf['keys'], body: object, origins: WeakMap<object, SourceRow>) {
  let part: unknown = body;
  for (const key of keys) {
    if (typeof part !== 'object' || part === null) return undefined;
    const origin = origins.get(part);
    if (origin !== undefined) return origin;
    part = partAt(part, key);
  }
  return undefined;
}

function partAt(whole: unknown, key: string | number): unknown {
  return typeof whole === 'object' && whole !== null && Object.hasOwn(whole, key)
    ? Reflect.get(whole, key)
    : undefined;
}

/** The name next to a value: of a property, or of an option of a variant. */
function nameBeside(keys: Leaf['keys'], body: object) {
  const owner =
    keys[0] === 'variants' && keys[2] === 'options' && keys[3] !== undefined
      ? ['options', keys[3], 'name']
      : keys[0] === 'options' || keys[0] === 'properties'
        ? [keys[0], keys[1] ?? 0, 'name']
        : [];
  const name = owner.length === 0 ? undefined : owner.reduce<unknown>(partAt, body);
  return typeof name === 'string' ? name : undefined;
}

interface Found {
  readonly cells: readonly TracedCell[];
  readonly steps: readonly string[];
}

/** The origin of the value: the innermost evaluations with this result, else all of them. */
function resultsOf(
  evaluations: readonly Evaluation[],
  value: Leaf['value'],
  origin: SourceRow | undefined,
): readonly Found[] {
  const base = evaluations.filter(({ from }) => from === undefined);
  const change = evaluations.find(
    (one) => one.from !== undefined && one.from !== value && gives(one.value, value),
  );
  if (change?.from !== undefined) {
    const { cells, steps } = whole(change, []);
    return resultsOf(base, change.from, origin).map((found) => ({
      cells: [...found.cells, ...cells],
      steps: [...found.steps, ...steps],
    }));
  }
  const exact = base.flatMap((one) => innermost(one, value, [], origin));
  return exact.length > 0
    ? exact
    : evaluations.filter(({ row }) => row !== undefined).map((one) => whole(one, []));
}

function innermost(
  one: Evaluation,
  value: Leaf['value'],
  outerSteps: readonly string[],
  origin: SourceRow | undefined,
): readonly Found[] {
  if (origin !== undefined && one.row !== undefined && !sameRow(one.row, origin)) return [];
  const steps = [...one.steps, ...outerSteps];
  const inner = one.inner
    .filter(({ condition }) => !condition)
    .flatMap((part) => innermost(part, value, steps, origin));
  if (inner.length > 0) return inner;
  if (one.row === undefined) {
    const cells = one.cells.filter(({ text }) => text.trim() === value);
    return cells.length === 0 ? [] : [{ cells, steps: [] }];
  }
  return gives(one.value, value) ? [whole(one, outerSteps)] : [];
}

/** Whether a result is the value, or a list with it. */
function gives(result: unknown, value: Leaf['value']) {
  return result === value || (Array.isArray(result) && result.includes(value));
}

function whole(one: Evaluation, outerSteps: readonly string[]): Found {
  const inner = one.inner.map((part) => whole(part, []));
  return {
    cells: [...one.cells, ...inner.flatMap(({ cells }) => cells)],
    steps: [...inner.flatMap(({ steps }) => steps), ...one.steps, ...outerSteps],
  };
}

/** Of several cells, those that contain the value itself, if any: the others gave other items of the list. */
function narrowed(cells: readonly TracedCell[], { keys, value }: Leaf, name: string | undefined) {
  const isItem = keys.some((key) => typeof key === 'number') && keys[0] !== 'variants';
  if (!isItem || cells.length < 2 || typeof value !== 'string') return cells;
  const taken = cells.filter(({ condition }) => condition !== true);
  const under = taken.filter(({ column }) => column === name);
  const containing = (under.length > 0 ? under : taken).filter(({ text }) => text.includes(value));
  return containing.length === 0 ? cells : containing;
}

function unique(cells: readonly TracedCell[]): readonly TracedCell[] {
  const found = new Map<string, TracedCell>();
  for (const cell of cells) {
    const key = JSON.stringify([cell.file, cell.line, cell.column, cell.text]);
    const known = found.get(key);
    if (known === undefined || known.condition === true) found.set(key, cell);
  }
  return [...found.values()];
}

/** Signs that are hard to see between words. */
const SIGNS: Readonly<Record<string, string>> = {
  ',': 'comma',
  '.': 'point',
  ';': 'semicolon',
  ':': 'colon',
  '|': 'pipe',
  ' ': 'space',
  '-': 'hyphen',
  '\t': 'tab',
  '\n': 'line break',
  '/': 'slash',
  '>': 'greater than',
};

/** A transform as people read it: `number (decimal comma)`, `trim`. */
function stepText(written: unknown, params: Params, transform?: string): string {
  if (typeof written !== 'object' || written === null) {
    const name = typeof written === 'string' ? /^\{(\w+)\}$/.exec(written)?.[1] : undefined;
    const text = String((name === undefined ? undefined : params.get(name)) ?? written);
    return SIGNS[text.length > 1 ? text.trim() : text] ?? text;
  }
  const isLater = (key: string) => Number(key !== transform);
  const [[name, main] = ['', undefined], ...options] = Object.entries(written).sort(
    ([one], [other]) => isLater(one) - isLater(other),
  );
  const words = (value: unknown): string =>
    typeof value === 'object' && value !== null
      ? Object.entries(value)
          .map(([key, one]) => (Array.isArray(value) ? words(one) : `${key} ${words(one)}`))
          .join(', ')
      : stepText(value, params);
  const parts = [
    ...(main === undefined || main === null || main === true ? [] : [words(main)]),
    ...options.map(([key, value]) => `${key} ${words(value)}`),
  ];
  const text = parts.join(', ');
  return parts.length === 0 ? name : `${name} (${truncate(text, MAX_SHOWN)})`;
}

const MAX_SHOWN = 40;
