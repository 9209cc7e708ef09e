import { type Cell, type Item, isList } from '../values/cell.ts';

/** A text that holds something besides white space; the API takes an empty one for none (section 4.2). */
export function filledText(cell: Cell): string | undefined {
  return typeof cell === 'string' && cell.trim() !== '' ? cell : undefined;
}

/** A list without blank texts and repeats; undefined when nothing is left of it. */
export function filledList(cell: Cell): readonly Item[] | undefined {
  if (!isList(cell)) return undefined;
  const items = new Set(cell.filter((item) => typeof item !== 'string' || item.trim() !== ''));
  return items.size === 0 ? undefined : [...items];
}
