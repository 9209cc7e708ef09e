import { DEFAULT_LIMITS, type MappingLimits } from '../model/input-limits.ts';
import { didYouMean, quote } from '../text/printable.ts';
import { Columns, type Family } from './columns/columns.ts';
import { CurrencyWatch } from './currency-watch.ts';
import type { LookupTable } from './lookup-table.ts';
import { type MappingSpec, paramProblems } from './spec/mapping-spec.ts';
import type { Trace } from './trace.ts';
import type { CustomTransforms } from './transforms/define-transform.ts';
import { cleanCell, cleanContactCell, Faults } from './values/cell.ts';

/** An error in a mapping, with its path in the file. */
export interface MappingProblem {
  readonly path: Path;
  readonly message: string;
  /** Does not stop a run: a part of the mapping that has no effect. */
  readonly isWarning?: true;
}

/** Keys and indexes that lead to a place in a mapping file. */
export type Path = readonly (string | number)[];

/** Collects the problems of a check. */
export class Problems {
  readonly #found: MappingProblem[] = [];

  add(path: Path, message: string): void {
    this.#found.push({ path, message });
  }

  /** Adds a problem that does not stop a run. */
  warn(path: Path, message: string): void {
    this.#found.push({ path, message, isWarning: true });
  }

  get found(): readonly MappingProblem[] {
    return this.#found;
  }
}

/** A value that a job sets, or its default. */
export type Param = string | number | boolean;

/** The names and settings for compiling the expressions of a mapping. */
export interface Scope {
  readonly problems: Problems;
  readonly limits: MappingLimits;
  readonly columns: Columns;
  readonly params: ReadonlyMap<string, Param>;
  /** Undefined in `check`, which reads no tables. */
  readonly lookups: ReadonlyMap<string, LookupTable | undefined>;
  /** Columns, params and lookups that are used; declared but unused names are a problem. */
  readonly used: Set<string>;
  /** Which fields take a value from a column, by the first word of their path (`sku`, `title`). */
  readonly reads: Map<string, Set<string>>;
  /** Notes that are counted with the current record. */
  readonly notes: string[];
  /** Of the record that is being mapped. */
  readonly faults: Faults;
  /** Whether families are processed member by member, so that their name means one cell. */
  readonly eachMember: boolean;
  /** The slots that families have in fields of variants whose option values are in columns, by name. */
  readonly spread: ReadonlyMap<string, number>;
  /** Whether a text that is split keeps blank parts: what belongs together has the same place in two lists. */
  readonly keepsPlaces?: boolean;
  /** Whether contacts are mapped: then blanks cannot be cleared. */
  readonly contacts: boolean;
  /** The text of a cell; undefined for a blank one. */
  readonly clean: (cell: string | undefined) => string | undefined;
  /** The field that is being compiled, for notes. */
  readonly field: string;
  /** The text of a cell for a message; cells of contacts are not quoted. */
  readonly quote: (text: string) => string;
  /** Set where what each field is made of is to be shown. */
  readonly trace: Trace | undefined;
  /** What amounts are checked against. */
  readonly currencies: CurrencyWatch;
  /** The transforms of the workspace; undefined where they are not known. */
  readonly custom?: CustomTransforms | undefined;
  /** The currency from which the amounts that are compiled are converted, as `convert` has it; undefined where they are not. */
  readonly convertsFrom?: string | undefined;
  /** Whether what is compiled gives amounts: then the formats of its cells are checked. */
  readonly readsAmounts?: boolean;
  /** The currency in which a later `number` reads the amounts, as it has it; undefined where none does. */
  readonly readsAs?: string | undefined;
}

/** The parts of a scope besides the mapping. */
type ScopeParts = Pick<Scope, 'problems' | 'params' | 'lookups'> & {
  /** Default: the usual ones. */
  readonly limits?: MappingLimits | undefined;
  readonly trace?: Trace | undefined;
  readonly custom?: CustomTransforms | undefined;
  /** Default: amounts may be in any one currency. */
  readonly currencies?: CurrencyWatch;
};

/** A scope for the expressions of a mapping, with nothing used yet. */
export function newScope(spec: MappingSpec, parts: ScopeParts): Scope {
  const { problems, params, lookups, limits, trace, custom, currencies = new CurrencyWatch() } = parts;
  const contacts = spec.import === 'contacts';
  return {
    problems,
    limits: limits ?? DEFAULT_LIMITS,
    columns: new Columns(
      spec.columns,
      Object.entries(spec.lookups ?? {}).map(([name, { join }]) => [name, Object.keys(join?.columns ?? {})]),
    ),
    params,
    lookups,
    used: new Set(),
    reads: new Map(),
    notes: [],
    faults: new Faults(),
    eachMember: false,
    spread: new Map(),
    contacts,
    clean: contacts ? cleanContactCell : cleanCell,
    field: '',
    quote: contacts ? () => 'the cell' : (text) => quote(text, MAX_QUOTED_LENGTH),
    trace,
    custom,
    currencies,
  };
}

const MAX_QUOTED_LENGTH = 40;

/** What is made of a part of a mapping; undefined where the mapping leaves it out. */
export function mapDefined<Part, Made>(part: Part | undefined, make: (part: Part) => Made): Made | undefined {
  return part === undefined ? undefined : make(part);
}

