import type { CorrectedLayout } from './corrected-layout.ts';
import type { UntouchedRow } from './untouched-rows.ts';

/** A cell that the user has changed. */
export interface CellEdit {
  /** The `storeferry_line` of its row. */
  readonly line: string;
  readonly column: string;
  readonly old: string;
  readonly new: string;
}

/**
 * Compares a row with what it was. Line breaks written another way are no edit, nor are question marks where the old
 * text has letters that the spreadsheet could not save: then the old text stands.
 */
export function compareRow(
  original: UntouchedRow,
  cells: readonly string[],
  layout: CorrectedLayout,
): { readonly cells: readonly string[]; readonly edits: readonly CellEdit[]; readonly restored: number } {
  const result = [...cells];
  const edits: CellEdit[] = [];
  let restored = 0;
  for (const index of layout.comparable) {
    const old = original.cells[index] ?? '';
    const now = cells[index] ?? '';
    if (old === now) continue;
    if (breakingAlike(old) === breakingAlike(now)) {
      result[index] = old;
    } else if (isLossOf(old, now)) {
      result[index] = old;
      restored += 1;
    } else {
      edits.push({ line: original.line, column: layout.columnName(index), old, new: now });
    }
  }
  return { cells: result, edits, restored };
}

function breakingAlike(text: string): string {
  return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
}

/** Whether `now` is what is left of `old` when it was saved in a charset without some of its letters. */
function isLossOf(old: string, now: string): boolean {
  if (!now.includes('?')) return false;
  const before = [...breakingAlike(old)];
  const after = [...breakingAlike(now)];
  let lost = 0;
  let at = 0;
  for (const character of before) {
    if (after[at] === character) {
      at += 1;
      continue;
    }
    if (character < '\u0080' || after[at] !== '?') return false;
    // A character beyond the basic plane is two units, and as many question marks for some programs.
    lost += 1;
    at += character.length > 1 && after[at + 1] === '?' ? 2 : 1;
  }
  return lost > 0 && at === after.length;
}
