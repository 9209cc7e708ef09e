import { type TableCandidate, TableChoiceError } from '../model/storeferry-error.ts';
import recordNames from './record-names.json' with { type: 'json' };
import type { TableFile } from './table-file.ts';

const MAX_PATHS = 500;
const MAX_LEAVES = 2_000;
const MAX_BESIDE = 50;
/** Characters of a value outside of the records. */
export const MAX_BESIDE_LENGTH = 200;
const MAX_PATHS_NAMED = 5;
const MAX_CANDIDATES = 12;

/** Usual names of the elements and keys that hold a record, and of the variants within it; in several languages, without namespace. */
const RECORD_NAMES = new Set(recordNames.records.split(' '));
const VARIANT_NAMES = new Set(recordNames.variants.split(' '));
/** Parts of names: of values that each variant has of its own, such as its SKU; and of lists with amounts that are no variants. */
const { variantLeaves, otherLists } = recordNames;

/** A path of objects or elements that repeat. */
interface RepeatedPath {
  readonly path: string;
  readonly count: number;
  /** Its own leaves: those that no repeated path below it has. */
  readonly leaves: readonly string[];
  /** The nearest repeated path above it that has leaves. */
  readonly parent: string | undefined;
}

/** The possible records of a file. */
export type RecordPaths = ReturnType<typeof collectRecordPaths>;

/** Counts possible records of a file, to name their path if the job names none or a wrong one. */
export function collectRecordPaths() {
  const counts = new Map<string, number>();
  const leaves = new Set<string>();
  const beside: [path: string, text: string][] = [];
  const lists = new Set<string>();
  /** For each path the number of the object above it in which it was last seen. */
  const seenIn = new Map<string, number>();
  /** The paths that an object above them has more than once. */
  const repeats = new Set<string>();

  /** These paths, those with most leaves first. */
  const pathsIn = (some: ReadonlySet<string>): readonly RepeatedPath[] => {
    const paths = new Map([...counts].filter(([path]) => path !== '' && some.has(path)));
    const above = (path: string, among: ReadonlyMap<string, unknown>) => {
      let up = parentPath(path);
      while (up !== '' && !among.has(up)) up = parentPath(up);
      return up === '' ? undefined : up;
    };
    const own = Map.groupBy(leaves, (leaf) => above(leaf, paths));
    const holders = new Map([...paths].filter(([path]) => own.has(path)));
    return [...paths]
      .map(([path, count]) => ({ path, count, leaves: own.get(path) ?? [], parent: above(path, holders) }))
      .sort(
        (a, b) => b.leaves.length - a.leaves.length || b.count - a.count || a.path.length - b.path.length,
      );
  };
  return {
    /** The first values outside of records and of what repeats; they may be personal data. */
    beside: () =>
      beside.filter(([path]) => {
        for (let up = path; up !== ''; up = parentPath(up)) if (repeats.has(up)) return false;
        return true;
      }),
    /** Whether the file has no list of objects. */
    get isEmpty() {
      return lists.size === 0;
    },
    /** Adds an object or element; `isListed` where it stands in a list. */
    add(path: string, isListed = true) {
      const count = counts.get(path);
      if (count === undefined && counts.size >= MAX_PATHS) return;
      counts.set(path, (count ?? 0) + 1);
      const above = counts.get(parentPath(path)) ?? 0;
      if (seenIn.get(path) === above) repeats.add(path);
      seenIn.set(path, above);
      if (isListed) lists.add(path);
    },
    /** Adds the path of a value, and the value: `shop.offer.price`, `shop.offer@id`. */
    addLeaf(path: string, text: string) {
      if (leaves.size < MAX_LEAVES && !leaves.has(path)) {
        leaves.add(path);
        if (text !== '' && text.length <= MAX_BESIDE_LENGTH && beside.length < MAX_BESIDE)
          beside.push([path, text]);
      }
    },
    /**
     * The error for a file without records at the requested path. The likely path has the most leaves, and names the list of
     * variants in its records too. None is likely where another list has half as many leaves (unless only one has a usual
     * name), or where lists in its records may be rows as well. Where no path repeats, the file may have a single record:
     * all paths with leaves are named, and one is likely only by a usual name.
     */
    tableChoiceError({ name: file }: TableFile, message: string, hint: string): TableChoiceError {
      const repeated = pathsIn(repeats);
      const doRepeat = repeated.length > 0;
      const paths = doRepeat ? repeated : pathsIn(lists).filter((one) => one.leaves.length > 0);
      const options = recordOptions(paths);
      const shown = paths.slice(0, MAX_PATHS_NAMED);
      const named = shown
        .map(({ path, count }) => `\`${path}\`${doRepeat ? ` (${count} times)` : ''}`)
        .join(', ');
      const all = [
        ...options.map(({ value, records }) => ({ value, records })),
        ...paths.map(({ path, count }) => ({ value: path, records: count })),
      ];
      const others = `${doRepeat ? 'Repeated' : 'Possible'} paths: ${named}.`;
      return new TableChoiceError(shown.length === 0 ? message : `${message} ${others}`, {
        key: 'records',
        place: { file },
        hint,
        candidates: [...new Map(all.map((one) => [one.value, one])).values()].slice(0, MAX_CANDIDATES),
        likely: likelyOption(
          doRepeat ? options : options.filter(({ path }) => RECORD_NAMES.has(localName(path))),
        ),
      });
    },
  };
}

