import type { AllRead } from './read-all-items.ts';

/** What is read, in messages. */
type Read = 'orders' | 'subscriber lists';

/** How many items a page of the API has: by default, and at most (storefront-api.md, section 8). */
const PAGE_SIZES: readonly number[] = [30, 50];

/** Whether so many items may be one page of more. */
export function isPageSize(items: number): boolean {
  return PAGE_SIZES.includes(items);
}

/** For items that are exactly a page, of a store that neither counts them nor gives another page. */
export function mayHaveMore(items: number, what: Read): string {
  return `The store gave exactly ${items} ${what}, which is the size of a page, and ignores or refuses requests for more (limit, skip): there may be more. Compare with what the site itself shows.`;
}

/** What a person should know about how a list was read. */
export function readingNotes(
  { items, withoutId, changed, totalCount, ignoresOffsets }: AllRead,
  what: Read,
): string[] {
  const notes: string[] = [];
  if (withoutId > 0) {
    notes.push(
      `${withoutId} ${what} have no id: they are compared by their whole content, and only one of equal ones is kept.`,
    );
  }
  if (ignoresOffsets && isPageSize(items)) notes.push(mayHaveMore(items, what));
  if (changed && totalCount !== null && items < totalCount) {
    notes.push(
      `The store counts ${totalCount} ${what}, and ${items} were found while it changed: some may be missing. Run again when less is going on in the store.`,
    );
  } else if (!changed && totalCount !== null && totalCount !== items) {
    notes.push(
      `The store counts ${totalCount} ${what} and gives ${items}, however they are asked for. It may count ${what} that it does not show.`,
    );
  }
  return notes;
}
