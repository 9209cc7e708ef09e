import { isDeepStrictEqual } from 'node:util';
import type { StoreConfig } from '../../config/store-config.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import { CLONE_JOB, jobForStore } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { AS_OF_OPTION, text } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';

/** `storeferry clone`: plans to rebuild the catalog that a store had at a time, and sends nothing. */
export const cloneCommand = defineRunCommand({
  arguments: {},
  options: {
    asOf: AS_OF_OPTION,
    store: text('store', 'the store to clone; needed where there are more than two'),
    to: text('store', 'the store that gets it; may be the same'),
  },
  notes: `The plan is made from the history, as \`catalog\` reads it: products are created and changed, none is deleted. Ids stay behind,
and prices go through the price rules of the jobs of the other store, or its own. To send the plan: approve. Contacts are
not cloned, because their ids belong to a store.`,
  examples: [
    'clone --as-of 2026-11-01 --to standby',
    'clone --as-of 2026-11-01T06:00:00+01:00 --store main --to main --json',
  ],
  action: 'clone',
  async task({ context, workspace, readImportRequest }, _, { asOf, store: from, to }) {
    if (to === undefined) throw new UsageError('Name the store that gets the catalog: --to STORE');
    const names = workspace.storeNames();
    const [only = to, ...more] = names.filter((name) => name !== to);
    const chosen = from ?? (more.length === 0 ? only : undefined);
    const target = workspace.store(to);
    if (chosen === undefined)
      throw new UsageError('It is not clear which store is cloned.', {
        hint: `Name it with --store: ${names.join(', ')}.`,
      });
    if (workspace.files.jobNames.includes(CLONE_JOB))
      throw new UsageError(`jobs/${CLONE_JOB}.yaml has the name that clones have.`, {
        hint: 'Give the job another name.',
      });
    const store = workspace.store(chosen);
    const storeId = storeIdentity(store);
    const rulesOf = (one: StoreConfig) => {
      const rules = workspace.jobNames().flatMap((name) => {
        const { job } = workspace.inspectJob(name);
        if (job?.kind !== 'import' || job.import !== 'products') return [];
        // An update of some fields need not send prices.
        if (one === target && job.mode === 'update') return [];
        const isOfStore = storeIdentity(workspace.store(job.store)) === storeIdentity(one);
        return isOfStore ? [job.prices ?? one.prices ?? []] : [];
      });
      return rules.length === 0 ? [one.prices ?? []] : rules;
    };
    const [prices = [], ...others] = rulesOf(target);
    if (storeIdentity(target) !== storeId && !others.every((rules) => isDeepStrictEqual(rules, prices)))
      throw new UsageError(`The jobs of ${to} have different price rules: none is that of a clone.`, {
        hint: 'Send the runs of one job there: storeferry promote RUN --to STORE',
      });
    const request = await readImportRequest(workspace, jobForStore(CLONE_JOB, target.name), false);
    return {
      kind: 'copy',
      request: { ...request, job: { ...request.job, prices } },
      from: { store, rules: rulesOf(store) },
      copy: { of: null, store: chosen, storeId, at: asOf ?? context.clock() },
    };
  },
});
