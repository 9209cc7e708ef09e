import { openWorkspace } from '../config/workspace.ts';
import { UsageError } from '../model/errors.ts';
import { statsText } from '../report/stats-text.ts';
import { exportHistory } from '../run/export/export-history.ts';
import { interruptSignal } from './interrupt-signal.ts';
import type { Invocation } from './invocation.ts';

/** Draws the history that an export job has collected. */
export async function stats({ terminal, directory, program }: Invocation, name: string): Promise<number> {
  const workspace = openWorkspace(directory, process.env);
  const job = workspace.job(name);
  if (job.kind !== 'export') {
    throw new UsageError(`The job ${name} is an import, and statistics are those of subscriber lists.`, {
      hint: 'Name a job with `export: subscriber-lists` and `mode: append`.',
    });
  }
  const facts = await exportHistory(
    workspace.fileAccess(),
    job,
    interruptSignal(() => {}),
  );
  const { colors, width } = terminal;
  terminal.out(statsText({ job: name, ...facts }, { colors, width, program }));
  return 0;
}
