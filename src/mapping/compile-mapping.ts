import { DEFAULT_LIMITS, type MappingLimits } from '../model/input-limits.ts';
import type { JsonObject } from '../model/json-object.ts';
import { UPDATE_MATCHES, type UpdateMatch } from '../model/mapped-record.ts';
import { MappingError } from '../model/storeferry-error.ts';
import { didYouMean } from '../text/printable.ts';
import { type Binding, bindTable, requiredColumns } from './columns/bind-table.ts';
import type { Column } from './columns/columns.ts';
import { compileContact, compileContactId } from './compile-contact.ts';
import type { CurrencyWatch } from './currency-watch.ts';
import {
  type AlignmentCheck,
  compileAlignment,
  compileDamageCheck,
  type DamageCheck,
} from './damage-check.ts';
import { compileGrouping } from './grouping/compile-grouping.ts';
import type { Grouping } from './grouping/grouping.ts';
import {
  compileJoins,
  type Joined,
  type Joins,
  type JoinTable,
  joinsOf,
  joinTable,
  type ReadyColumn,
  readyColumns,
} from './join-table.ts';
import { type Crosswalk, LIST_COLUMNS, type LookupTable, storeListsTable } from './lookup-table.ts';
import { applyPriceRules, type PriceRules } from './price-rules.ts';
import type { StoreCategories } from './product/compile-categories.ts';
import { compileLikeness, compilePatch, compileProduct } from './product/compile-product.ts';
import type { WeightUnit } from './product/compile-weight.ts';
import type { FindPicture } from './product/picture-addresses.ts';
import { Clock } from './product/pricing.ts';
import type { BuildRecord, RecordRows, SourceRow } from './record-rows.ts';
import {
  type MappingProblem,
  newScope,
  type Param,
  type Path,
  Problems,
  paramsOf,
  type Scope,
} from './scope.ts';
import {
  isWhole,
  type MappingSpec,
  matchValue,
  type ProductMappingSpec,
  type WholeProductSpec,
} from './spec/mapping-spec.ts';
import type { Condition, Value } from './spec/value.ts';
import type { Trace } from './trace.ts';
import type { CustomTransforms } from './transforms/define-transform.ts';
import { type HtmlPolicy, withHtmlPolicy } from './transforms/html.ts';
import { type Cell, type Expression, type Faults, Unreadable } from './values/cell.ts';
import { columnsOf, compileCondition } from './values/compile-condition.ts';
import { compileAs, compileField } from './values/compile-value.ts';

export {
  headerPlaces,
  headersOfMappings,
  reportColumns,
  requiredColumns,
} from './columns/bind-table.ts';
export { CurrencyWatch, type KnownCurrency } from './currency-watch.ts';
export { applyPriceRules, type PriceRules } from './price-rules.ts';
export type { StoreCategories } from './product/compile-categories.ts';
export { weightUnit } from './product/compile-weight.ts';
export type { FindPicture } from './product/picture-addresses.ts';
// What a guess tries with the cells of a file.
export { spellingsOf } from './transforms/boolean.ts';
export { compilePattern } from './transforms/compile-pattern.ts';
export { FALLBACK } from './transforms/define-transform.ts';
export { slugify } from './transforms/slug.ts';
export { cleanContactCell } from './values/cell.ts';

/** The input for compiling a mapping, besides its file. */
export interface MappingContext {
  /** The values of the job; the mapping's defaults fill in missing ones. */
  readonly params: Readonly<Record<string, Param>>;
  /** The tables that the mapping declares under `lookups`, by name. */
  readonly lookups: ReadonlyMap<string, LookupTable>;
  /** The tables of the lookups that are joined, by name; left out in a check. */
  readonly joins?: ReadonlyMap<string, JoinTable>;
  /** The store's unit. */
  readonly weightUnit: WeightUnit;
  /** When the source was staged, in milliseconds since the epoch: dated sales are judged at this moment. */
  readonly now: number;
  /** Contacts only: how to find the store's id if the source does not have it. */
  readonly crosswalk?: Crosswalk | undefined;
  /** The limits of the job; default: the usual ones. */
  readonly limits?: MappingLimits | undefined;
  /** Of a job with `mode: update`: by what products are found, whose changes are mapped. */
  readonly match?: UpdateMatch | undefined;
  /** Of a job with `mode: mirror`, which deletes: a rejected product says what identifies it under another url. */
  readonly isMirror?: boolean;
  /** What amounts are checked against; default: they may be in any one currency. */
  readonly currencies?: CurrencyWatch;
  /** What `options[].advanced` is where the mapping does not say it; default: it follows from the variants. */
  readonly advanced?: boolean | undefined;
  /** The store takes `quantity: null` for stock that is not tracked; otherwise such a quantity is left out. */
  readonly nullQuantity?: boolean;
  /** The categories of the store, where it lists them; otherwise categories are sent by their names. */
  readonly categories?: StoreCategories;
  /** Of a job that publishes picture files: the address of one by its name; left out: only addresses are taken. */
  readonly findPicture?: FindPicture;
  /** The job's HTML policy; default: the mapping decides. */
  readonly html?: HtmlPolicy;
  /** The keys of records that the job leaves out, whatever their rows hold. */
  readonly leaveOut?: readonly string[] | undefined;
  /** What the store's prices are made by, from those that the mapping gives; default: they are the same. */
  readonly prices?: PriceRules | undefined;
  /** The transforms of the workspace; left out where they are not known. */
  readonly custom?: CustomTransforms | undefined;
}

