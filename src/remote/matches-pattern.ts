import { isOwnerFile, matchesSigns } from '../model/remote-address.ts';
import { type FoundFile, permanentFailure } from './remote-client.ts';

export function splitPath(path: string) {
  const slash = path.lastIndexOf('/') + 1;
  return {
    /** With the final slash; empty if there is none. */
    folder: path.slice(0, slash),
    name: path.slice(slash),
  };
}

/** Whether the last part of a path is a pattern: `*` matches any text. */
export function isPattern(path: string): boolean {
  return splitPath(path).name.includes('*');
}

/** Whether a name matches a pattern in which `*` matches any text. */
export function matchesPattern(name: string, pattern: string): boolean {
  if (isOwnerFile(name) && !isOwnerFile(pattern)) return false;
  const signs = Array.from(pattern, (sign) => (sign === '*' ? null : sign));
  return matchesSigns(name, signs);
}

/** A listed file, with the time it was last written (milliseconds since the epoch). */
export interface Listed {
  readonly path: string;
  readonly writtenAt: number;
}

/** A server that lists without end would fill the memory. */
const MAX_LISTED = 100_000;
/** An answer counts as this many entries, because a server may send empty ones for ever. */
const ENTRIES_PER_ANSWER = 10;

/** Refuses a folder with too many entries, while it is listed in several answers. RemoteFailure. */
export function refuseEndlessListing(entries: number, answers: number): void {
  if (entries + answers * ENTRIES_PER_ANSWER <= MAX_LISTED) return;
  throw permanentFailure(
    `the folder has more than ${MAX_LISTED} entries`,
    'Name the file itself, or a folder with fewer files.',
  );
}

/** The file of an address, or those that its pattern matches, of what `list` finds in the folder. */
export async function filesAt(
  { location, path, newest }: { readonly location: string; readonly path: string; readonly newest: boolean },
  list: () => Promise<readonly Listed[]>,
): Promise<readonly FoundFile[]> {
  if (!isPattern(path)) return [{ location, path }];
  const { folder } = splitPath(location);
  return chosen(await list(), newest).map((file) => ({
    location: folder + splitPath(file.path).name,
    path: file.path,
  }));
}

/** Sorted by name; with `newest` only the file written last, or the last by name of those. */
function chosen(listed: readonly Listed[], newest: boolean): readonly Listed[] {
  const sorted = listed.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  if (!newest) return sorted;
  const [last] = sorted.toSorted((a, b) => b.writtenAt - a.writtenAt || (a.path < b.path ? 1 : -1));
  return last === undefined ? [] : [last];
}
