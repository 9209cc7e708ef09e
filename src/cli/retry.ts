import type { RejectsEdits } from '../report/rejects/compare-rejects.ts';
import { printable, shortened } from '../report/wording/printable.ts';
import { counted } from '../report/wording/words.ts';
import type { Invocation } from './invocation.ts';
import { knownRun } from './open-context.ts';
import { runCommand } from './run-command.ts';
import type { Terminal } from './terminal.ts';

const CELLS_SHOWN = 20;

/** Sends the corrected rejects file of a run. */
export async function retry(
  invocation: Invocation,
  id: string,
  options: { readonly json?: true },
): Promise<number> {
  return await runCommand(invocation, { json: options.json === true, job: null }, async () => {
    const { retryRun } = await import('../run/retry-run.ts');
    const { deliverHere } = await import('../run/import/apply-step.ts');
    const { importRequest } = await import('./read-request.ts');
    return async ({ context, workspace }) => {
      const rejected = await knownRun(context, id);
      const request = await importRequest(workspace, rejected.job, false);
      const personal = request.job.import === 'contacts';
      return await retryRun(context, request, rejected, deliverHere, (edits) =>
        printEdits(invocation.terminal, edits, personal),
      );
    };
  });
}

/** Which cells were corrected; the values of contacts stay out of terminals and logs. */
function printEdits({ err }: Terminal, edits: RejectsEdits, personal: boolean): void {
  if (!edits.compared) {
    err('The column storeferry_line is gone, so what was edited cannot be shown.\n');
    return;
  }
  err(`${counted(edits.editedCells, 'cell')} edited in ${edits.editedRows} of ${counted(edits.rows, 'row')}`);
  err(edits.deletedRows > 0 ? `, ${counted(edits.deletedRows, 'row')} taken out` : '');
  err(edits.addedRows > 0 ? `, ${counted(edits.addedRows, 'row')} added\n` : '\n');
  for (const { line, column, old, new: now } of edits.cells.slice(0, CELLS_SHOWN)) {
    err(
      personal
        ? `  line ${printable(line)}, ${printable(column)}\n`
        : `  line ${printable(line)}, ${printable(column)}: ${shown(old)} -> ${shown(now)}\n`,
    );
  }
  if (edits.editedCells > CELLS_SHOWN) err(`  and ${edits.editedCells - CELLS_SHOWN} more\n`);
}

const LONGEST = 60;

/** A cell of the user's file: escape sequences in it must not act on the terminal. */
function shown(cell: string): string {
  return `'${shortened(printable(cell).replaceAll(/\s+/g, ' '), LONGEST)}'`;
}