/**
 * A compiled mapping. It is compiled for one source: families of columns grow with its files, so another source needs
 * another compiled mapping.
 */
export interface CompiledMapping {
  /** Resolves the columns of a file; MappingError if a required one is missing, or one repeats. */
  readonly bind: (header: readonly string[], file: number) => Binding;
  readonly alignment: AlignmentCheck;
  readonly grouping: Grouping;
  readonly mapper: RecordMapper;
  /** Whether rows with a single text are left out. */
  readonly skipsHeadings: boolean;
}

/** Builds records from rows. */
export interface RecordMapper {
  readonly key: Expression<Cell, RecordRows>;
  /** The name of the key: `url` or `id`. */
  readonly keyField: string;
  /** The keys of records that the job leaves out. */
  readonly leftOut: ReadonlySet<string>;
  readonly skips: readonly { readonly test: Expression<boolean>; readonly reason: string }[];
  readonly damage: DamageCheck;
  readonly joins: Joins;
  /** Emptied before each record; notes from building a record belong to that record. */
  readonly notes: string[];
  readonly faults: Faults;
  /** Reset before each record: whether the record depends on the time of the import. */
  readonly clock: Clock;
  readonly build: BuildRecord;
  /** What can be read of the fields that identify a product under another url; left out where nothing is deleted. */
  readonly likeness?: (rows: RecordRows) => JsonObject;
}

/**
 * Compiles a mapping, once for a source, to closures over cells. Pure: the same rows give the same records. With a trace
 * records are mapped more slowly, and `traceTables` can say what each of their fields is made of.
 * @throws MappingError when the mapping has problems (`checkMapping` lists them), or a param has no value.
 */
export function compileMapping(spec: MappingSpec, context: MappingContext, trace?: Trace): CompiledMapping {
  const problems = new Problems();
  const params = paramsOf(spec, context.params, problems);
  const asked = new Set(lookupsOfStoreLists(spec, context.params).map(({ name }) => name));
  const lookups = new Map(
    Object.entries(spec.lookups ?? {}).map(([name, { of, match }]) => {
      const unasked = of !== undefined && !asked.has(name) ? storeListsTable([], match) : undefined;
      return [name, context.lookups.get(name) ?? unasked] as const;
    }),
  );
  const joined = new Set(joinsOf(spec).map(({ name }) => name));
  for (const [name, table] of lookups) {
    if ((joined.has(name) ? context.joins?.get(name) : table) === undefined)
      problems.add(['lookups', name], 'the table was not read');
  }
  const compiled = compile(spec, { ...context, params, lookups, problems, trace });
  const errors = problems.found.filter(({ isWarning = false }) => !isWarning);
  if (errors.length > 0) {
    const all = errors.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new MappingError(`The mapping cannot be used: ${all.join('; ')}`, {
      hint: 'storeferry check prints line and column.',
    });
  }
  return compiled;
}

/** All errors and warnings of a mapping that its schema cannot find, with the path of each. */
export function checkMapping(
  spec: MappingSpec,
  limits: MappingLimits = DEFAULT_LIMITS,
  custom?: CustomTransforms,
): readonly MappingProblem[] {
  const problems = new Problems();
  const params = paramsOf(spec, undefined, problems);
  const lookups = new Map(Object.keys(spec.lookups ?? {}).map((name) => [name, undefined] as const));
  compile(spec, { params, lookups, weightUnit: 'kg', now: 0, limits, problems, custom });
  return problems.found;
}

