import { distance } from 'fastest-levenshtein';
import type { Resource } from '../model/mapped-record.ts';

const fold = (name: string) => name.toLowerCase().replaceAll(/[-_. ]/g, '');

/** With fewer characters, too many names match. */
const MIN_PART_LENGTH = 3;

/**
 * The choice that was probably meant: at most a third of its characters (at least one) differ, ignoring case and
 * dashes. Otherwise the only one that begins with the name, or has it as one of its words: `nightly` for
 * `nightly-catalog`.
 */
export function nearest(name: string, choices: Iterable<string>): string | undefined {
  const folded = fold(name);
  const all = [...choices];
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const choice of all) {
    const apart = distance(folded, fold(choice));
    const most = Math.max(1, Math.ceil(Math.max(choice.length, name.length) / 3));
    if (apart < bestDistance && apart <= most && apart < folded.length) {
      best = choice;
      bestDistance = apart;
    }
  }
  return best ?? (folded.length < MIN_PART_LENGTH ? undefined : onlyOneWith(folded, all));
}

function onlyOneWith(part: string, choices: readonly string[]): string | undefined {
  const beginning = choices.filter((choice) => fold(choice).startsWith(part));
  const found =
    beginning.length > 0
      ? beginning
      : choices.filter((choice) => choice.split(/[-_. ]/).some((word) => fold(word) === part));
  return found.length === 1 ? found[0] : undefined;
}

/** `; did you mean 'x'?`, or nothing if no choice is similar. */
export function didYouMean(name: string, choices: Iterable<string>): string {
  const meant = nearest(name, choices);
  return meant === undefined ? '' : `; did you mean '${meant}'?`;
}

/** What to add to an error about an unknown name: the nearest known one, and all known ones. */
export function suggestNames(name: string, known: readonly string[]): string {
  const list = known.length === 0 ? 'there are none' : `known: ${known.join(', ')}`;
  return `${didYouMean(name, known)} (${list})`;
}

/** A name without case, white space, hyphens and underscores. */
export function loosened(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replaceAll(/[\s_\-\u200b\ufeff]+/g, '');
}

const MAX_HEADERS_NAMED = 60;

/**
 * The headers that a message may name. The first row of a contact file without headers has the data of a person, so only
 * known headers are named.
 */
export function quotableHeaders(
  resource: Resource,
  headers: readonly string[],
  known: ReadonlySet<string> = new Set(),
): readonly string[] {
  return resource === 'products' ? headers : headers.filter((header) => known.has(header));
}

/** The headers that a message may name, and the number of the others. */
export function listHeaders(headers: readonly string[], quotable: readonly string[]): string {
  const shown = quotable.slice(0, MAX_HEADERS_NAMED).map((text) => `'${text}'`);
  const others = headers.length - shown.length;
  if (shown.length === 0) return `${others}, which are not named here: they may be the data of a person`;
  return `${shown.join(', ')}${others === 0 ? '' : `, and ${others} more`}`;
}
