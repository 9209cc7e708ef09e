import { MappingError } from '../model/errors.ts';
import { DEFAULT_LIMITS, type MappingLimits } from '../model/input-limits.ts';
import type { Resource } from '../model/record.ts';
import { checkUse, unnamedColumns } from './check-use.ts';
import { type Binding, bindTable, type ColumnReport, requiredColumns } from './columns/bind-table.ts';
import { compileContact } from './contact/build-contact.ts';
import { type Crosswalk, compileContactId } from './contact/crosswalk.ts';
import { compileDamageCheck } from './damage.ts';
import { compileExpectations, compileShifted, type Expectations } from './expectations.ts';
import { compileGrouping } from './grouping/compile-grouping.ts';
import type { Grouping } from './grouping/grouping.ts';
import { type HtmlPolicy, withHtmlPolicy } from './html-policy.ts';
import type { LookupTable } from './lookup-table.ts';
import type { Built, RecordMapper } from './map-record.ts';
import { compileProduct } from './product/build-product.ts';
import { Clock } from './product/pricing.ts';
import type { WeightUnit } from './product/weight.ts';
import { type MappingProblem, newScope, type Param, Problems, paramsOf, type Scope } from './scope.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import { lookupsOfStoreLists, storeListsTable } from './store-lists.ts';
import { compileAs } from './values/compile-value.ts';
import { compileCondition } from './values/condition.ts';
import { compileField } from './values/field.ts';

/** What a mapping needs to know besides its file. */
export interface MappingContext {
  /** As the job sets them; the mapping's defaults fill in. */
  readonly params: Readonly<Record<string, Param>>;
  /** The tables that the mapping declares under `lookups`, by name. */
  readonly lookups: ReadonlyMap<string, LookupTable>;
  /** The store's unit. */
  readonly weightUnit: WeightUnit;
  /** When the source was staged, in milliseconds since the epoch: dated sales are judged at this moment. */
  readonly now: number;
  /** Contacts only: how the store's id is found where the source does not have it. */
  readonly crosswalk?: Crosswalk | undefined;
  /** The job's; left out: the usual ones. */
  readonly limits?: MappingLimits | undefined;
  /** What the job lets through of HTML; left out: whatever the mapping does. */
  readonly html?: HtmlPolicy | undefined;
}

/**
 * A mapping ready to run. Compiled for one source: families of columns grow as its files are opened, so a further
 * source needs another compiled mapping.
 */
export interface CompiledMapping {
  readonly resource: Resource;
  readonly shortRows: 'pad' | undefined;
  /** Resolves the columns of a file; throws MappingError where a required one is not there, or one repeats. */
  readonly bind: (header: readonly string[], file: number) => Binding;
  readonly expectations: Expectations;
  /** Rows that the mapping says have shifted. */
  readonly shifted: Expectations;
  readonly grouping: Grouping;
  readonly mapper: RecordMapper;
}

/** What a mapping makes of a header line; throws MappingError as `mapTables` would. */
export function columnsOf(mapping: CompiledMapping, header: readonly string[]): ColumnReport {
  return mapping.bind(header, 0).report;
}

/**
 * Compiles a mapping, once for a source, to closures over cells. Pure: the same rows give the same records.
 * @throws MappingError when the mapping has problems (`checkMapping` lists them), or a param has no value.
 */
export function compileMapping(spec: MappingSpec, context: MappingContext): CompiledMapping {
  const problems = new Problems();
  const missing = paramsOf(spec, context.params, problems);
  const asked = new Set(lookupsOfStoreLists(spec, context.params).map(({ name }) => name));
  const lookups = new Map(
    Object.entries(spec.lookups ?? {}).map(([name, { of, match }]) => {
      const unasked = of !== undefined && !asked.has(name) ? storeListsTable([], match) : undefined;
      return [name, context.lookups.get(name) ?? unasked] as const;
    }),
  );
  for (const [name, table] of lookups) {
    if (table === undefined) problems.add(['lookups', name], 'the table was not read');
  }
  const compiled = compile(spec, { ...context, params: missing, lookups, problems });
  const [first] = problems.found;
  if (first !== undefined) {
    const all = problems.found.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new MappingError(`The mapping cannot be used: ${all.join('; ')}`, {
      hint: 'storeferry check prints line and column.',
    });
  }
  return compiled;
}

