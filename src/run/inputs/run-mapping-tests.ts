import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { compileMapping, joinOpeners, type MappingContext, slugify } from '../../mapping/compile-mapping.ts';
import {
  type Crosswalk,
  type LookupTable,
  lookupKey,
  lookupTable,
  storeListsTable,
} from '../../mapping/lookup-table.ts';
import { mapTables } from '../../mapping/map-tables.ts';
import type { MappingExpectation, MappingSpec, MappingTest } from '../../mapping/spec/mapping-spec.ts';
import { isJsonObject } from '../../model/json-object.ts';
import type { Mapped } from '../../model/mapped-record.ts';
import type { Row } from '../../model/row.ts';
import { StoreferryError } from '../../model/storeferry-error.ts';
import { openRowScratch } from '../../state/sqlite/open-row-scratch.ts';
import { readCsv } from '../../tables/open-table.ts';
import { truncate } from '../../text/printable.ts';

/** The result of one of a mapping's own tests; without problems it passed. */
interface MappingTestResult {
  readonly name: string;
  /** The differences, with the path of the expectation within the mapping file. */
  readonly problems: readonly {
    readonly path: readonly (string | number)[];
    readonly message: string;
  }[];
}

/** What the tests of a mapping run with. */
type MappingTestOptions = Pick<MappingContext, 'limits' | 'custom'>;

/** Runs a mapping's own tests: rows in, records and rejections out. Needs no store and no files. */
export async function runMappingTests(
  spec: MappingSpec,
  options: MappingTestOptions = {},
): Promise<readonly MappingTestResult[]> {
  const results: MappingTestResult[] = [];
  for (const [index, test] of spec.tests.entries()) {
    const path = ['tests', index];
    results.push({ name: test.name, problems: await runTest(spec, test, path, options) });
  }
  return results;
}

type Path = readonly (string | number)[];
type TestProblem = MappingTestResult['problems'][number];

async function runTest(
  spec: MappingSpec,
  test: MappingTest,
  path: Path,
  { limits, custom }: MappingTestOptions,
): Promise<readonly TestProblem[]> {
  const now = Date.parse(test.now ?? '2026-01-01T00:00:00Z');
  if (Number.isNaN(now)) {
    return [{ path: [...path, 'now'], message: 'expected a time such as 2026-01-01T00:00:00Z' }];
  }
  try {
    const { header, rows } = await rowsOf(test);
    const mapping = compileMapping(spec, {
      params: test.params ?? {},
      lookups: lookupsOf(spec, test),
      joins: joinedOf(spec, test),
      crosswalk: test.crosswalk && crosswalkOf(test.crosswalk),
      weightUnit: test.weightUnit ?? 'kg',
      now,
      limits,
      custom,
    });
    const tables = [{ header, file: 0, batches: once(rows) }];
    const mapped: Mapped[] = [];
    for await (const batch of mapTables(mapping, tables, { openScratch: openRowScratch })) {
      mapped.push(...batch);
    }
    return compare(mapped, test.expect, [...path, 'expect']);
  } catch (error) {
    if (error instanceof StoreferryError) return [{ path, message: error.message }];
    throw error;
  }
}

async function* once(rows: readonly Row[]): AsyncIterable<readonly Row[]> {
  yield rows;
}

async function rowsOf(test: MappingTest) {
  if (typeof test.rows === 'string') return parseCsv(test.rows, test.delimiter ?? ',');
  const [header = [], ...rows] = test.rows.map((cells) => cells.map((cell) => String(cell ?? '')));
  return { header, rows: rows.map((cells, index) => ({ file: 0, line: index + 2, cells })) };
}

/** Reads the CSV of a mapping test as an import reads a file. */
async function parseCsv(text: string, delimiter: string) {
  const table = await readCsv(Readable.from([Buffer.from(text)]), { name: 'rows', delimiter });
  const rows: Row[] = [];
  for await (const batch of table.batches()) rows.push(...batch);
  return { header: table.header, rows };
}

function lookupsOf(spec: MappingSpec, test: MappingTest): ReadonlyMap<string, LookupTable> {
  return new Map(
    Object.entries(spec.lookups ?? {}).map(([name, { match, of }]) => {
      const given = test.lookups?.[name] ?? [];
      if (of !== undefined) {
        const lists = given.map((row) => ({ id: Number(row['id']), name: String(row['name'] ?? '') }));
        return [name, storeListsTable(lists, match)];
      }
      const { header, rows } = tableOf(match, given);
      return [name, lookupTable(header, rows, match) ?? { columns: header, rows: new Map() }];
    }),
  );
}

/** The tables of joins, with the columns that the test leaves out. */
function joinedOf(spec: MappingSpec, test: MappingTest) {
  return new Map(
    Array.from(joinOpeners(spec, test.params ?? {}), ([name, { match, columns, open }]) => {
      const { header, rows } = tableOf(match, test.lookups?.[name] ?? []);
      const left = columns.filter(({ headers }) => !headers.some((one) => header.includes(one)));
      const whole = [...header, ...left.map(({ headers }) => headers[0] ?? '')];
      const table = open(name, whole);
      for (const [index, cells] of rows.entries()) table.add({ cells, line: index + 2 }, cells.length);
      return [name, table];
    }),
  );
}

function tableOf(match: string, given: NonNullable<MappingTest['lookups']>[string]) {
  const header = [...new Set([match, ...given.flatMap((row) => Object.keys(row))])];
  return { header, rows: given.map((row) => header.map((column) => String(row[column] ?? ''))) };
}

