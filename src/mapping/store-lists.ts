import { DEFAULT_LIMITS } from '../model/input-limits.ts';
import { Columns } from './columns/columns.ts';
import { type LookupTable, lookupKey } from './lookup-table.ts';
import { type Param, Problems, paramsOf } from './scope.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import { compileCondition } from './values/condition.ts';

/** What a lookup of the store's subscriber lists knows of each. */
export interface StoreList {
  readonly id: number;
  readonly name: string;
}

/** The columns of a lookup of subscriber lists. */
export const LIST_COLUMNS: readonly string[] = ['id', 'name'];
const NAMES_SHOWN = 20;

/**
 * The store's subscriber lists as a lookup table. Two lists of one name are ambiguous. `notes`
 * say what a person who misses one should know of how they were read.
 */
export function storeListsTable(
  lists: readonly StoreList[],
  match: string,
  notes: readonly string[] = [],
): LookupTable {
  const rows = new Map<string, ReadonlyMap<string, string>>();
  const ambiguous = new Set<string>();
  for (const { id, name } of lists) {
    const cells = new Map([
      ['id', String(id)],
      ['name', name.trim()],
    ]);
    const key = lookupKey(cells.get(match) ?? '');
    if (key === '') continue;
    if (rows.has(key)) ambiguous.add(key);
    rows.set(key, cells);
  }
  const named = lists.slice(0, NAMES_SHOWN).map(({ name }) => name.trim());
  const more = lists.length > NAMES_SHOWN ? ` and ${lists.length - NAMES_SHOWN} more` : '';
  return {
    columns: [match, ...LIST_COLUMNS.filter((column) => column !== match)],
    rows,
    unknown: {
      code: 'list-unknown',
      message:
        lists.length === 0
          ? 'the store has no subscriber lists; create the list there first'
          : `the store has no subscriber list of this ${match}; its lists are ${[`${named.join('; ')}${more}`, ...notes].join('. ')}`,
    },
    ambiguous: {
      keys: ambiguous,
      code: 'list-ambiguous',
      message: 'the store has two subscriber lists of this name; rename one of them there',
    },
  };
}

/** The lookups of a mapping that read the store's lists with these params, by name, with the column they match. */
export function lookupsOfStoreLists(
  spec: MappingSpec,
  params: Readonly<Record<string, Param>>,
): readonly { readonly name: string; readonly match: string }[] {
  const problems = new Problems();
  const scope = {
    problems,
    // Whoever compiles the mapping complains of its patterns.
    limits: { ...DEFAULT_LIMITS, patternLength: Number.POSITIVE_INFINITY },
    columns: new Columns({}),
    params: paramsOf(spec, params, problems),
    lookups: new Map(),
    used: new Set<string>(),
    reads: new Map<string, Set<string>>(),
    notes: [],
    eachMember: false,
    contacts: spec.import === 'contacts',
    field: '',
    quote: () => 'the cell',
  };
  return Object.entries(spec.lookups ?? {}).flatMap(([name, { of, match, when }]) => {
    const needed = when === undefined || compileCondition(scope, ['lookups', name, 'when'], when)(NO_ROW, 0);
    return of === 'subscriber-lists' && needed ? [{ name, match }] : [];
  });
}

const NO_ROW = {
  table: { file: 0, headers: [], firstSlots: new Set<number>(), digest: '' },
  seq: 0,
  line: 0,
  cells: [],
  misaligned: undefined,
  chars: 0,
};
