import { againAction, commandText } from '../../model/action.ts';
import { discardRun } from '../../run/execute-run.ts';
import { counted } from '../../text/printable.ts';
import { requiredArgument } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { knownRun } from '../open-context.ts';
import { recordCommand } from '../record-command.ts';

/** `storeferry discard`: ends a plan that waits for approval. */
export const discardCommand = defineStateCommand({
  arguments: { run: requiredArgument('the id of a planned or stopped run, or its first characters') },
  options: {},
  notes:
    'The plan can no longer be approved; its status is `superseded`. Of a run that stopped after a wave, what was sent stays sent.',
  examples: ['discard k3v9x2'],
  withoutThread: true,
  async run({ context, program }, { run: id }) {
    const run = await discardRun(context, await knownRun(context, id));
    await recordCommand(context, { action: 'discard', job: run.job, run: run.id });
    const isPlan = (run.totals?.requests ?? 0) === 0;
    const sent = (run.totals?.applied ?? 0) + (run.totals?.deleted ?? 0);
    const rest =
      sent === 0 ? 'nothing of it was sent' : `${counted(sent, 'record')} of it were sent before and stay`;
    const action = againAction(run);
    const again = action.does === 'run' ? { ...action, does: 'plan' as const } : action;
    return {
      text: `Discarded the ${isPlan ? 'plan' : 'rest of run'} ${run.id} of ${run.job}: ${rest}.\nTo plan again: ${program} ${commandText(again)}\n`,
    };
  },
});
