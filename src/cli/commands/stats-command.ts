import { openWorkspace } from '../../config/workspace.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { exportHistory } from '../../run/export/export-history.ts';
import { defineCommand, required } from '../define-command.ts';
import { interruptSignal } from '../interrupt-signal.ts';
import { statsText } from '../stats-text.ts';

/** `storeferry stats`: draws the history that an export job has collected. */
export const statsCommand = defineCommand({
  arguments: { job: required('a job that collects list statistics (`mode: append`)') },
  options: {},
  examples: ['stats list-statistics'],
  async run({ terminal, directory, program }, { job: name }) {
    const workspace = openWorkspace(directory, process.env);
    const job = workspace.job(name);
    if (job.kind !== 'export') {
      throw new UsageError(
        `The job ${name} is an import: only an export of subscriber lists has statistics.`,
        {
          hint: 'Name a job with `export: subscriber-lists` and `mode: append`.',
        },
      );
    }
    const signal = interruptSignal(() => {});
    const facts = await exportHistory(workspace.fileAccess(), job, signal);
    const { colors, width } = terminal;
    terminal.out(statsText({ job: name, ...facts }, { colors, width, program }));
    return 0;
  },
});