type CompileContext = Omit<MappingContext, 'params' | 'lookups'> &
  Pick<Scope, 'params' | 'lookups' | 'problems'> & { readonly trace?: Trace | undefined };

function compile(spec: MappingSpec, context: CompileContext): CompiledMapping {
  const clock = new Clock(context.now);
  const scope = newScope(spec, context);
  const { columns } = scope;
  const joins = compileJoins(scope, spec, context.joins);
  const { key, keyField, build, ...others } =
    spec.import === 'contacts'
      ? contactParts(scope, spec, context)
      : productParts(scope, spec, { ...context, clock }, context.match);
  const grouping = compileGrouping(scope, spec.group, keyExpression(scope, spec, context.match));
  const skips = (spec.skip ?? []).map(({ when, reason }, index) => ({
    test: compileCondition(scope, ['skip', index, 'when'], when),
    reason,
  }));
  const watched = unnamedColumns(scope);
  const alignment = compileAlignment({ ...scope, field: 'expect' }, spec);
  const required = requiredColumns(spec);
  checkUse(scope, spec);
  return {
    bind: (header, file) => bindTable(columns, spec, header, file, { required, watched }),
    alignment,
    grouping,
    skipsHeadings: spec.headings === 'skip',
    mapper: withHtmlPolicy(context.html ?? 'keep', {
      ...traced(context.trace, keyField, {
        key,
        build: withPriceRules(context.prices, scope.currencies.ofStore, build),
      }),
      ...others,
      keyField,
      leftOut: new Set(context.leaveOut),
      skips,
      notes: scope.notes,
      faults: scope.faults,
      clock,
      joins,
      damage: compileDamageCheck(scope),
    }),
  };
}

type Parts = Pick<RecordMapper, 'key' | 'keyField' | 'build' | 'likeness'>;

/** Finished products with their prices put through the rules of the store. */
function withPriceRules(
  rules: PriceRules = [],
  currency: string | undefined,
  build: Parts['build'],
): Parts['build'] {
  if (rules.length === 0) return build;
  return (rows, key) => {
    const built = build(rows, key);
    if (!('body' in built) || !('variants' in built.body)) return built;
    const body = applyPriceRules(built.body, rules, currency);
    if ('code' in body) throw new Unreadable(body.code, body.message).in('variants.price');
    return { ...built, body };
  };
}

/** The parts that read cells, with the rows watched while a record is traced. */
function traced(
  trace: Trace | undefined,
  keyField: string,
  { key, build }: Omit<Parts, 'keyField'>,
): Omit<Parts, 'keyField'> {
  if (trace === undefined) return { key, build };
  const place = [keyField === 'url' ? 'product' : 'contact', keyField];
  return {
    key: (rows) => trace.evaluate(place, rows.head, () => key(trace.rows(rows), 0)),
    build: (rows, known) => build(trace.rows(rows), known),
  };
}

function productParts(
  scope: Scope,
  spec: Extract<MappingSpec, { import: 'products' }>,
  context: Parameters<typeof compileProduct>[2],
  given: UpdateMatch | undefined,
): Parts {
  if (given === undefined && isWhole(spec)) return wholeParts(scope, spec, context);
  const match = given ?? likelyMatch(spec);
  const values = UPDATE_MATCHES.flatMap((by) => {
    const value = matchValue(spec, by);
    const path = by === 'sku' ? ['variants', 'sku'] : ['product', by];
    return value === undefined ? [] : [{ by, field: compileKey(scope, path, value) }];
  });
  const key = values.find(({ by }) => by === match)?.field;
  if (key === undefined) scope.problems.add([], UNMATCHABLE);
  return {
    build: compilePatch(scope, spec, context),
    key: key ?? (() => undefined),
    keyField: match === 'sku' ? 'variants.sku' : match,
  };
}

function compileKey(scope: Scope, path: Path, value: Value): Parts['key'] {
  return compileField(scope, path, value, 'text', 'reject');
}

const UNMATCHABLE =
  'it lacks what every product must have (product.url, product.title, variants.pricing), and for `mode: update` it lacks what finds a product: product.url, variants.sku or product.id';

/** By what an update would find products with a mapping that no job has been named for. */
function likelyMatch(spec: ProductMappingSpec): UpdateMatch {
  return UPDATE_MATCHES.find((by) => matchValue(spec, by) !== undefined) ?? 'url';
}