/** Everything wrong in a mapping that its schema cannot find, with the path to each. */
export function checkMapping(
  spec: MappingSpec,
  limits: MappingLimits = DEFAULT_LIMITS,
): readonly MappingProblem[] {
  const problems = new Problems();
  const params = paramsOf(spec, undefined, problems);
  const lookups = new Map(Object.keys(spec.lookups ?? {}).map((name) => [name, undefined] as const));
  compile(spec, { params, lookups, weightUnit: 'kg', now: 0, limits, problems });
  return problems.found;
}

interface CompileContext {
  readonly params: ReadonlyMap<string, Param>;
  readonly lookups: ReadonlyMap<string, LookupTable | undefined>;
  readonly weightUnit: WeightUnit;
  readonly now: number;
  readonly crosswalk?: Crosswalk | undefined;
  readonly limits?: MappingLimits | undefined;
  readonly html?: HtmlPolicy | undefined;
  readonly problems: Problems;
}

function compile(spec: MappingSpec, context: CompileContext): CompiledMapping {
  const clock = new Clock(context.now);
  const scope = newScope(spec, context);
  const { columns } = scope;
  const { key, keyField, build } =
    spec.import === 'contacts'
      ? contactParts(scope, spec, context)
      : productParts(scope, spec, { clock, weightUnit: context.weightUnit });
  const grouping = compileGrouping(scope, spec.group, keyExpression(scope, spec));
  const skips = (spec.skip ?? []).map(({ when, reason }, index) => ({
    test: compileCondition(scope, ['skip', index, 'when'], when),
    reason,
  }));
  const watched = unnamedColumns(scope);
  const looking = { ...scope, field: 'expect' };
  const expectations = compileExpectations(looking, spec.expect ?? {});
  const shifted = compileShifted(looking, spec.misaligned);
  const required = requiredColumns(spec);
  checkUse(scope, spec);
  const rest = spec.import === 'contacts' ? (spec.contact.properties?.rest ?? false) : false;
  return {
    resource: spec.import,
    shortRows: spec.csv?.shortRows,
    bind: (header, file) =>
      bindTable(columns, header, file, {
        required,
        watched,
        rest: rest !== false,
        except: typeof rest === 'object' ? rest.except : [],
      }),
    expectations,
    shifted,
    grouping,
    mapper: withHtmlPolicy(context.html ?? 'keep', {
      ...{ key, keyField, skips, notes: scope.notes, clock, build, damage: compileDamageCheck(scope) },
    }),
  };
}

type Parts = Pick<RecordMapper, 'key' | 'keyField' | 'build'>;

function productParts(
  scope: Scope,
  spec: Extract<MappingSpec, { import: 'products' }>,
  context: Parameters<typeof compileProduct>[2],
): Parts {
  const build = compileProduct(scope, spec, context);
  return {
    key: compileField(scope, ['product', 'url'], spec.product.url, { wanted: 'text', blank: 'reject' }),
    keyField: 'url',
    build: (rows, key): Built => {
      const built = build(rows, key);
      return 'skipped' in built ? built : { body: built };
    },
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
function keyExpression(scope: Scope, spec: MappingSpec) {
  const value = spec.import === 'products' ? spec.product.url : (spec.contact.id ?? { const: '' });
  const plain = typeof value === 'object' && !Array.isArray(value) && 'value' in value ? value.value : value;
  return compileAs({ ...scope, problems: new Problems(), field: 'key' }, [], plain ?? '', 'text');
}
