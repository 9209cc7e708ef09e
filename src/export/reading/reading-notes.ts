import type { AllRead } from './read-all-items.ts';

/** What a person should know about how orders were read. */
export function readingNotes({ items, withoutId, changed, totalCount }: AllRead): string[] {
  const notes: string[] = [];
  if (withoutId > 0) {
    notes.push(
      `${withoutId} orders have no id: they are told apart by all that is in them, and of equal ones only one is kept.`,
    );
  }
  if (changed && totalCount !== null && items < totalCount) {
    notes.push(
      `The store counts ${totalCount} orders, and ${items} were found while it changed: some may be missing. Run again when less is going on in the store.`,
    );
  } else if (!changed && totalCount !== null && totalCount !== items) {
    notes.push(
      `The store counts ${totalCount} orders and gives ${items}, however they are asked for. It may count orders that it does not show.`,
    );
  }
  return notes;
}