function wholeParts(
  scope: Scope,
  spec: WholeProductSpec,
  context: Parameters<typeof compileProduct>[2] & Pick<MappingContext, 'isMirror'>,
): Parts {
  if (spec.product.id !== undefined) compileKey(scope, ['product', 'id'], spec.product.id);
  return {
    build: compileProduct(scope, spec, context),
    ...(context.isMirror === true && { likeness: compileLikeness(scope, spec, context.findPicture) }),
    key: compileKey(scope, ['product', 'url'], spec.product.url),
    keyField: 'url',
  };
}

function contactParts(
  scope: Scope,
  spec: Extract<MappingSpec, { import: 'contacts' }>,
  context: CompileContext,
): Parts {
  return {
    key: compileContactId(scope, spec.contact, context.crosswalk),
    keyField: 'id',
    build: compileContact(scope, spec.contact),
  };
}

/** The key as an expression of one row, for rows of which only the first cell can be trusted. */
function keyExpression(scope: Scope, spec: MappingSpec, match: UpdateMatch | undefined) {
  const written = spec.import === 'products' ? matchValue(spec, match ?? likelyMatch(spec)) : spec.contact.id;
  const value = written ?? { const: '' };
  const plain = typeof value === 'object' && !Array.isArray(value) && 'value' in value ? value.value : value;
  return compileAs({ ...scope, problems: new Problems(), field: 'key' }, [], plain ?? '', 'text');
}

/** The lookups of a mapping that read the store's lists with these params, by name, with the column to match. */
export function lookupsOfStoreLists(
  spec: MappingSpec,
  params: Readonly<Record<string, Param>>,
): readonly { readonly name: string; readonly match: string }[] {
  const problems = new Problems();
  const scope = newScope(
    { ...spec, columns: {} },
    {
      problems,
      params: paramsOf(spec, params, problems),
      lookups: new Map(),
      // A pattern that is too long is reported when the mapping is compiled.
      limits: { ...DEFAULT_LIMITS, patternLength: Number.POSITIVE_INFINITY },
    },
  );
  return Object.entries(spec.lookups ?? {}).flatMap(([name, { of, match, when }]) => {
    const needed = when === undefined || compileCondition(scope, ['lookups', name, 'when'], when)(NO_ROW, 0);
    return of === 'subscriber-lists' && needed ? [{ name, match }] : [];
  });
}

/** A row for conditions that use params only. */
const NO_ROW: SourceRow = {
  table: { file: 0, headers: [], firstSlots: new Set(), digest: '' },
  seq: 0,
  line: 0,
  cells: [],
  misaligned: undefined,
  chars: 0,
};

/** A join whose table is not read yet. */
export interface JoinOpener extends Pick<Joined, 'match'> {
  readonly columns: readonly ReadyColumn[];
  /** Makes the table from the header of its file, still without rows. MappingError if the header lacks a column. */
  readonly open: (file: string, header: readonly string[]) => JoinTable;
}

/** The joins of a mapping, by the names of their lookups, for the params that a job sets. */
export function joinOpeners(
  spec: MappingSpec,
  params: Readonly<Record<string, Param>>,
): ReadonlyMap<string, JoinOpener> {
  // An invalid number format is reported when the mapping is compiled.
  const problems = new Problems();
  const scope = newScope(spec, { problems, params: paramsOf(spec, params, problems), lookups: new Map() });
  return new Map(
    joinsOf(spec).map(({ name, match, join }) => {
      const columns = readyColumns(scope, name, join);
      return [name, { match, columns, open: (file, header) => joinTable(file, header, match, columns) }];
    }),
  );
}

/**
 * The names that the mapping's grouping and the value of its key use, at any depth: both are compiled, and the
 * resolved names are collected. `value` is undefined if the mapping has none.
 */
export function keyNames(spec: MappingSpec, value: Value | undefined) {
  const problems = new Problems();
  const lookups = new Map(Object.keys(spec.lookups ?? {}).map((name) => [name, undefined] as const));
  const scope = newScope(spec, { params: paramsOf(spec, undefined, problems), lookups, problems });
  if (value !== undefined) compileField(scope, ['key'], value, 'text');
  compileGrouping(scope, spec.group, compileAs(scope, [], { const: '' }, 'text'));
  const { used, columns } = scope;
  return {
    columns: new Set(
      [...columns.declared.values()].filter((column) => isUsed(scope, column)).map(({ name }) => name),
    ),
    params: new Set([...scope.params.keys()].filter((name) => used.has(name))),
    lookups: new Set([...lookups.keys()].filter((name) => used.has(`lookup ${name}`))),
  };
}

