import {
  CELLS_LISTED,
  type CellEdit,
  editsWords,
  REFUSALS,
  REFUSED,
  RESTORED,
  type RefusedCell,
  type RejectsEdits,
} from '../../rejects/judge-cell.ts';
import { grouped, printable, quote } from '../../text/printable.ts';
import { requiredArgument } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';
import type { Terminal } from '../terminal.ts';

/** `storeferry retry`: sends the corrected rejects file of a run. */
export const retryCommand = defineRunCommand({
  arguments: {
    run: requiredArgument('the id of a run whose rejects file you have corrected, or its first characters'),
  },
  options: {},
  examples: ['retry k3v9x2'],
  action: 'retry',
  async task({ read, knownRun, context, terminal }, { run }) {
    const { resource } = await knownRun(context, run);
    const onEdits = (edits: RejectsEdits) => printEdits(terminal, edits, resource === 'contacts');
    return await read({ does: 'retry', run }, { onEdits });
  },
});

/** Prints the corrected cells, those that a spreadsheet has damaged and that are restored, and those that are refused. Of contacts no values. */
function printEdits({ err }: Terminal, edits: RejectsEdits, personal: boolean) {
  const place = ({ line, column }: CellEdit) => `line ${printable(line)}, ${printable(column)}`;
  const change = (cell: CellEdit) =>
    personal || cell.old === cell.new
      ? place(cell)
      : `${place(cell)}: ${quote(cell.old)} -> ${quote(cell.new)}`;
  const refusal = (cell: RefusedCell) => `${change(cell)} (${REFUSALS[cell.why].words})`;
  const list = (lines: readonly string[], all: number) => {
    for (const line of lines.slice(0, CELLS_LISTED)) err(`  ${line}\n`);
    if (all > CELLS_LISTED) err(`  and ${grouped(all - CELLS_LISTED)} more\n`);
  };
  err(`${editsWords(edits)}\n`);
  list(edits.cells.map(change), edits.editedCells);
  if (edits.restoredCells > 0) err(`${RESTORED}\n`);
  list(edits.restored.map(change), edits.restoredCells);
  if (edits.refusedCells > 0) err(`${REFUSED}\n`);
  list(edits.refused.map(refusal), edits.refusedCells);
}
