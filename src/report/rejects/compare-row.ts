import type { CorrectedLayout } from './corrected-layout.ts';
import { LINE_COLUMN } from './rejects-columns.ts';
import { judgeCell, type SpreadsheetDamage } from './spreadsheet-damage.ts';
import type { UntouchedRow } from './untouched-rows.ts';

/** A cell that the user has changed. */
export interface CellEdit {
  /** The `storeferry_line` of its row. */
  readonly line: string;
  readonly column: string;
  readonly old: string;
  readonly new: string;
}

/** A cell that a spreadsheet has changed. */
export interface DamagedCell extends CellEdit {
  readonly damage: SpreadsheetDamage;
}

/** A row with what has become of its cells. */
export interface ComparedRow {
  /** As they are to be mapped: the old text stands for all that was not edited. */
  readonly cells: readonly string[];
  readonly edits: readonly CellEdit[];
  /** Their old text stands, and is right. */
  readonly restored: readonly DamagedCell[];
  /** Their old text stands, and what was meant is not known: the record must not be sent. */
  readonly refused: readonly DamagedCell[];
}

/** Compares a row with what it was, and undoes what a spreadsheet did to it; columns that were removed are as they were. */
export function compareRow(
  original: UntouchedRow,
  cells: readonly string[],
  layout: CorrectedLayout,
): ComparedRow {
  const result = [...cells];
  const edits: CellEdit[] = [];
  const restored: DamagedCell[] = [];
  const refused: DamagedCell[] = [];
  for (const place of layout.removed) result[place] = original.cells[place] ?? '';
  for (const index of layout.comparable) {
    const old = original.cells[index] ?? '';
    const now = cells[index] ?? '';
    if (old === now) continue;
    const column = layout.columnName(index);
    const verdict = judgeCell(old, now, isBlamed(original.reason, column));
    const cell = { line: original.line, column, old, new: now };
    if (verdict.kind === 'edited') {
      edits.push(cell);
      continue;
    }
    result[index] = old;
    if (verdict.kind === 'restored') restored.push({ ...cell, damage: verdict.damage });
    if (verdict.kind === 'refused') refused.push({ ...cell, damage: verdict.damage });
  }
  return { cells: result, edits, restored, refused };
}

/** What shows by itself in a row that the copy has not, as `1.23E+12` does. */
export function damageInAdded(
  line: number,
  cells: readonly string[],
  layout: CorrectedLayout,
): readonly DamagedCell[] {
  const added = { line: correctedLine(line), cells: [], reason: '' };
  return compareRow(added, cells, layout).refused;
}

/** A row that the copy has not, where it may be one that the copy has. */
export function rowOfNoLine(line: number): DamagedCell {
  return { line: correctedLine(line), column: LINE_COLUMN, old: '', new: '', damage: 'line' };
}

function correctedLine(line: number): string {
  return `${line} of the corrected file`;
}

/** Whether one of the reasons of a row names the column, and no other line. */
function isBlamed(reasons: string, column: string): boolean {
  if (!reasons.includes(column)) return false;
  return reasons.split(' / ').some((reason) => {
    if (/\(line \d+[,)]/.test(reason)) return false;
    const at = reason.indexOf(column);
    const around = `${reason[at - 1] ?? ' '}${reason[at + column.length] ?? ' '}`;
    return at >= 0 && !/[\p{L}\d]/u.test(around);
  });
}
