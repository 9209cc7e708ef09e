import type { Action } from '../../model/action.ts';
import { discardRun } from '../../run/execute-run.ts';
import { commandText, counted } from '../../text/printable.ts';
import { defineCommand, requiredArgument } from '../define-command.ts';
import { knownRun, openCommandContext } from '../open-context.ts';
import { recordCommand } from '../record-command.ts';

/** `storeferry discard`: ends a plan that waits for approval. */
export const discardCommand = defineCommand({
  arguments: { run: requiredArgument('the id of a planned or stopped run, or its first characters') },
  options: {},
  notes:
    'The plan can no longer be approved; its status is `superseded`. Of a run that stopped after a wave, what was sent stays sent.',
  examples: ['discard k3v9x2'],
  async run(invocation, { run: id }) {
    const { terminal, program } = invocation;
    await using open = await openCommandContext(invocation, { withoutThread: true });
    const { context } = open;
    const run = await discardRun(context, await knownRun(context, id));
    await recordCommand(context, { action: 'discard', job: run.job, run: run.id });
    const sent = (run.totals?.applied ?? 0) + (run.totals?.deleted ?? 0);
    const rest =
      sent === 0 ? 'nothing of it was sent' : `${counted(sent, 'record')} of it were sent before and stay`;
    const again: Action =
      run.undo === undefined ? { does: 'plan', job: run.job } : { does: 'undo', run: run.undo.of };
    terminal.out(`Discarded the plan ${run.id} of ${run.job}: ${rest}.\n`);
    terminal.out(`To plan again: ${program} ${commandText(again)}\n`);
    return 0;
  },
});