function crosswalkOf({ match, ids }: NonNullable<MappingTest['crosswalk']>): Crosswalk {
  const found = new Map(Object.entries(ids).map(([value, id]) => [lookupKey(value), id]));
  return { match, file: 'the crosswalk', find: (value) => found.get(lookupKey(value)) };
}

function compare(
  mapped: readonly Mapped[],
  expected: readonly MappingExpectation[],
  path: Path,
): readonly TestProblem[] {
  const problems: TestProblem[] = [];
  for (let index = 0; index < Math.max(mapped.length, expected.length); index++) {
    const found = mapped[index];
    const wanted = expected[index];
    if (wanted === undefined)
      problems.push({ path, message: `expected nothing more, found ${shownRecord(found)}` });
    else if (found === undefined)
      problems.push({ path: [...path, index], message: 'expected a further record, found none' });
    else problems.push(...judge(found, wanted, [...path, index]));
  }
  return problems;
}

/** The differences of a record: each member of its body at its own place, or the first other difference. */
function judge(found: Mapped, wanted: MappingExpectation, path: Path): TestProblem[] {
  for (const [name, body] of [
    ['sends', wanted.sends],
    ['includes', wanted.includes],
  ] as const) {
    if (body === undefined) continue;
    if (found.kind !== 'record') return [{ path, message: `expected a record, found ${shownRecord(found)}` }];
    const differing = differences(found.body, body, { partial: name === 'includes' });
    if (differing.length > 0)
      return differing.map((one) => ({ path: [...path, name, ...one.path], message: one.message }));
  }
  const message = difference(found, wanted);
  return message === undefined ? [] : [{ path, message }];
}

function difference(found: Mapped, wanted: MappingExpectation) {
  const { rejects, skips, key, rows, notes } = wanted;
  if (rejects !== undefined && !refuses(found, 'rejected', rejects)) {
    return `expected the rejection ${JSON.stringify(rejects)}, found ${shownRecord(found)}`;
  }
  if (skips !== undefined && !refuses(found, 'skipped', skips)) {
    return `expected to be left out: ${JSON.stringify(skips)}, found ${shownRecord(found)}`;
  }
  if (key !== undefined && found.key !== key) return `expected the key ${key}, found ${found.key}`;
  if (rows !== undefined && found.rows !== rows) return `expected ${rows} rows, found ${found.rows}`;
  const noted = found.kind === 'record' ? (found.notes ?? []) : [];
  return notes !== undefined && !isDeepStrictEqual(noted, notes)
    ? `expected the notes ${JSON.stringify(notes)}, found ${JSON.stringify(noted)}`
    : undefined;
}

function refuses(
  found: Mapped,
  kind: 'rejected' | 'skipped',
  wanted: NonNullable<MappingExpectation['rejects']>,
) {
  if (found.kind === 'record' || found.kind !== kind) return false;
  const { reason } = found;
  if (typeof wanted === 'string') return reason.code === wanted || reason.code === slugify(wanted);
  const { key, message, ...rest } = wanted;
  return (
    (key === undefined || found.key === key) &&
    (message === undefined || reason.message.includes(message)) &&
    differences(reason, rest, { partial: true }).length === 0
  );
}

function shownRecord(found: Mapped | undefined) {
  if (found === undefined) return 'nothing';
  return found.kind === 'record'
    ? JSON.stringify(found.body)
    : `${found.kind} (key ${found.key}): ${JSON.stringify(found.reason)}`;
}

/** A value that differs from the expectation. */
interface Difference {
  /** The path within the expected value, or where an unexpected value would be. */
  readonly path: readonly (string | number)[];
  /** `variants[1].price: expected 12, found 14`. */
  readonly message: string;
}

/** If a record is completely different, the first few differences are enough. */
const MAX_PROBLEMS = 10;
const MAX_TEXT_LENGTH = 200;

/**
 * The differences between a JSON value and the expectation, member by member; empty if there are none. `partial`:
 * unexpected members of objects are ignored; those of lists are not.
 */
function differences(found: unknown, wanted: unknown, { partial }: { readonly partial: boolean }) {
  const all: Difference[] = [];
  collect(found, wanted, [], partial, all);
  if (all.length <= MAX_PROBLEMS) return all;
  return [
    ...all.slice(0, MAX_PROBLEMS),
    { path: [], message: `and ${all.length - MAX_PROBLEMS} more differences` },
  ];
}

function collect(
  found: unknown,
  wanted: unknown,
  path: Difference['path'],
  partial: boolean,
  all: Difference[],
) {
  if (isDeepStrictEqual(found, wanted)) return;
  if (Array.isArray(found) && Array.isArray(wanted)) {
    for (let index = 0; index < Math.max(found.length, wanted.length); index++) {
      collect(found[index], wanted[index], [...path, index], false, all);
    }
  } else if (isJsonObject(found) && isJsonObject(wanted)) {
    const [has, wants] = [new Map(Object.entries(found)), new Map(Object.entries(wanted))];
    for (const name of new Set([...wants.keys(), ...(partial ? [] : has.keys())])) {
      collect(has.get(name), wants.get(name), [...path, name], partial, all);
    }
  } else {
    const place = placeWords(path);
    all.push({
      path,
      message: `${place === '' ? '' : `${place}: `}expected ${shownValue(wanted)}, found ${shownValue(found)}`,
    });
  }
}

/** `variants[1].price`. */
function placeWords(path: Difference['path']) {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${part}`))
    .join('');
}

function shownValue(value: unknown) {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return truncate(text, MAX_TEXT_LENGTH);
}
