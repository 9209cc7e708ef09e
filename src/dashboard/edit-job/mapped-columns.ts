import type { Path, YamlEdit } from '../../config/edit-file.ts';
import { headerPlaces } from '../../mapping/compile-mapping.ts';
import type { MappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { isJsonObject, type JsonObject, member, valueAt } from '../../model/json-object.ts';
import {
  type ColumnField,
  columnOf,
  fieldLabel,
  fieldsOf,
  fieldValue,
} from '../../onboarding/preview-source.ts';

/** A column that a mapping names, and where a file has it. */
export interface MappedColumn {
  readonly name: string;
  /** What it fills, for people. */
  readonly label: string;
  /** Its headers, as the mapping writes them. */
  readonly headers: readonly string[];
  /** The columns of the file, from 0. */
  readonly at: readonly number[];
  /** A family, a capture or a repeat of a header: changed in the file only. */
  readonly isFixed: boolean;
}

/** A field that a mapping lacks, and that a column of the file can fill directly. */
export interface OpenField {
  readonly name: string;
  readonly label: string;
  readonly path: Path;
  /** The value of the field for a column of the mapping, by the sampled cells. */
  readonly value: (column: string, cells: readonly string[]) => unknown;
}

/** How a mapping reads a column for a field, by what the field accepts; none where a person must say how cells are written. */
const VALUES: Readonly<Partial<Record<ColumnField['accepts'], OpenField['value']>>> = {
  text: (column) => column,
  list(column, cells) {
    const sign = ['|', ';', '\n', ', '].find((one) => cells.some((cell) => cell.includes(one)));
    return sign === undefined ? column : [column, { split: sign.trim() === '' ? sign : sign.trim() }];
  },
  count: (column) => [column, 'integer'],
  flag: (column) => [column, 'boolean'],
};

/** The columns of a mapping, in its order, found in a header line as a run finds them. */
export function mappedColumns(spec: MappingSpec, header: readonly string[]): readonly MappedColumn[] {
  const labels = new Map<string, string[]>();
  for (const name of Object.keys(fieldsOf(spec.import))) {
    const column = columnOf(fieldValue(spec, name));
    if (column !== undefined)
      labels.set(column, [...(labels.get(column) ?? []), fieldLabel(spec.import, name)]);
  }
  const spread = spec.import === 'products' ? spec.options?.fromColumns : undefined;
  for (const column of [spread?.columns ?? []].flat())
    labels.set(column, [`${labels.get(column)?.join(', ') ?? column} of each ${spread?.name}`]);
  const places = headerPlaces(spec.columns, header);
  return Object.entries(spec.columns).map(([name, written]) => {
    const isObject = typeof written === 'object' && 'header' in written;
    const headers = [isObject ? written.header : written].flat();
    const isFixed =
      (isObject && written.occurrence !== undefined) || headers.some((text) => /\{\w+\}/.test(text));
    return {
      name,
      headers,
      isFixed,
      at: places.get(name) ?? [],
      label: labels.get(name)?.join(', ') ?? headers[0] ?? name,
    };
  });
}

/** The fields that a mapping does not fill yet. */
export function openFields(spec: MappingSpec): readonly OpenField[] {
  return Object.entries(fieldsOf(spec.import)).flatMap(([name, { accepts, path, label }]) => {
    const value = VALUES[accepts];
    if (value === undefined || path === undefined || fieldValue(spec, name) !== undefined) return [];
    return [{ name, path, value, label }];
  });
}

/** What each column of the file fills: the name of a column of the mapping, `+` and a field that it lacks, or '' for nothing. */
export type Matching = readonly string[];

/** Which field each column of the file fills now. */
export function matchingOf(columns: readonly MappedColumn[], header: readonly string[]): Matching {
  return header.map((_, index) => columns.find(({ at }) => at.includes(index))?.name ?? '');
}

/** The wanted matching where a field that was moved leaves the column that had it. */
export function settled(before: Matching, wanted: Matching): Matching {
  const moved = new Set(wanted.filter((name, index) => before[index] !== name));
  return wanted.map((name, index) => (before[index] === name && moved.has(name) ? '' : name));
}

/** The changes of a mapping file for another matching, or why there can be none. */
export function matchingEdits(
  spec: MappingSpec,
  {
    header,
    cellsOf,
  }: { readonly header: readonly string[]; readonly cellsOf: (index: number) => readonly string[] },
  before: Matching,
  wanted: Matching,
): { readonly edits: readonly YamlEdit[] } | { readonly problem: string } {
  const columns = mappedColumns(spec, header);
  const open = new Map(openFields(spec).map((field) => [`+${field.name}`, field]));
  const single = [
    ...columns.filter(({ isFixed }) => !isFixed).map((one) => [one.name, one] as const),
    ...open,
  ];
  const [, twice] = single.find(([name]) => wanted.filter((one) => one === name).length > 1) ?? [];
  if (twice !== undefined)
    return { problem: `Two columns are matched to ${twice.label}: choose one of them.` };
  const isChanged = (index: number) => wanted[index] !== before[index];
  const lost = columns.find(({ isFixed, at }) => isFixed && at.some((index) => isChanged(index)));
  if (lost !== undefined) return { problem: `${lost.label} is a group of columns: change it in the file.` };
  const edits: YamlEdit[] = [];
  const removed: string[] = [];
  for (const { name } of columns.filter((column) => !column.isFixed)) {
    const index = wanted.indexOf(name);
    if (index >= 0 && isChanged(index)) {
      const isObject = isJsonObject(spec.columns[name]) && !Array.isArray(spec.columns[name]);
      const path = isObject ? ['columns', name, 'header'] : ['columns', name];
      edits.push({ set: path, value: (header[index] ?? '').trim() });
    } else if (index < 0 && before.includes(name)) removed.push(name);
  }
  edits.push(...removed.flatMap((name) => removalOf(spec, name)));
  const required = spec.required ?? [];
  const left = required.filter((name) => !removed.includes(name));
  if (left.length < required.length)
    edits.push(left.length === 0 ? { set: ['required'], to: undefined } : { set: ['required'], value: left });
  const taken = new Set(Object.keys(spec.columns));
  for (const [index, name] of wanted.entries()) {
    const field = open.get(name);
    if (field === undefined) continue;
    let column = field.name;
    for (let number = 2; taken.has(column); number++) column = `${field.name}${number}`;
    edits.push(
      { set: ['columns', column], value: (header[index] ?? '').trim() },
      { set: field.path, value: field.value(column, cellsOf(index)) },
    );
  }
  return { edits };
}

/** A column that the mapping no longer reads: the fields that it fills alone go with it. */
function removalOf(spec: MappingSpec, name: string): readonly YamlEdit[] {
  const parts: readonly (readonly string[])[] = [
    ['product'],
    ['variants'],
    ['variants', 'pricing'],
    ['contact'],
    ['expect'],
  ];
  const fields = parts.flatMap((path) => {
    const map = valueAt(spec, path);
    if (!isJsonObject(map)) return [];
    const isOf = (key: string, value: unknown) =>
      path[0] === 'expect' ? key === name : columnOf(value) === name;
    return Object.keys(map)
      .filter((key) => isOf(key, member(map satisfies JsonObject, key)))
      .map((key) => [...path, key]);
  });
  return [...fields, ['columns', name]].map((path) => ({ set: path, to: undefined }));
}

/** The lines that two texts do not share: those that go, then those that come, each in its order. */
export function changedLines(before: string, after: string): readonly (readonly ['-' | '+', string])[] {
  const [old, now] = [before.split(/\r?\n/), after.split(/\r?\n/)];
  const beyond = (lines: readonly string[], others: readonly string[]) => {
    const left = Map.groupBy(others, (line) => line);
    return lines.filter((line) => left.get(line)?.pop() === undefined);
  };
  return [
    ...beyond(old, now).map((line) => ['-', line] as const),
    ...beyond(now, old).map((line) => ['+', line] as const),
  ];
}