/** The meaning of a name in an expression. */
export type Named =
  | { readonly kind: 'column'; readonly slot: number }
  | { readonly kind: 'family'; readonly family: Family }
  | { readonly kind: 'param'; readonly value: Param };

/** The meaning of the name; undefined if it has none. Marks it as used. */
export function resolveName(scope: Scope, name: string): Named | undefined {
  const column = scope.columns.declared.get(name);
  if (column !== undefined) {
    scope.used.add(name);
    if (column.joined !== undefined) scope.used.add(`lookup ${column.joined.lookup}`);
    const fields = scope.reads.get(name) ?? new Set();
    scope.reads.set(name, fields.add(baseField(scope.field)));
    const slot = slotOf(scope, name);
    return column.family === undefined || slot !== undefined
      ? { kind: 'column', slot: slot ?? -1 }
      : { kind: 'family', family: column.family };
  }
  const capture = scope.columns.captures.get(name);
  if (capture !== undefined) {
    scope.used.add(`capture ${name}`);
    return { kind: 'column', slot: capture };
  }
  const value = scope.params.get(name);
  if (value !== undefined) {
    scope.used.add(name);
    return { kind: 'param', value };
  }
  return undefined;
}

/** The slot of a column, as the field that is compiled has it; undefined for a family and for an unknown name. */
export function slotOf({ spread, columns }: Scope, name: string): number | undefined {
  return spread.get(name) ?? columns.declared.get(name)?.slot;
}

/** The slots that a name has so far: a family may have several, a param has none. */
export function slotsOf(named: Named | undefined): readonly number[] {
  switch (named?.kind) {
    case 'column':
      return [named.slot];
    case 'family':
      return [...named.family.slots.values()];
    default:
      return [];
  }
}

/** `variants.sku` is `sku`, `properties.fields.Birthday` is `properties`. */
export function baseField(field: string) {
  const [first = '', second] = field.split('.');
  return first === 'variants' ? (second ?? first) : first;
}

/** The meaning of the name; reported if it has none. */
export function namedAt(scope: Scope, path: Path, name: string): Named | undefined {
  const named = resolveName(scope, name);
  if (named === undefined) unknownName(scope, path, name);
  return named;
}

/** The family of a name; reported if it is none. `ofHeaders`: one whose headers say what its columns are. */
export function familyAt(scope: Scope, path: Path, name: string, ofHeaders = false): Family | undefined {
  const named = namedAt(scope, path, name);
  const isMeant = !ofHeaders || scope.columns.declared.get(name)?.occurrence === 'all';
  if (named?.kind === 'family' && isMeant) return named.family;
  const expected = ofHeaders
    ? 'a family of headers: expected a column with `occurrence: all`'
    : 'a family: expected a column with {n} in its name';
  if (named !== undefined) scope.problems.add(path, `${name} is not ${expected}`);
  return undefined;
}

/** Reports an undeclared name, with the nearest declared one. */
export function unknownName(scope: Scope, path: Path, name: string): void {
  const names = [...scope.columns.declared.keys(), ...scope.columns.captures.keys(), ...scope.params.keys()];
  scope.problems.add(
    path,
    `${name} is not declared under columns or params${didYouMean(name, names)}${near(names)}`,
  );
}

function near(names: readonly string[]) {
  return names.length > 0 && names.length <= 12 ? ` (declared: ${names.join(', ')})` : '';
}

/** An argument of a transform: the text itself, or the value of the param that it names in braces. */
export function argument(scope: Scope, path: Path, text: string): string {
  const name = /^\{(\w+)\}$/.exec(text)?.[1];
  if (name === undefined) return text;
  const value = scope.params.get(name);
  if (value === undefined) {
    scope.problems.add(
      path,
      `${name} is not declared under params${didYouMean(name, [...scope.params.keys()])}`,
    );
    return '';
  }
  scope.used.add(name);
  return String(value);
}

/** A lookup table of the mapping, marked as used; undefined if it is not declared, or in a check, which has none. */
export function resolveLookup(scope: Scope, path: Path, name: string): LookupTable | undefined {
  const { lookups, problems, used } = scope;
  if (!lookups.has(name)) {
    problems.add(path, `${name} is not declared under lookups${didYouMean(name, [...lookups.keys()])}`);
  }
  if ([...scope.columns.declared.values()].some(({ joined }) => joined?.lookup === name)) {
    problems.add(path, `${name} is joined: its columns are in each row, such as ${name}.NAME`);
  }
  used.add(`lookup ${name}`);
  return lookups.get(name);
}

/** The values of a mapping's params. `set` are the values of a job; undefined in a check, where no job is known. */
export function paramsOf(
  spec: MappingSpec,
  set: Readonly<Record<string, Param>> | undefined,
  problems: Problems,
): ReadonlyMap<string, Param> {
  const declared = new Map(Object.entries(spec.params ?? {}));
  for (const { name, message } of set === undefined ? [] : paramProblems(spec, set)) {
    problems.add(['params', name], message);
  }
  const given = new Map(Object.entries(set ?? {}));
  return new Map(
    [...declared].map(([name, param]) => {
      const fallback = typeof param === 'object' ? param.default : param;
      return [name, given.get(name) ?? fallback ?? ''];
    }),
  );
}
