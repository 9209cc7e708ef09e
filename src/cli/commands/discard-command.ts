import { discardRun } from '../../run/execute-run.ts';
import { counted } from '../../text/printable.ts';
import { defineCommand, required } from '../define-command.ts';
import { knownRun, openContext } from '../open-context.ts';
import { recordCommand } from '../record-command.ts';

/** `storeferry discard`: ends a plan that waits for approval. */
export const discardCommand = defineCommand({
  arguments: { run: required('the id of a planned or stopped run, or its first characters') },
  options: {},
  notes:
    'The plan can no longer be approved; its status is `superseded`. Of a run that stopped after a wave, what was sent stays sent.',
  examples: ['discard k3v9x2'],
  async run({ terminal, directory, program, interruptSignal }, { run: id }) {
    await using open = await openContext(directory, () => {}, interruptSignal(), {
      program,
      withoutThread: true,
    });
    const { context } = open;
    const run = await discardRun(context, await knownRun(context, id));
    await recordCommand(context, { action: 'discard', job: run.job, run: run.id, outcome: 'done' });
    const sent = (run.totals?.applied ?? 0) + (run.totals?.deleted ?? 0);
    terminal.out(
      `Discarded the plan ${run.id} of ${run.job}: ${sent === 0 ? 'nothing of it was sent' : `${counted(sent, 'record')} of it were sent before and stay`}.\n`,
    );
    terminal.out(
      `To plan again: ${program} ${run.undo === undefined ? `plan ${run.job}` : `undo ${run.undo.of}`}\n`,
    );
    return 0;
  },
});
