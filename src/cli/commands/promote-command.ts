import { storeIdentity } from '../../model/remote-address.ts';
import { jobFileName, jobForStore } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { requiredArgument, text } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';

/** `storeferry promote`: plans to send to another store what a run has sent, and sends nothing. */
export const promoteCommand = defineRunCommand({
  arguments: { run: requiredArgument('the id of a run that sent products, or its first characters') },
  options: { to: text('store', 'the store that gets them') },
  notes: `The plan has what the store of the run has acknowledged, deleted products included, with the prices put through the price
rules of the other store (\`prices\` in stores.yaml). Ids stay behind: categories go by name and url. Safety limits and guards
are those of the job, under the name JOB@STORE, or JOB if its file names STORE. To send the plan: approve. Contacts are refused, because
their ids belong to a store.`,
  examples: ['promote k3v9x2 --to production', 'promote k3v9x2 --to production --json'],
  action: 'promote',
  async task({ context, workspace, ...tools }, { run: id }, { to }) {
    if (to === undefined) throw new UsageError('Name the store that gets the products: --to STORE');
    const { findRunLedger } = await import('../../run/records/run-records.ts');
    const kept = await tools.findRun(context, id);
    // The history remembers runs that are no longer kept.
    const found = kept ?? (await findRunLedger(context, workspace, kept, id)) ?? tools.refuseUnknownRun(id);
    const storeId = 'target' in found ? found.target.storeId : found.storeId;
    if (storeIdentity(workspace.store(to)) === storeId)
      throw new UsageError(`The run ${found.id} was sent to ${to} itself.`, {
        hint: 'Name another store.',
      });
    const sent = await tools.readImportRequest(workspace, found.job, false);
    const written = jobFileName(found.job);
    const isOwn = workspace.inspectJob(written).job?.store === to;
    const name = isOwn ? written : jobForStore(written, to);
    return {
      kind: 'copy',
      request: await tools.readImportRequest(workspace, name, false),
      from: {
        store: workspace.store(found.store),
        rules: [sent.job.prices ?? []],
        currency: sent.store.currency ?? kept?.currency,
      },
      copy: { of: found.id, job: found.job, store: found.store, storeId, at: null },
    };
  },
});