/** Reports declared but unused names, wrongly declared columns, and unknown required columns. */
function checkUse(scope: Scope, spec: MappingSpec) {
  const { problems, columns, used } = scope;
  for (const [index, name] of (spec.required ?? []).entries()) {
    used.add(name);
    if (!columns.declared.has(name)) {
      problems.add(
        ['required', index],
        `${name} is not declared under columns${didYouMean(name, [...columns.declared.keys()])}`,
      );
    }
  }
  for (const name of Object.keys(spec.expect ?? {})) {
    if (columns.declared.get(name)?.joined !== undefined) {
      problems.add(['expect', name], 'expect is about cells of the source, and this column is joined');
    }
  }
  for (const column of columns.declared.values()) {
    const { joined } = column;
    const path =
      joined === undefined
        ? ['columns', column.name]
        : ['lookups', joined.lookup, 'join', 'columns', joined.column];
    if (!isUsed(scope, column)) problems.warn(path, `the column ${column.name} is used nowhere; remove it`);
    const numbered = column.name.includes('{n}');
    for (const pattern of column.patterns) {
      if (column.occurrence !== 'all' && pattern.captures.includes('n') !== numbered) {
        problems.add(
          path,
          `{n} must be in the name and in each header ('${pattern.written}'), or in neither`,
        );
      }
      if (
        pattern.captures.filter((capture) => capture !== 'n').length > 2 ||
        new Set(pattern.captures).size < pattern.captures.length
      ) {
        problems.add(
          path,
          `'${pattern.written}' captures too much: at most {n} and two other words, each once`,
        );
      }
    }
    if (column.name.includes('{') && !numbered) {
      problems.add(path, 'the only braces in a column name are {n}');
    }
    if (['any', 'all', 'not'].includes(column.name)) {
      problems.add(path, `${column.name} has a special meaning in conditions; choose another name`);
    }
  }
  for (const name of Object.keys(spec.params ?? {})) {
    if (!used.has(name)) problems.warn(['params', name], `the param ${name} is used nowhere; remove it`);
    if (columns.declared.has(name) || columns.captures.has(name)) {
      problems.add(['params', name], `${name} is a column as well; choose another name`);
    }
  }
  for (const [name, { of, match, when, join }] of Object.entries(spec.lookups ?? {})) {
    if (join !== undefined && of !== undefined) {
      problems.add(['lookups', name, 'join'], 'join goes with a file, not with of');
    }
    if (of !== undefined && !LIST_COLUMNS.includes(match)) {
      problems.add(['lookups', name, 'match'], `expected ${LIST_COLUMNS.join(' or ')}, found ${match}`);
    }
    if (of === undefined && when !== undefined) {
      problems.add(['lookups', name, 'when'], 'when goes with of: a file is always read');
    }
    checkParamsOnly(scope, name, when);
    if (!used.has(`lookup ${name}`)) {
      problems.warn(['lookups', name], `the lookup ${name} is used nowhere; remove it`);
    }
  }
  checkAdjacent(scope, spec);
}

/** Whether to ask the store is decided before any row is read. */
function checkParamsOnly(scope: Scope, name: string, when: Condition | undefined) {
  if (when === undefined) return;
  const path = ['lookups', name, 'when'];
  const others = columnsOf(when).filter((param) => !scope.params.has(param));
  for (const param of others) scope.problems.add([...path, param], `${param} is not declared under params`);
  if (others.length === 0) compileCondition(scope, path, when);
}

/** Whether something in the mapping names the column, or a capture of its header. */
function isUsed({ used }: Scope, { name, captures }: Column) {
  return used.has(name) || captures.some((capture) => used.has(`capture ${capture}`));
}

/** The columns that nothing has used so far. */
function unnamedColumns(scope: Scope): ReadonlySet<string> {
  const unnamed = [...scope.columns.declared.values()].filter((column) => !isUsed(scope, column));
  return new Set(unnamed.map(({ name }) => name));
}

/** A record whose rows are not adjacent is recognised by its key, so the key must be what groups the rows. */
function checkAdjacent({ problems }: Scope, spec: MappingSpec) {
  if (spec.group?.by === undefined || spec.group.rows !== 'adjacent') return;
  const key = spec.import === 'products' ? spec.product.url : spec.contact.id;
  if (JSON.stringify(key) !== JSON.stringify(spec.group.by)) {
    problems.add(
      ['group', 'rows'],
      `with adjacent rows the ${spec.import === 'products' ? 'url' : 'id'} must be the value of by, so that partial records are recognised; use rows: anywhere`,
    );
  }
}
