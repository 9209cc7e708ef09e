import { PLACES } from '../remote/remote-kinds.ts';
import { didYouMean } from '../text/nearest.ts';
import type { Column } from './columns/columns.ts';
import { LIST_COLUMNS } from './lookup-table.ts';
import type { Scope } from './scope.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import type { Condition } from './spec/value.ts';
import { columnsOf, compileCondition } from './values/compile-condition.ts';

/** Reports declared but unused names, wrongly declared columns, and unknown required columns. */
export function checkUse(scope: Scope, spec: MappingSpec): void {
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
  for (const [name, lookup] of Object.entries(spec.lookups ?? {})) {
    const { of, match, when, join } = lookup;
    const given = Object.entries(lookup).filter(
      ([key, value]) => PLACES.includes(key) && value !== undefined,
    );
    if (given.length + (of === undefined ? 0 : 1) !== 1) {
      problems.add(['lookups', name], `expected one of ${PLACES.join(', ')} and of`);
    }
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
function checkParamsOnly(scope: Scope, name: string, when: Condition | undefined): void {
  if (when === undefined) return;
  const path = ['lookups', name, 'when'];
  const others = columnsOf(when).filter((param) => !scope.params.has(param));
  for (const param of others) scope.problems.add([...path, param], `${param} is not declared under params`);
  if (others.length === 0) compileCondition(scope, path, when);
}

/** Whether something in the mapping names the column, or a capture of its header. */
export function isUsed({ used }: Scope, { name, captures }: Column): boolean {
  return used.has(name) || captures.some((capture) => used.has(`capture ${capture}`));
}

/** The columns that nothing has used so far. */
export function unnamedColumns(scope: Scope): ReadonlySet<string> {
  const unnamed = [...scope.columns.declared.values()].filter((column) => !isUsed(scope, column));
  return new Set(unnamed.map(({ name }) => name));
}

/** A record whose rows are not adjacent is recognised by its key, so the key must be what groups the rows. */
function checkAdjacent({ problems }: Scope, spec: MappingSpec): void {
  if (spec.group?.by === undefined || spec.group.rows !== 'adjacent') return;
  const key = spec.import === 'products' ? spec.product.url : spec.contact.id;
  if (JSON.stringify(key) !== JSON.stringify(spec.group.by)) {
    problems.add(
      ['group', 'rows'],
      `with adjacent rows the ${spec.import === 'products' ? 'url' : 'id'} must be the value of by, so that partial records are recognised; use rows: anywhere`,
    );
  }
}