/** What a job may name as `records`, with the number of leaves that its rows have. */
interface RecordOption extends TableCandidate {
  readonly path: string;
  readonly leaves: number;
  /** Whether its rows have lists that may be rows as well: then nobody can tell which are meant. */
  readonly hasDeeperList: boolean;
}

/** The lists of records with the variants in them, those with most leaves first; where none has leaves, all lists. */
function recordOptions(repeated: readonly RepeatedPath[]): readonly RecordOption[] {
  const holders = repeated.filter(({ leaves }) => leaves.length > 0);
  const within = (path: string) =>
    holders.filter((one) => one.path.startsWith(`${path}.`) && mayBeVariants(one));
  const options = holders
    .filter(({ parent }) => parent === undefined)
    .flatMap(({ path, count, leaves }): readonly RecordOption[] => {
      const [inner] = within(path);
      if (inner === undefined)
        return [{ value: path, path, records: count, leaves: leaves.length, hasDeeperList: false }];
      const [deeper] = within(inner.path);
      const both = (outer: string, { path: list, count: records, leaves: own }: RepeatedPath) => ({
        value: `${outer} > ${list.slice(outer.length + 1)}`,
        path: outer,
        records,
        leaves: leaves.length + own.length,
        hasDeeperList: deeper !== undefined,
      });
      return deeper === undefined ? [both(path, inner)] : [both(inner.path, deeper), both(path, inner)];
    })
    .sort((a, b) => b.leaves - a.leaves || (b.records ?? 0) - (a.records ?? 0));
  if (options.length > 0) return options;
  return repeated.map(({ path, count }) => ({
    value: path,
    path,
    records: count,
    leaves: 0,
    hasDeeperList: false,
  }));
}

function likelyOption(options: readonly RecordOption[]) {
  const [best] = options;
  if (best === undefined || best.hasDeeperList) return undefined;
  const rivals = options.filter(({ leaves }) => leaves * 2 >= best.leaves);
  const named = rivals.filter(({ path }) => RECORD_NAMES.has(localName(path)));
  const [only, second] = rivals.length === 1 || named.length === 0 ? rivals : named;
  return second === undefined ? only?.value : undefined;
}

/** Whether a list within records has variants of them, or records in a group, and not their images or taxes. */
function mayBeVariants({ path, leaves }: Pick<RepeatedPath, 'path' | 'leaves'>) {
  const name = localName(path);
  if (containsAny(name, otherLists)) return false;
  return (
    VARIANT_NAMES.has(name) ||
    RECORD_NAMES.has(name) ||
    (leaves.length > 1 && leaves.some((leaf) => containsAny(localName(leaf), variantLeaves)))
  );
}

/** The list within records whose objects are variants by their columns, where a record has several; undefined for none. */
export function variantsWithin(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string | undefined {
  const columns = header.map((path, index) => ({ path: path.replaceAll('[]', ''), index }));
  const lists = Map.groupBy(columns, ({ path }) => parentPath(path));
  const hasSeveral = ({ path, index }: { readonly path: string; readonly index: number }) =>
    containsAny(localName(path), variantLeaves) && rows.some((row) => row[index]?.includes('\n') === true);
  const [best] = [...lists]
    .filter(([path, own]) => path !== '' && own.some(hasSeveral))
    .map(([path, own]) => ({ path, leaves: own.map((one) => one.path) }))
    .filter((one) => one.leaves.length > 1 && mayBeVariants(one))
    .sort((a, b) => b.leaves.length - a.leaves.length);
  return best?.path;
}

function parentPath(path: string) {
  return path.slice(0, Math.max(0, path.lastIndexOf('.'), path.lastIndexOf('@')));
}

/** The last name of a path in lower case, without its namespace. */
function localName(path: string) {
  return path.replace(/^.*[.@:]/, '').toLowerCase();
}

function containsAny(name: string, parts: string) {
  return parts.split(' ').some((part) => name.includes(part));
}
